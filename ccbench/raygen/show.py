# SPDX-License-Identifier: Apache-2.0
"""Shows how far a search has come."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ccbench.base.progress_bars import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ccbench.raygen.search import Progress

__all__ = ["shown"]


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
