# SPDX-License-Identifier: Apache-2.0
"""Progress bars for terminals and notebooks."""

from __future__ import annotations

import io
import math
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = ["progress"]

#: Minimum interval between two updates of a line in a notebook, in seconds.
_NOTEBOOK_S = 0.25


def progress(*columns: ProgressColumn | str) -> Progress:
    """Return a progress display: a bar, `columns` and the remaining time, or else the elapsed time.

    The remaining time is extrapolated from the recent speed.

    The display is a context manager. It is silent if standard error is not a terminal, and erased
    at the end. In a notebook, it is a line of text, which needs no widgets.
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
            if task.time_remaining is not None:
                return Text("left ") + super().render(task)
            passed = timedelta(seconds=int(task.elapsed or 0))
            return Text(f"for {passed}", style="progress.elapsed")

    console = Console(file=sys.stderr)
    is_terminal = sys.stderr.isatty()
    console.quiet = not is_terminal
    kind = _notebook_line() if console.is_jupyter else Progress
    return kind(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),  # leaves room for the other columns in 80 characters
        *columns,
        Left(),
        console=console,
        disable=not is_terminal,
        transient=True,
        # Steps may take minutes: average the speed over ten minutes instead of rich's 30 s.
        speed_estimate_period=600,
    )


def _notebook_line() -> type[Progress]:
    """Return the class of a display that is a line of text below the cell of a notebook."""
    from IPython.display import display  # noqa: PLC0415 - only notebooks have it
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    show: Any = display  # has no types

    class InNotebook(Progress):
        def start(self) -> None:
            self._shown_at_s = -math.inf
            self._line: Any = show({"text/plain": ""}, raw=True, display_id=True)

        def stop(self) -> None:
            self._line.update({"text/plain": ""}, raw=True)

        def update(self, *task: Any, **changes: Any) -> None:
            super().update(*task, **changes)
            self._show()

        def advance(self, *task: Any, **changes: Any) -> None:
            super().advance(*task, **changes)
            self._show()

        def _show(self) -> None:
            now_s = self.get_time()
            if now_s - self._shown_at_s < _NOTEBOOK_S:
                return
            self._shown_at_s = now_s
            plain = Console(file=io.StringIO(), width=100, color_system=None, force_jupyter=False)
            with plain.capture() as shown:
                plain.print(self.get_renderable())
            self._line.update({"text/plain": shown.get().rstrip()}, raw=True)

    return InNotebook
