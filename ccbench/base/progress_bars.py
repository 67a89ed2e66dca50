# SPDX-License-Identifier: Apache-2.0
"""Progress bars for terminals and notebooks."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = ["progress"]


def progress(*columns: ProgressColumn | str) -> Progress:
    """Return a progress display: a bar, `columns` and the remaining time, or else the elapsed time.

    The remaining time is extrapolated from the recent speed, or given by the task's field
    ``left_s`` in seconds (None if unknown).

    The display is a context manager. It is silent if standard error is not a terminal, and erased
    at the end.
    """
    from rich.console import Console  # noqa: PLC0415 - takes a tenth of a second, not always needed
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text  # noqa: PLC0415

    class Left(TimeRemainingColumn):
        def render(self, task: Task) -> Text:
            if "left_s" in task.fields:
                if task.fields["left_s"] is not None:
                    return Text(f"left {timedelta(seconds=round(task.fields['left_s']))}")
            elif task.time_remaining is not None:
                return Text("left ") + super().render(task)
            passed = timedelta(seconds=int(task.elapsed or 0))
            return Text(f"for {passed}", style="progress.elapsed")

    console = Console(file=sys.stderr)
    silent = not (sys.stderr.isatty() or console.is_jupyter)
    console.quiet = silent
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),  # leaves room for the other columns in 80 characters
        *columns,
        Left(),
        console=console,
        disable=silent,
        transient=True,
        # Steps may take minutes: average the speed over ten minutes instead of rich's 30 s.
        speed_estimate_period=600,
    )
