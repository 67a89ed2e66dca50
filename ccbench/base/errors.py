# SPDX-License-Identifier: Apache-2.0
"""The errors that ccbench raises on purpose.

Each carries one line for a person: what is wrong, and what to do about it. The command line prints
that line and exits with status 2 for an :class:`InputError` and 1 for every other
:class:`CcbenchError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CcbenchError",
    "DamagedRun",
    "EngineError",
    "InputError",
    "MissingRequirement",
    "ServerError",
]


class CcbenchError(Exception):
    """Base of every error that ccbench raises on purpose."""


class InputError(CcbenchError, ValueError):
    """Something the user wrote is not acceptable.

    The message names the field, its value, what is allowed and the next step.
    """


class EngineError(CcbenchError):
    """A run could not start, or went wrong.

    Parameters
    ----------
    message : str
        What happened, in one line.
    console : iterable of str, optional
        The last lines that the engine printed before it failed, oldest first.

    Attributes
    ----------
    console : tuple of str
        Those lines; empty if there are none.
    """

    def __init__(self, message: str, console: Iterable[str] = ()) -> None:
        # Both go to Exception so that the error survives pickling on its way back from a worker
        # process.
        super().__init__(message, tuple(console))

    @property
    def console(self) -> tuple[str, ...]:
        """The engine's last lines, oldest first."""
        lines: tuple[str, ...] = self.args[1]
        return lines

    def __str__(self) -> str:
        return str(self.args[0])


class MissingRequirement(CcbenchError):
    """Something that is needed is not installed or not built; the message says how to get it."""


class DamagedRun(CcbenchError):
    """A saved run is incomplete, was changed, or has a format that this version does not read."""


class ServerError(CcbenchError):
    """A server could not be observed.

    Parameters
    ----------
    message : str
        Why, in one line. What a server has said may be in it: what cannot be printed is replaced.
    kind : str
        The same in a word or two, for counting.
    """

    def __init__(self, message: str, kind: str) -> None:
        harmless = "".join(sign if sign.isprintable() else "?" for sign in message)
        super().__init__(harmless, kind)  # both, so that it survives pickling

    @property
    def kind(self) -> str:
        """The reason in a word or two."""
        return str(self.args[1])

    def __str__(self) -> str:
        return str(self.args[0])
