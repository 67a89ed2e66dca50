# SPDX-License-Identifier: Apache-2.0
"""Recorded or assumed round-trip times over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import durable, validation
from ccbench.base.checked_fields import set_field
from ccbench.base.validation import Range
from ccbench.experiment._time_points import Points, checked_points, read_points

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["RttTrace"]

_RTT = Range(0.001, 10_000)


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

    points: Points
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        validation.one_line("name", self.name)
        points = checked_points(self.points, "rtt_ms", _RTT, ((0, 40), (60, 80)))
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
        return read_points(Path(path), "RTT trace", "rtt_ms", cls)

    def to_file(self, path: str | Path) -> None:
        """Write the trace as a CSV file that :meth:`from_file` reads back exactly, atomically."""
        lines = (f"{time_s!r},{rtt_ms!r}" for time_s, rtt_ms in self.points)
        durable.write_text(Path(path), "\n".join(["time_s,rtt_ms", *lines, ""]))
