# SPDX-License-Identifier: Apache-2.0
"""Arrivals: the start and size of each flow in a list of short flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from ccbench.base import number_tables, validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Arrivals", "checked", "from_file", "to_csv"]

#: Start in seconds and payload in bytes of each flow, in order of the start.
Arrivals: TypeAlias = tuple[tuple[float, int], ...]

_COLUMNS = {"start_s": float, "size_bytes": int}
_LATEST_S = 1e6
_MOST_BYTES = 2**53


def checked(arrivals: object) -> Arrivals:
    """Return `arrivals` in its normal form.

    Raises
    ------
    InputError
        If it is not a sequence of pairs in order of the start.
    """
    example = "write for example arrivals = [[0.5, 20000]]"
    form = "[start_s, size_bytes]"
    pairs = validation.several("arrivals", arrivals, f"a list of pairs {form}", example)
    if _is_normal(pairs):  # fast path for long lists
        return pairs
    result: list[tuple[float, int]] = []
    earliest = 0.0
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != len(_COLUMNS):
            raise validation.bad(f"arrivals[{i}]", pair, f"a pair {form}", example)
        start = f"arrivals[{i}].start_s"
        start_s = validation.number(start, pair[0], Range(0, _LATEST_S), example=0.5)
        if start_s < earliest:
            after = f"at least {earliest:g}, the previous start"
            raise validation.bad(start, start_s, after, "sort the arrivals by start_s")
        size = f"arrivals[{i}].size_bytes"
        allowed = Range(1, _MOST_BYTES)
        result.append((start_s, validation.whole(size, pair[1], allowed, example=20_000)))
        earliest = start_s
    return tuple(result)


def _is_normal(arrivals: tuple[Any, ...]) -> TypeGuard[Arrivals]:
    """Return whether the pairs are valid and in their normal form."""
    earliest = 0.0
    for pair in arrivals:
        if type(pair) is not tuple or len(pair) != len(_COLUMNS):
            return False
        start_s, size = pair
        if type(start_s) is not float or type(size) is not int:
            return False
        # 0.0 may be -0.0, which prints differently.
        if start_s == 0 or not (earliest <= start_s <= _LATEST_S and 1 <= size <= _MOST_BYTES):
            return False
        earliest = start_s
    return True


def from_file(path: Path) -> list[tuple[float, int]]:
    """Read a CSV file with the header ``start_s,size_bytes``.

    Raises
    ------
    InputError
        If the file is unreadable or invalid. The message names the file and the line.
    """
    pairs = number_tables.read(path, "arrivals file", _COLUMNS)
    if not pairs:
        raise InputError(
            f"arrivals file {path} lists no flow: add a line for each below its header"
        )
    return pairs


def to_csv(arrivals: Arrivals) -> str:
    """Return the text of a CSV file that :func:`from_file` reads back exactly.

    Examples
    --------
    >>> to_csv(((0.5, 20000),)).splitlines()
    ['start_s,size_bytes', '0.5,20000']
    """
    lines = (f"{start_s!r},{size_bytes}" for start_s, size_bytes in arrivals)
    return "\n".join([",".join(_COLUMNS), *lines, ""])
