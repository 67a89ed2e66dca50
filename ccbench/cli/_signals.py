# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and ``kill``, which end a command even where their exception is discarded.

Both raise an exception, which stops running kernels on its way up the stack. Python discards
exceptions in destructors and callbacks, and some C libraries clear them or replace them with
their own. A discarded one is raised again shortly after.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, NoReturn

from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["catch", "ignore", "received"]

#: Delay until a discarded exception is raised again, in which the destructor or callback ends.
_AGAIN_S = 0.01

#: Exit status for the first signal received so far; empty without one.
_statuses: list[ExitStatus] = []
#: Whether a discarded exception is no longer raised again.
_is_over: list[bool] = []


class _Ending:
    """An exception that ends the command, and is raised again if it is discarded."""

    def __del__(self) -> None:
        if not _is_over:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


class _Interrupted(_Ending, KeyboardInterrupt):
    """Ctrl-C."""


class _Terminated(_Ending, SystemExit):
    """``kill``."""


def catch() -> None:
    """Make Ctrl-C raise a ``KeyboardInterrupt`` and ``kill`` a ``SystemExit`` from now on."""
    _statuses.clear()
    _is_over.clear()
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGALRM, _again)
    # Otherwise, the shell ignores Ctrl-C for this process.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def received() -> ExitStatus | None:
    """Return the exit status for the first signal received so far, or None without one."""
    return _statuses[0] if _statuses else None


def ignore() -> None:
    """Let the exception go, as the command has ended."""
    _is_over.append(True)
    signal.setitimer(signal.ITIMER_REAL, 0)


os.register_at_fork(after_in_child=ignore)  # a child may well discard it and go on


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    _statuses.append(ExitStatus.INTERRUPTED)
    raise _Interrupted


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    _statuses.append(ExitStatus.TERMINATED)
    raise _Terminated(ExitStatus.TERMINATED)


def _again(_signal: int, _frame: FrameType | None) -> None:
    if _is_over:
        return
    if received() is ExitStatus.TERMINATED:
        raise _Terminated(ExitStatus.TERMINATED)
    if received() is ExitStatus.INTERRUPTED:
        raise _Interrupted
