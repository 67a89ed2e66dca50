# SPDX-License-Identifier: Apache-2.0
"""Recorded or assumed losses over time."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccbench.base import validation
from ccbench.base.checked_fields import set_field
from ccbench.base.validation import Range
from ccbench.experiment._time_points import Points, checked_points, read_points

__all__ = ["LossTrace", "read_loss_trace"]


@dataclass(frozen=True, kw_only=True)
class LossTrace:
    """Losses that vary over time: from each time on, packets are lost with a probability.

    The trace repeats forever; its last time is the period, and the loss there has no effect.

    Parameters
    ----------
    points : tuple of (float, float)
        Pairs of a time in seconds and the probability of a loss, 0 to 1. The times are not
        descending, the first 0 and the last above 0.
    name : str
        Description; the file's name if read from a file. Not part of the trace's identity.

    Raises
    ------
    InputError
        If the points are not as described.

    Examples
    --------
    Nothing arrives for 0.5 s of each 10 s:

    >>> LossTrace(points=((0, 0), (9.5, 1), (10, 0))).mean
    0.05
    """

    points: Points
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        validation.one_line("name", self.name)
        points = checked_points(self.points, "loss", Range(0, 1), ((0, 0), (9.5, 1), (10, 0)))
        set_field(self, "points", points)

    @property
    def mean(self) -> float:
        """Share of the packets that are lost in the long run, at an even rate."""
        ends = (time_s for time_s, _ in self.points[1:])
        lost_s = sum(
            (end_s - time_s) * loss
            for (time_s, loss), end_s in zip(self.points, ends, strict=False)
        )
        return lost_s / self.points[-1][0]

    @classmethod
    def from_file(cls, path: str | Path) -> LossTrace:
        """Read a CSV file with the header ``time_s,loss``.

        Raises
        ------
        InputError
            If the file is unreadable or invalid. The message names the file, and the line.

        Examples
        --------
        >>> round(LossTrace.from_file("examples/losses.csv").mean, 3)
        0.012
        """
        return read_points(Path(path), "loss trace", "loss", cls)


def read_loss_trace(name: str, value: Any, base_dir: Path) -> LossTrace:
    """Read a loss trace from a document: the points, or a file relative to `base_dir`.

    Raises
    ------
    InputError
        If it is invalid.
    """
    if isinstance(value, str):
        return LossTrace.from_file(base_dir / value)
    with validation.within(f"{name}."):
        return LossTrace(points=value)
