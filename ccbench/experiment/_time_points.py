# SPDX-License-Identifier: Apache-2.0
"""Values over time: pairs of a time in seconds and a value; the last time is the period."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar

from ccbench.base import number_tables, validation
from ccbench.base.validation import Range
from ccbench.experiment.trace import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["Points", "checked_points", "read_points", "written_points"]

_T = TypeVar("_T")

Points = tuple[tuple[float, float], ...]

_TIME = Range(0, 1e6)
#: Shortest period.
_SHORTEST_S = 0.001
_PAIR = 2


class HasPoints(Protocol):
    """A trace over time."""

    @property
    def points(self) -> Points:
        """Pairs of a time and a value."""


def checked_points(points: object, name: str, allowed: Range, example: Points) -> Points:
    """Return the normal form of points.

    Parameters
    ----------
    points : object
        The points: an iterable of pairs whose times are not descending, the first 0 and the last
        above 0.
    name : str
        Name of the values.
    allowed : Range
        The values.
    example : Points
        Valid points for messages.

    Raises
    ------
    InputError
        If they are not as described.
    """
    form, step = f"[time_s, {name}]", f"write for example {[list(point) for point in example]}"
    result = []
    for i, pair in enumerate(validation.several("points", points, f"a list of {form}", step)):
        if not isinstance(pair, tuple | list) or len(pair) != _PAIR:
            raise validation.bad(f"points[{i}]", pair, f"a pair {form}", step)
        time_s = validation.number(f"points[{i}].time_s", pair[0], _TIME, example=10)
        value = validation.number(f"points[{i}].{name}", pair[1], allowed, example=example[0][1])
        result.append((time_s, value))
    if not result or result[0][0] != 0 or result[-1][0] < _SHORTEST_S:
        most = f"two or more {form}, the first at 0, the last at {_SHORTEST_S} or later"
        raise validation.bad("points", tuple(result[:4]), most, step)
    _check_order(time_s for time_s, _ in result)
    return tuple(result)


def read_points(path: Path, what: str, value: str, create: Callable[..., _T]) -> _T:
    """Return a trace from a CSV file with the columns ``time_s`` and `value`.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Kind of the file, for messages.
    value : str
        The second column.
    create : callable
        The trace's class, called with `points` and `name`.

    Raises
    ------
    InputError
        If the file is unreadable or invalid. The message names the file, and the line.
    """
    points = tuple(number_tables.read(path, what, {"time_s": float, value: float}))
    with validation.within(f"{what} {path}: "):
        return create(points=points, name=name_of(path))


def written_points(trace: HasPoints) -> list[list[float]]:
    """Return the points of a trace for a document."""
    return [list(point) for point in trace.points]


def _check_order(times_s: Iterable[float]) -> None:
    for i, (before_s, time_s) in enumerate(pairwise(times_s), 1):
        if time_s < before_s:
            allowed = f"at least {before_s:g}, the previous time"
            raise validation.bad(f"points[{i}].time_s", time_s, allowed, "sort the points")
