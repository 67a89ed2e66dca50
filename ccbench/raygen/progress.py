# SPDX-License-Identifier: Apache-2.0
"""Progress of a search and its progress bar."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.counts import counted
from ccbench.base.progress_bars import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ccbench.raygen.evaluation import Evaluation

__all__ = ["Progress", "shown"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a search, reported at its start and after each run.

    Attributes
    ----------
    done, planned, failed : int
        Numbers of completed, planned and failed scenarios; completed ones include failed ones.
    generation, generations : int
        Current generation, from 1, and total number.
    confirming : bool
        Whether the search is over, and the most harmful scenarios are run with fresh seeds.
    fraction : float
        Completed fraction of the expected work, 0 to 1; it never decreases.
    left_s : float or None
        Expected remaining wall time in seconds; None until enough runs have shown the speed of this
        machine.
    best : Evaluation or None
        The most harmful scenario so far; a failed one only if all have failed. Its harm may
        decrease as it is measured again.
    """

    done: int
    planned: int
    failed: int
    generation: int
    generations: int
    confirming: bool
    fraction: float
    left_s: float | None
    best: Evaluation | None


@contextmanager
def shown(on_progress: Callable[[Progress], None] | None) -> Iterator[Callable[[Progress], None]]:
    """Yield `on_progress`, or by default a function that updates a progress bar."""
    if on_progress is not None:
        yield on_progress
        return
    with progress("{task.fields[state]}") as bar:
        task = bar.add_task("preparing", total=1.0, state="", left_s=None)

        def show(now: Progress) -> None:
            harm = ""
            if now.best is not None and not now.best.error:
                harm = f", harm up to {now.best.relative:+.3f}"
            failed = f", {now.failed} failed" if now.failed else ""
            generation = f"generation {now.generation}/{now.generations}"
            bar.update(
                task,
                completed=now.fraction,
                left_s=now.left_s,
                description="confirming the worst" if now.confirming else generation,
                state=f"{now.done}/{counted(now.planned, 'network')}{failed}{harm}",
            )

        yield show
