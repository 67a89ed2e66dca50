# SPDX-License-Identifier: Apache-2.0
"""Exceptions of ccbench.

Each message is one line that states the problem and its remedy. The command line prints that line
and exits with status 2 for an :class:`InputError` and 1 for every other :class:`CcbenchError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CcbenchError",
    "ConsoleError",
    "DamagedRun",
    "EngineError",
    "InputError",
    "MissingRequirement",
    "RefusedInput",
    "ServerError",
]


class CcbenchError(Exception):
    """Base class of all exceptions that ccbench raises."""


class InputError(CcbenchError, ValueError):
    """Invalid input.

    The message names the field, its value, the allowed values and the next step.
    """


class ConsoleError(CcbenchError):
    """Failure of a program, with what it printed.

    Parameters
    ----------
    message : str
        The failure in one line.
    console : iterable of str, optional
        The lines of the program that explain the failure, oldest first.
    """

    def __init__(self, message: str, console: Iterable[str] = ()) -> None:
        # Exception gets both arguments so that the error survives pickling by a worker process.
        super().__init__(message, tuple(console))

    @property
    def console(self) -> tuple[str, ...]:
        """The lines of the program that explain the failure, oldest first."""
        lines: tuple[str, ...] = self.args[1]
        return lines

    def __str__(self) -> str:
        return str(self.args[0])


class EngineError(ConsoleError):
    """Failure of a run; `console` has the last lines that the engine printed."""


class RefusedInput(InputError, EngineError):
    """Invalid input that only a run can recognize, such as a value that a kernel refuses."""


class MissingRequirement(CcbenchError):
    """A requirement is not installed or not built; the message states how to get it."""


class DamagedRun(CcbenchError):
    """A saved run is incomplete, was modified, or has an unsupported format."""


class ServerError(CcbenchError):
    """Failed observation of a server.

    Parameters
    ----------
    message : str
        The reason in one line. It may quote the server's reply, so unprintable characters are
        replaced.
    kind : str
        The category of the reason in a word or two, for counting.
    """

    def __init__(self, message: str, kind: str) -> None:
        harmless = "".join(sign if sign.isprintable() else "?" for sign in message)
        super().__init__(harmless, kind)  # both, so that the error survives pickling

    @property
    def kind(self) -> str:
        """The category of the reason in a word or two."""
        return str(self.args[1])

    def __str__(self) -> str:
        return str(self.args[0])
