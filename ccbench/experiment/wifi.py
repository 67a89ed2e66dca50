# SPDX-License-Identifier: Apache-2.0
"""Wi-Fi links: batches of frames (A-MPDUs) with block ACKs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.checked_fields import check_fields, checked, number, whole
from ccbench.base.dataclass_dicts import Document
from ccbench.base.validation import Range
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Wifi"]

_FRAME_BITS = 8 * MTU_BYTES


def _numbers(allowed: Range, example: float) -> Callable[[str, object], tuple[float, ...]]:
    """Return a check for a list of numbers."""

    def check(name: str, values: object) -> tuple[float, ...]:
        step = f"write {name} = [{example}]"
        several = validation.several(name, values, "a list of numbers", step)
        return tuple(
            validation.number(f"{name}[{i}]", value, allowed, example=example)
            for i, value in enumerate(several)
        )

    return check


@dataclass(frozen=True, kw_only=True)
class Wifi(Document):
    """A Wi-Fi link of 802.11n (ABC, section 5.1).

    A batch (A-MPDU) carries up to `max_frames` waiting frames to one station. Frames that arrive
    during a batch wait for the next, which starts after the block ACK. A batch takes its bits
    divided by the bitrate, plus an overhead for channel access, preamble and block ACK.

    Parameters
    ----------
    bitrates_mbps : tuple of float
        Bitrates of the frames in Mbit/s, 0.1 to 10,000. Each lasts `step_s`; the sequence repeats.
    step_s : float
        Duration of each bitrate in seconds.
    max_frames : int
        Maximum number of frames in a batch, 1 to 256.
    overhead_ms : tuple of float
        Minimum and maximum of the uniformly distributed overhead of a batch, in milliseconds.
    stations : int
        Number of stations, 1 to 256. Flow i belongs to station i modulo `stations`. With more than
        one station, frames leave the queue for a buffer of `max_frames` per station, and stations
        take turns.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> round(Wifi(bitrates_mbps=(65,), overhead_ms=(1, 1)).mean_mbps, 1)
    55.6
    """

    bitrates_mbps: tuple[float, ...] = field(metadata=checked(_numbers(Range(0.1, 10_000), 65)))
    step_s: float = field(default=2.0, metadata=number(Range(0.001, 1e6), example=2))
    max_frames: int = field(default=32, metadata=whole(Range(1, 256), example=32))
    overhead_ms: tuple[float, ...] = field(
        default=(0.3, 2.0), metadata=checked(_numbers(Range(0, 1000), 1))
    )
    stations: int = field(default=1, metadata=whole(Range(1, 256), example=1))

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.bitrates_mbps:
            step = "write for example bitrates_mbps = [65]"
            raise validation.bad("bitrates_mbps", [], "one or more numbers", step)
        if len(self.overhead_ms) != 2 or self.overhead_ms[0] > self.overhead_ms[1]:  # noqa: PLR2004
            form, step = "two numbers, the smaller first", "write for example [0.3, 2]"
            raise validation.bad("overhead_ms", list(self.overhead_ms), form, step)

    def capacity_mbps(self, bitrate_mbps: float) -> float:
        """Return the link's rate with full batches at a bitrate, in Mbit/s of IP bytes.

        Examples
        --------
        >>> Wifi(bitrates_mbps=(12,), max_frames=1, overhead_ms=(1, 1)).capacity_mbps(12)
        6.0
        """
        bits = self.max_frames * _FRAME_BITS
        return bits / (bits / bitrate_mbps + 1e3 * sum(self.overhead_ms) / 2)

    @property
    def mean_mbps(self) -> float:
        """Mean capacity over all bitrates, in Mbit/s of IP bytes."""
        return sum(map(self.capacity_mbps, self.bitrates_mbps)) / len(self.bitrates_mbps)

    def capacity_bytes(self, duration_s: float) -> float:
        """Return the link's capacity in IP bytes over the first `duration_s` seconds.

        Examples
        --------
        >>> link = Wifi(bitrates_mbps=(12, 1e4), max_frames=1, overhead_ms=(1, 1))
        >>> link.capacity_bytes(1)
        750000.0
        """
        rounds, rest_s = divmod(duration_s, self.step_s * len(self.bitrates_mbps))
        whole_round = self.mean_mbps * self.step_s * len(self.bitrates_mbps)
        return (rounds * whole_round + sum(self._steps(rest_s))) * 1e6 / 8

    def _steps(self, duration_s: float) -> Iterator[float]:
        """Yield the Mbit of each step in the first `duration_s` seconds of a round."""
        for i, bitrate_mbps in enumerate(self.bitrates_mbps):
            lasts_s = min(self.step_s, max(0.0, duration_s - i * self.step_s))
            yield self.capacity_mbps(bitrate_mbps) * lasts_s
