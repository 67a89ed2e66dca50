# SPDX-License-Identifier: Apache-2.0
"""Link traces: the times at which a link of varying rate can deliver a packet."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from operator import le, sub
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import durable, validation
from ccbench.base.checked_fields import set_field
from ccbench.base.errors import InputError
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Trace", "name_of"]

#: Size of one delivery opportunity in bytes (Mahimahi's, and a full IP packet).
OPPORTUNITY_BYTES = 1500

#: Largest time that the virtual kernel can store.
_LATEST_MS = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Delivery opportunities of a link, in the format of Mahimahi's trace files.

    Each entry is one opportunity to deliver 1500 bytes. The trace repeats forever; its last entry
    is the period.

    Parameters
    ----------
    name : str
        Description; the file's name if read from a file. Not part of the trace's identity.
    opportunities_ms : tuple of int
        Times in milliseconds since the start of the period: 0 or more, not descending, the last
        above 0.

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
        validation.one_line("name", self.name)
        form, step = "a list of times in ms, the last above 0", "add delivery opportunities"
        times = validation.several("opportunities_ms", self.opportunities_ms, form, step)
        # Recorded traces have a million entries; this fast path has no loop in Python.
        if set(map(type, times)) != {int} or min(times) < 0 or max(times) > _LATEST_MS:
            allowed = Range(0, _LATEST_MS)
            times = tuple(
                validation.whole(f"opportunities_ms[{i}]", time, allowed, example=1)
                for i, time in enumerate(times)
            )
        if not times or times[-1] == 0:
            raise validation.bad("opportunities_ms", times, form, step)
        if not all(map(le, times, islice(times, 1, None))):
            i = next(i for i, (before, time) in enumerate(pairwise(times), 1) if time < before)
            name, form = f"opportunities_ms[{i}]", f"at least {times[i - 1]}, the previous time"
            raise validation.bad(name, times[i], form, "sort the times")
        set_field(self, "opportunities_ms", times)

    @property
    def mean_mbps(self) -> float:
        """Mean rate of the trace in Mbit/s of IP bytes."""
        period_bits = len(self.opportunities_ms) * OPPORTUNITY_BYTES * 8
        return period_bits / (self.opportunities_ms[-1] * 1e3)

    @property
    def duration_s(self) -> float:
        """Length of the period in seconds."""
        return self.opportunities_ms[-1] / 1e3

    @property
    def longest_gap_s(self) -> float:
        """Longest time without an opportunity, in seconds.

        Examples
        --------
        >>> Trace(name="uneven", opportunities_ms=(10, 10, 100)).longest_gap_s
        0.09
        """
        times = self.opportunities_ms
        # The last opportunity of a period is at the time 0 of the next.
        longest_ms: int = max(map(sub, times, chain((0,), times)))
        return longest_ms / 1e3

    def rates_mbps(self, window_s: float = 1.0) -> tuple[float, ...]:
        """Return the mean rate in each window of the period, in Mbit/s of IP bytes.

        Parameters
        ----------
        window_s : float
            Length of the windows in seconds. A partial final window is dropped. A period shorter
            than a window repeats to fill a single window.

        Raises
        ------
        InputError
            If `window_s` is not above 0.

        Examples
        --------
        >>> Trace(name="slowing down", opportunities_ms=(500, 1000, 2000)).rates_mbps()
        (0.024, 0.012)
        """
        above_0 = Range(0, low_open=True)
        window_s = validation.number("window_s", window_s, above_0, example=1)
        count = max(1, int(round(self.duration_s / window_s, 9)))  # 0.3 / 0.1 is below 3
        totals = [self.capacity_bytes(i * window_s) for i in range(count + 1)]
        return tuple((after - before) * 8e-6 / window_s for before, after in pairwise(totals))

    def capacity_bytes(self, duration_s: float) -> float:
        """Return the bytes of all opportunities in the first `duration_s` seconds.

        Examples
        --------
        >>> Trace(name="uneven", opportunities_ms=(10, 10, 100)).capacity_bytes(0.15)
        7500.0
        """
        times = self.opportunities_ms
        # Floating point: 0.57 * 100 is below 57 and would miss the opportunities at 57 ms.
        periods, rest_ms = divmod(round(duration_s * 1e3, 6), times[-1])
        return OPPORTUNITY_BYTES * (periods * len(times) + bisect_right(times, rest_ms))

    @classmethod
    def from_file(cls, path: str | Path) -> Trace:
        """Read a Mahimahi trace file: one whole number of milliseconds per line.

        Raises
        ------
        InputError
            If the file cannot be read or a line is not a whole number. The message names the file
            and the line.

        Examples
        --------
        >>> Trace.from_file("examples/varying-link.trace").mean_mbps
        15.0
        """
        path = Path(path)
        with validation.of_file():
            text = validation.text_file(path, "trace file")
            with suppress(ValueError):
                if "_" not in text:  # Python reads 1_0 as 10
                    times = tuple(map(int, text.splitlines()))
                    return cls(name=name_of(path), opportunities_ms=times)
            return cls(name=name_of(path), opportunities_ms=_times_ms(path, text.splitlines()))

    def to_file(self, path: str | Path) -> None:
        """Write the trace as a Mahimahi trace file, atomically."""
        durable.write_text(Path(path), "".join(f"{t}\n" for t in self.opportunities_ms))


def name_of(path: Path) -> str:
    """Return the name of a trace file as text, with replacement characters for invalid UTF-8.

    Examples
    --------
    >>> name_of(Path("links/umts.down"))
    'umts.down'
    """
    return os.fsencode(path.name).decode(errors="replace")


def _times_ms(path: Path, lines: Sequence[str]) -> tuple[int, ...]:
    """Return the times of a file line by line, or raise an error that names the line."""
    times = [0]
    previous = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        field, time_ms = f"{path} line {number}", -1
        if re.fullmatch(r"\s*[+-]?\d{1,20}\s*", line, re.ASCII):
            time_ms = int(line)
        if not 0 <= time_ms <= _LATEST_MS:
            allowed = f"a whole number of milliseconds from 0 to {_LATEST_MS}"
            raise validation.bad(field, line, allowed, "correct the line")
        if time_ms < times[-1]:
            allowed = f"at least {times[-1]}, the time in line {previous}"
            raise validation.bad(field, time_ms, allowed, "sort the lines")
        times.append(time_ms)
        previous = number
    if times[-1] == 0:
        found = "has only times of 0" if times[1:] else "has no times"
        step = "add a line for each time in ms at which the link can deliver 1500 bytes"
        raise InputError(f"{path} {found}; the last must be above 0, as it is the period: {step}")
    return tuple(times[1:])
