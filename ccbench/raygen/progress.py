# SPDX-License-Identifier: Apache-2.0
"""Progress of a search, and the bar that shows it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.progress_bars import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ccbench.raygen.evaluation import Evaluation

__all__ = ["Progress", "shown"]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a search: sent at its start and whenever a run is finished.

    Attributes
    ----------
    done, planned, failed : int
        Scenarios that were tried, that will be, and that were tried and failed.
    generation, generations : int
        The one being run, from 1, and how many there will be.
    confirming : bool
        Whether all were tried, and the most harmful are run again with fresh seeds.
    fraction : float
        Share of the expected work that is done, 0 to 1. It never falls.
    left_s : float or None
        Expected wall time that is left, in seconds; None until enough runs have shown how fast this
        machine is.
    best : Evaluation or None
        The most harmful so far; one that failed only if all have. Its harm may fall, as it is
        measured again.
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
    """Give `on_progress`, or without it, while the block lasts, one that moves a bar."""
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
                description="running the worst again" if now.confirming else generation,
                state=f"{now.done}/{now.planned} tried{failed}{harm}",
            )

        yield show
