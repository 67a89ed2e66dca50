# SPDX-License-Identifier: Apache-2.0
"""Link traces: the times at which a link of varying rate can deliver a packet."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ccbench import _validate
from ccbench._validate import Range

__all__ = ["Trace"]

#: Size of one delivery opportunity in bytes (Mahimahi's, and a full IP packet).
OPPORTUNITY_BYTES = 1500


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Delivery opportunities of a link, in the format of Mahimahi's trace files.

    Each entry is one opportunity to deliver 1500 bytes. The trace repeats for ever with the period
    of its last entry.

    Parameters
    ----------
    name : str
        For people (from a file: the file's name). Not part of the trace's identity.
    opportunities_ms : tuple of int
        Times in milliseconds since the start of the period: 0 or more, never decreasing, the last
        one above 0.

    Raises
    ------
    InputError
        If the times are not as described.

    Examples
    --------
    >>> Trace(name="12 Mbit/s", opportunities_ms=(1,)).mean_mbps
    12.0
    """

    name: str = field(compare=False)
    opportunities_ms: tuple[int, ...]

    def __post_init__(self) -> None:
        _validate.one_line("name", self.name)
        allowed = Range(0, 2**31 - 1)
        times = tuple(
            _validate.whole(f"opportunities_ms[{i}]", time, allowed, example=1)
            for i, time in enumerate(self.opportunities_ms)
        )
        if not times or times[-1] == 0:
            form = "a list of times in ms, the last above 0"
            raise _validate.bad("opportunities_ms", times, form, "add delivery opportunities")
        for i, (before, time) in enumerate(pairwise(times), start=1):
            if time < before:
                name, form = f"opportunities_ms[{i}]", f"at least {before}, the time before it"
                raise _validate.bad(name, time, form, "sort the times")
        object.__setattr__(self, "opportunities_ms", times)

    @property
    def mean_mbps(self) -> float:
        """Mean rate of the trace in Mbit/s of IP bytes."""
        period_bits = len(self.opportunities_ms) * OPPORTUNITY_BYTES * 8
        return period_bits / (self.opportunities_ms[-1] * 1e3)

    def capacity_bytes(self, duration_s: float) -> float:
        """Return the bytes of all opportunities in the first `duration_s` seconds.

        Examples
        --------
        >>> Trace(name="uneven", opportunities_ms=(10, 10, 100)).capacity_bytes(0.15)
        7500.0
        """
        times = self.opportunities_ms
        periods, rest_ms = divmod(duration_s * 1e3, times[-1])
        return OPPORTUNITY_BYTES * (periods * len(times) + bisect_right(times, rest_ms))

    @classmethod
    def from_file(cls, path: str | Path) -> Trace:
        """Read a Mahimahi trace file: one whole number of milliseconds per line.

        Raises
        ------
        InputError
            If the file cannot be read or a line is not a whole number; the message names the file
            and the line.

        Examples
        --------
        >>> Trace.from_file("examples/varying-link.trace").mean_mbps
        15.0
        """
        path = Path(path)
        lines = _validate.text_file(path, "file").splitlines()
        times = tuple(_line_ms(path, i, line) for i, line in enumerate(lines, 1) if line.strip())
        with _validate.within(f"{path}: "):
            return cls(name=path.name, opportunities_ms=times)

    def to_file(self, path: str | Path) -> None:
        """Write the trace as a Mahimahi trace file."""
        Path(path).write_text("".join(f"{t}\n" for t in self.opportunities_ms), encoding="utf-8")


def _line_ms(path: Path, number: int, line: str) -> int:
    try:
        return int(line)
    except ValueError:
        form, step = "a whole number of milliseconds", "correct the line"
        raise _validate.bad(f"{path} line {number}", line, form, step) from None
