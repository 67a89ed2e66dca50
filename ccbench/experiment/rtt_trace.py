# SPDX-License-Identifier: Apache-2.0
"""Recorded or assumed round-trip times over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import durable, number_tables, validation
from ccbench.base.checked_fields import set_field
from ccbench.base.validation import Range
from ccbench.experiment.trace import name_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["RttTrace"]

_COLUMNS = {"time_s": float, "rtt_ms": float}
_TIME = Range(0, 1e6)
_RTT = Range(0.001, 10_000)
#: Shortest period.
_SHORTEST_S = 0.001
_FORM = "[time_s, rtt_ms]"
_EXAMPLE = "write for example [[0, 40], [60, 80]]"


@dataclass(frozen=True, kw_only=True)
class RttTrace:
    """A base round-trip time that varies: linearly between points of time, periodically.

    Two points at the same time are a step. The trace repeats forever; its last time is the period.

    Parameters
    ----------
    points : tuple of (float, float)
        Pairs of a time in seconds and the round-trip time in milliseconds, 0.001 to 10,000. The
        times are not descending, the first 0 and the last above 0.
    name : str
        Description; the file's name if read from a file. Not part of the trace's identity.

    Raises
    ------
    InputError
        If the points are not as described.

    Examples
    --------
    A slow drift from 40 to 60 ms, then back in one step:

    >>> RttTrace(points=((0, 40), (30, 60))).at([0, 15, 29.7, 30]).round(1).tolist()
    [40.0, 50.0, 59.8, 40.0]
    """

    points: tuple[tuple[float, float], ...]
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        validation.one_line("name", self.name)
        points = _pairs(validation.several("points", self.points, f"a list of {_FORM}", _EXAMPLE))
        if not points or points[0][0] != 0 or points[-1][0] < _SHORTEST_S:
            allowed = f"two or more {_FORM}, the first at 0, the last at {_SHORTEST_S} or later"
            raise validation.bad("points", points[:4], allowed, _EXAMPLE)
        for i, (before, after) in enumerate(pairwise(points), 1):
            if after[0] < before[0]:
                allowed = f"at least {before[0]:g}, the previous time"
                raise validation.bad(f"points[{i}].time_s", after[0], allowed, "sort the points")
        set_field(self, "points", points)

    @property
    def shortest_ms(self) -> float:
        """The shortest round-trip time in milliseconds."""
        return min(rtt_ms for _, rtt_ms in self.points)

    @property
    def longest_ms(self) -> float:
        """The longest round-trip time in milliseconds."""
        return max(rtt_ms for _, rtt_ms in self.points)

    def at(self, times_s: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return the round-trip time in milliseconds at some times, in their shape."""
        import numpy as np  # noqa: PLC0415 - not needed to read a scenario

        known_s, rtts_ms = np.array(self.points).T
        within_s = np.asarray(times_s, np.float64) % known_s[-1]
        after = np.searchsorted(known_s, within_s, side="right")
        before = after - 1
        share = (within_s - known_s[before]) / (known_s[after] - known_s[before])
        result: npt.NDArray[np.float64] = rtts_ms[before] + share * (
            rtts_ms[after] - rtts_ms[before]
        )
        return result

    @classmethod
    def from_file(cls, path: str | Path) -> RttTrace:
        """Read a CSV file with the header ``time_s,rtt_ms``.

        Raises
        ------
        InputError
            If the file is unreadable or invalid. The message names the file, and the line.

        Examples
        --------
        >>> RttTrace.from_file("examples/delays.csv").longest_ms
        85.0
        """
        path = Path(path)
        points = tuple(number_tables.read(path, "RTT trace", _COLUMNS))
        with validation.within(f"RTT trace {path}: "):
            return cls(points=points, name=name_of(path))

    def to_file(self, path: str | Path) -> None:
        """Write the trace as a CSV file that :meth:`from_file` reads back exactly, atomically."""
        lines = (f"{time_s!r},{rtt_ms!r}" for time_s, rtt_ms in self.points)
        durable.write_text(Path(path), "\n".join([",".join(_COLUMNS), *lines, ""]))


def _pairs(points: tuple[Any, ...]) -> tuple[tuple[float, float], ...]:
    result = []
    for i, pair in enumerate(points):
        if not isinstance(pair, tuple | list) or len(pair) != len(_COLUMNS):
            raise validation.bad(f"points[{i}]", pair, f"a pair {_FORM}", _EXAMPLE)
        time_s = validation.number(f"points[{i}].time_s", pair[0], _TIME, example=10)
        rtt_ms = validation.number(f"points[{i}].rtt_ms", pair[1], _RTT, example=40)
        result.append((time_s, rtt_ms))
    return tuple(result)
