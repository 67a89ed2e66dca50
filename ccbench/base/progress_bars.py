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
    """Make a progress display: a bar, `columns` and the time left, or passed where nobody knows.

    The time left follows from the speed of late; or is that of the task's field ``left_s``, if it
    has one: seconds, or None for unknown.

    Use it as a context manager. It is silent where standard error is no tty, and wiped when it
    ends: the result says what was done.
    """
    from rich.console import Console  # noqa: PLC0415 - a tenth of a second, and not all runs show it
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
        BarColumn(bar_width=20),  # leaves room for the rest in 80 columns
        *columns,
        Left(),
        console=console,
        disable=silent,
        transient=True,
        # Steps may be minutes long: the speed is that of the last ten minutes, not of rich's 30 s.
        speed_estimate_period=600,
    )
