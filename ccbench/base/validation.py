# SPDX-License-Identifier: Apache-2.0
"""Checks of single values.

Each function returns the value in its normal form (an ``int`` where a ``float`` is meant becomes a
``float``, so that equal scenarios compare and hash equal) or raises an
:class:`~ccbench.base.errors.InputError` that starts with the field's name. A caller that knows
where the field sits puts that in front with :func:`within`.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Range",
    "bad",
    "choice_hint",
    "flag",
    "number",
    "one_line",
    "one_of",
    "pairs",
    "several",
    "text",
    "text_file",
    "unknown_key",
    "user_path",
    "whole",
    "within",
]

_SHOWN_CHARACTERS = 60

#: No text that people name is longer, in bytes: a trace of hours at 100 Mbit/s is shorter.
_LONGEST_TEXT = 256 * 10**6


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, which belong to it unless it is open at that end."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    def __contains__(self, value: float) -> bool:
        above = self.low < value if self.low_open else self.low <= value
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def __str__(self) -> str:
        low = f"{'above' if self.low_open else 'at least'} {_shown(self.low)}"
        high = f"{'below' if self.high_open else 'at most'} {_shown(self.high)}"
        return " and ".join(
            words for words, limit in ((low, self.low), (high, self.high)) if not math.isinf(limit)
        )


def bad(field: str, value: object, allowed: str, step: str) -> InputError:
    """Make the error for `value` of `field`: what it is, what it must be, what to do."""
    try:
        shown = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of 5000 digits
        shown = f"too large to be shown ({type(value).__name__})"
    if len(shown) > _SHOWN_CHARACTERS:  # what a path ends with tells most
        half = (_SHOWN_CHARACTERS - 3) // 2
        shown = f"{shown[:half]}...{shown[-half:]}"
    # A step may quote another library's error, which may be of several lines.
    return InputError(" ".join(f"{field} is {shown}; it must be {allowed}: {step}".splitlines()))


def unknown_key(name: str, known: Iterable[str]) -> InputError:
    """Make the error for a setting that does not exist, with the closest one that does."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    step = f"did you mean {close[0]}?" if close else "remove it."
    shown = name if name.isidentifier() else repr(name)
    return InputError(f"{shown} is not a setting; {step} Settings here: {', '.join(names)}")


def choice_hint(name: str, known: Iterable[str]) -> str:
    """Say what to do about a name that is none of those known, which the message has listed."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else "choose one of these"


def one_of(field: str, value: object, known: Iterable[str]) -> None:
    """Make sure that `value` is one of the words known."""
    words = tuple(known)
    if value not in words:
        step = choice_hint(str(value), words)
        raise bad(field, value, " or ".join(map(repr, words)), step)


@contextmanager
def within(where: str) -> Iterator[None]:
    """Put `where` in front of the message of an :class:`InputError` raised inside."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}{error}") from error.__cause__


def number(field: str, value: object, allowed: Range, *, example: float) -> float:
    """Return `value` as a float if it is a finite number within `allowed`."""
    if isinstance(value, numbers.Real) and not _is_bool(value):
        try:
            result = float(value) + 0.0  # which turns -0.0 into 0.0: equal, but printed differently
        except OverflowError:  # a whole number of hundreds of digits
            result = math.inf
        if math.isfinite(result) and result in allowed:
            return result
    step = f"write for example {_last(field)} = {example:g}"
    raise bad(field, value, f"a number {allowed}".rstrip(), step)


def whole(field: str, value: object, allowed: Range, *, example: int) -> int:
    """Return `value` as an int if it is a whole number within `allowed`."""
    if isinstance(value, numbers.Integral) and not _is_bool(value):
        result = int(value)
        if result in allowed:
            return result
    step = f"write for example {_last(field)} = {example}"
    raise bad(field, value, f"a whole number {allowed}", step)


def flag(field: str, value: object) -> bool:
    """Return `value` if it is a bool."""
    if not isinstance(value, bool):
        raise bad(field, value, "true or false", f"write for example {_last(field)} = true")
    return value


def text(field: str, value: object, pattern: str, allowed: str, *, example: str) -> str:
    """Return `value` if it is a string that matches the regular expression `pattern` as a whole."""
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise bad(field, value, allowed, f'write for example {_last(field)} = "{example}"')
    return value


def one_line(field: str, value: object) -> str:
    """Return `value` if it is a string without line breaks."""
    return text(field, value, r"[^\r\n]*", "one line of text", example="my first")


def several(field: str, values: object, allowed: str, step: str) -> tuple[Any, ...]:
    """Return `values` as a tuple if there can be several of them: a word is one."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise bad(field, values, allowed, step)
    return tuple(values)


def pairs(field: str, settings: Any, step: str) -> Mapping[object, object]:
    """Return a table, or the pairs of one, as a mapping."""
    try:
        return dict(settings)
    except (TypeError, ValueError):
        raise bad(field, settings, "a table", step) from None


def user_path(field: str, text: str) -> Path:
    """Return the path that `text` is, with the home folder in the place of a ``~``."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:  # of a user who is not there
        step = "write out the whole path"
        raise bad(field, text, f"a path; nobody has the home {path.parts[0]}", step) from None


def text_file(path: Path, what: str) -> str:
    """Return the content of a text file that the user has named; `what` it should be, for people.

    Raises
    ------
    InputError
        If it cannot be read, is not UTF-8, or is too long, as devices are that have no end.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST_TEXT + 1)
        if len(data) <= _LONGEST_TEXT:
            text = data.decode("utf-8-sig")  # some editors put a mark in front
            return text.replace("\r\n", "\n").replace("\r", "\n")
        reason = f"it has more than {_LONGEST_TEXT // 10**6} MB"
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except ValueError as error:  # its name has a NUL
        reason = str(error)
    shown = str(path) if str(path).isprintable() else repr(str(path))
    raise InputError(f"{what} {shown} cannot be read ({reason}): name a text file")


def _shown(limit: float) -> str:
    return str(limit) if isinstance(limit, int) else f"{limit:.15g}"


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)  # which Python counts among the numbers


def _last(field: str) -> str:
    return field.rpartition(".")[2]
