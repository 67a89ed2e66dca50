# SPDX-License-Identifier: Apache-2.0
"""Validation of single values.

Each function returns the value in its normal form or raises an
:class:`~ccbench.base.errors.InputError` that starts with the field's name. In normal form an
``int`` in a field of type ``float`` is a ``float``, so that equal scenarios compare and hash equal.
Callers prepend the location of a field with :func:`within`.
"""

from __future__ import annotations

import dataclasses
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
    from collections.abc import Iterator, Sequence

__all__ = [
    "RATE_MBPS",
    "Range",
    "bad",
    "choice_hint",
    "flag",
    "number",
    "of_file",
    "of_part",
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

#: Words in the name of a setting.
_WORD = re.compile(r"[a-z]+|[0-9]+")
#: Maximum number of names that a hint suggests for some of their words.
_MOST_ALIKE = 4
#: Least similarity of a suggested name: 'cubix' is close to 'cubic', 'quic' is not.
_LEAST_ALIKE = 0.7
#: Similarity from which a name is a misspelling: 'queue' of 'queues'.
_MISSPELT = 0.9

#: Maximum size of a text file in bytes; a trace of hours at 100 Mbit/s is smaller.
_MAX_TEXT_BYTES = 256 * 10**6


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`, including each end that is not open."""

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


#: The rates that a link, a flow or an application may have, in Mbit/s.
RATE_MBPS = Range(0.001, 100_000)


def bad(field: str, value: object, allowed: str, step: str) -> InputError:
    """Return the error that states the value of a field, the allowed values and the next step."""
    try:
        shown = _part_shown(value) if dataclasses.is_dataclass(value) else repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of 5000 digits
        shown = f"too large to be shown ({type(value).__name__})"
    if len(shown) > _SHOWN_CHARACTERS:  # keep both ends: the end of a path identifies it
        half = (_SHOWN_CHARACTERS - 3) // 2
        shown = f"{shown[:half]}...{shown[-half:]}"
    # A step may quote another library's error, which may have several lines.
    return InputError(" ".join(f"{field} is {shown}; it must be {allowed}: {step}".splitlines()))


class _OfPart(InputError):
    """Error whose message is about a part as a whole, so that no path precedes its first word."""


def of_part(message: str) -> InputError:
    """Return an error about a part as a whole, such as one without any setting.

    Examples
    --------
    >>> with within("changes[0]."):
    ...     raise of_part("nothing changes: add rtt_ms")
    Traceback (most recent call last):
    ...
    ccbench.base.errors.InputError: changes[0]: nothing changes: add rtt_ms
    """
    return _OfPart(message)


@contextmanager
def of_file() -> Iterator[None]:
    """Mark an :class:`InputError` of the block as being about a file, whose name is its start."""
    try:
        yield
    except InputError as error:
        raise _OfPart(str(error)) from error.__cause__


def unknown_key(
    name: str, settings: Iterable[str], elsewhere: Mapping[str, Iterable[str]] | None = None
) -> InputError:
    """Return the error for an unknown setting, with the existing names that may be meant.

    Parameters
    ----------
    name : str
        The unknown setting.
    settings : iterable of str
        The settings that exist here.
    elsewhere : mapping of str to iterable of str, optional
        Settings of other tables, by the names of these tables.

    Examples
    --------
    >>> print(unknown_key("jitter", ["rtt_ms", "forward_jitter_ms", "reverse_jitter_ms"]))
    jitter is not a setting; did you mean forward_jitter_ms or reverse_jitter_ms? ...
    >>> print(unknown_key("cca", ["rtt_ms"], {"flows": ["cca", "kind"]}))
    cca is not a setting; did you mean cca in flows? Settings here: rtt_ms
    """
    names = sorted(settings)
    others = {place: [*those] for place, those in (elsewhere or {}).items()}
    same = [f"{name} in {place}" for place, those in others.items() if name in those]
    alike = same or _alike(name, names)
    if not alike:
        alike = [f"{one} in {place}" for place in others for one in _alike(name, others[place])]
    step = f"did you mean {_either(alike)}?" if alike else "remove it."
    shown = name if name.isidentifier() else repr(name)
    return InputError(f"{shown} is not a setting; {step} Settings here: {', '.join(names)}")


def choice_hint(name: str, choices: Iterable[str]) -> str:
    """Return the next step for a name that is not one of the choices listed in the message.

    Examples
    --------
    >>> choice_hint("cubix", ["bbr", "cubic"]), choice_hint("quic", ["bbr", "cubic"])
    ("did you mean 'cubic'?", 'choose one of these')
    """
    alike = _alike(name, choices)
    return f"did you mean {_either([*map(repr, alike)])}?" if alike else "choose one of these"


def _alike(name: str, names: Iterable[str]) -> list[str]:
    """Return the name that is misspelt as `name`, those with all its words, or the closest."""
    known = list(names)
    if misspelt := _closest(name, known, _MISSPELT) or _with_the_same_letters(name, known):
        return misspelt
    words = set(_WORD.findall(name.lower()))
    with_words = [other for other in known if words and words <= {*_WORD.findall(other.lower())}]
    if 1 <= len(with_words) <= _MOST_ALIKE:
        return with_words
    return _closest(name, known, _LEAST_ALIKE)


def _closest(name: str, names: Sequence[str], cutoff: float) -> list[str]:
    return difflib.get_close_matches(name, names, n=1, cutoff=cutoff)


def _with_the_same_letters(name: str, names: Iterable[str]) -> list[str]:
    return [other for other in names if sorted(other) == sorted(name)][:1]


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def one_of(field: str, value: object, choices: Iterable[str]) -> None:
    """Check that `value` is one of the choices."""
    words = tuple(choices)
    if value not in words:
        step = choice_hint(str(value), words)
        raise bad(field, value, " or ".join(map(repr, words)), step)


@contextmanager
def within(where: str) -> Iterator[None]:
    """Prepend `where` to the message of an :class:`InputError` raised in the block."""
    try:
        yield
    except InputError as error:
        place = where
        if isinstance(error, _OfPart) and where.endswith("."):
            place = f"{where.removesuffix('.')}: "
        raise InputError(f"{place}{error}") from error.__cause__


def number(field: str, value: object, allowed: Range, *, example: float) -> float:
    """Return `value` as a float if it is a finite number within `allowed`."""
    if isinstance(value, numbers.Real) and not _is_bool(value):
        try:
            result = float(value) + 0.0  # turns -0.0 into 0.0: equal, but printed differently
        except OverflowError:  # an integer of hundreds of digits
            result = math.inf
        if math.isfinite(result) and result in allowed:
            return result
    step = f"write for example {_last(field)} = {example:g}"
    raise bad(field, value, f"a number {allowed}".rstrip(), step)


def whole(field: str, value: object, allowed: Range, *, example: int) -> int:
    """Return `value` as an int if it is an integer within `allowed`, also written as 1.5e5."""
    given = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(given, numbers.Integral) and not _is_bool(given):
        result = int(given)
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
    """Return `value` if it is a string that fully matches the regular expression `pattern`."""
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise bad(field, value, allowed, f'write for example {_last(field)} = "{example}"')
    return value


def one_line(field: str, value: object) -> str:
    """Return `value` if it is a string without line breaks."""
    return text(field, value, r"[^\r\n]*", "one line of text", example="my first")


def several(field: str, values: object, allowed: str, step: str) -> tuple[Any, ...]:
    """Return `values` as a tuple if it is an iterable other than a string."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise bad(field, values, allowed, step)
    return tuple(values)


def pairs(field: str, settings: Any, step: str) -> Mapping[object, object]:
    """Return a mapping, or an iterable of pairs, as a mapping."""
    try:
        return dict(settings)
    except (TypeError, ValueError):
        raise bad(field, settings, "a table", step) from None


def user_path(field: str, text: str) -> Path:
    """Return `text` as a path with ``~`` expanded to the home folder."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:  # unknown user
        allowed = "a path in the home folder of an existing user"
        raise bad(field, text, allowed, "write out the whole path") from None


def text_file(path: Path, what: str) -> str:
    """Return the content of the user's text file; `what` names its purpose in messages.

    Raises
    ------
    InputError
        If it cannot be read, is not UTF-8, or is too large, such as an endless device.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_TEXT_BYTES + 1)
        if len(data) <= _MAX_TEXT_BYTES:
            text = data.decode("utf-8-sig")  # some editors write a byte-order mark
            return text.replace("\r\n", "\n").replace("\r", "\n")
        reason = f"it has more than {_MAX_TEXT_BYTES // 10**6} MB"
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except ValueError as error:  # a NUL in the name
        reason = str(error)
    shown = str(path) if str(path).isprintable() else repr(str(path))
    raise InputError(f"{what} {shown} cannot be read ({reason}): name a text file")


def _part_shown(part: Any) -> str:
    """Return a part of a scenario with those settings that differ from the defaults."""
    fields = ((f, getattr(part, f.name)) for f in dataclasses.fields(part))
    given = (f"{f.name}={value!r}" for f, value in fields if value != f.default)
    return f"{type(part).__name__}({', '.join(given)})"


def _shown(limit: float) -> str:
    return str(limit) if isinstance(limit, int) else f"{limit:.15g}"


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)  # a subclass of int


def _last(field: str) -> str:
    return field.rpartition(".")[2]
