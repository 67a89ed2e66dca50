# SPDX-License-Identifier: Apache-2.0
"""Estimate of the available bandwidth from the delays of one p-stream, as in the kernel module.

From the first packet whose rate exceeds the available bandwidth, each packet waits longer than its
predecessor (self-induced congestion). The delays of a stream thus end in an *excursion*, and the
rate at its start is the estimate.

PathChirp, to which the paper refers, starts an excursion at every increase of the delay and ends it
when less than 1/F of its height is left. A queue with cross traffic causes small excursions all the
time; the last excursion then starts too late, at too high a rate, and the sender overloads the link
(:func:`~ccbench.models.rapid.pathchirp.pathchirp_mbps`; docs/rapid.md has figures). This estimator
differs as follows:

- An excursion starts at its **foot**, the last packet with the minimum delay. Since the queue
  shrinks at rates below the available bandwidth and grows above it, the foot is too early as often
  as too late.
- An excursion has at least `min_length` packets, as with PathChirp (a quarter of a short stream).
- If less than 1/`decrease` of its height is left at the end of the stream, the excursion was a
  burst of cross traffic, and the search continues after its peak.
- With noise, the foot is the last packet whose delay exceeds the minimum by at most 1/`tolerance`
  of the excursion's height. Otherwise chance would select one of the packets that met an empty
  queue, and the rate would fall with each stream. Without noise, this rule gives too late a foot.
  Growth by less than 1/`tolerance` of its duration is noise: no rate of a stream exceeds the
  available bandwidth by so little.
- The estimate is the mean rate of the two gaps around the foot, one below and one above the
  available bandwidth. The rate of the second gap would be too high by half a step, 3.5 %, on
  average.

A lost packet ends the stream: it may not have been queued, so that later delays are shorter. Growth
before it counts; a lack of growth does not. But if two or more packets are lost without growth, the
queue was too short for it, and the estimate is the last rate before the first loss.

References
----------
V. Konda and J. Kaur, "Rethinking the Timescales at Which Congestion-control Operates", section
III.A.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import check_increasing, numbers
from ccbench.base.validation import Range
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DECREASE", "MIN_LENGTH", "StreamEstimate", "Verdict", "available_bandwidth"]

#: Minimum length of an excursion in packets.
MIN_LENGTH = 5
#: Inverse of the fraction of its height below which an excursion has ended.
DECREASE = 8

#: Maximum number of packets missing at the start of a stream for "below", at its end for "above".
_END_PACKETS = 2
_FEWEST = 3

Verdict: TypeAlias = Literal["unknown", "below", "within", "above"]


@dataclass(frozen=True)
class StreamEstimate:
    """The result of one stream.

    Parameters
    ----------
    verdict : str
        Position of the available bandwidth: ``"within"`` the rates of the stream, ``"below"`` them
        (delays grew from the first packet), ``"above"`` them (delays did not grow), or
        ``"unknown"``.
    mbps : float
        The estimate in Mbit/s: the lowest rate for ``"below"``, the highest for ``"above"``, NaN if
        unknown.

    Examples
    --------
    A stream with constant delays:

    >>> sent = [0, 1000, 1900, 2700]
    >>> available_bandwidth(sent, [time_ns + 5000 for time_ns in sent]).verdict
    'above'
    """

    verdict: Verdict
    mbps: float


def available_bandwidth(  # noqa: PLR0913 - times, and the rule of excursions by keyword
    send_times_ns: ArrayLike,
    receive_times_ns: ArrayLike,
    *,
    packet_bytes: int = MTU_BYTES,
    min_length: int = MIN_LENGTH,
    decrease: float = DECREASE,
    tolerance: float = 0,
) -> StreamEstimate:
    """Estimate the available bandwidth from one p-stream.

    Parameters
    ----------
    send_times_ns : array_like
        Increasing sending times of the packets, shape (n,).
    receive_times_ns : array_like
        Arrival times of the packets or of their ACKs, shape (n,); the clocks may differ. ``inf``
        marks a lost packet, ``nan`` an unknown time, as of a packet that was retransmitted or
        acknowledged together with the next. Reordered packets are treated like any other.
    packet_bytes : int
        Size of the packets, 1 or more.
    min_length : int
        Minimum length of an excursion in packets, 2 to 32; at most a quarter of the stream.
    decrease : float
        1 to 1000: an excursion with less than 1/`decrease` of its height at the end does not count.
    tolerance : float
        1 to 1000: 1/`tolerance` of the growth is noise, and growth by less than 1/`tolerance` of
        its duration is nothing but noise. 0: there is no noise.

    Raises
    ------
    InputError
        If shapes differ, sending times do not increase, or a value is out of range.

    Examples
    --------
    A link of 100 Mbit/s and 20 ms without other traffic, between the rates of 99.6 and 106.6:

    >>> from ccbench.models.rapid.stream import send_times_ns
    >>> sent, free_ns, received = send_times_ns(70), 0.0, []
    >>> for time_ns in sent:
    ...     free_ns = max(free_ns, time_ns) + 120_000
    ...     received.append(free_ns + 20e6)
    >>> estimate = available_bandwidth(sent, received)
    >>> estimate.verdict, round(estimate.mbps)
    ('within', 103)
    """
    sent, received = _times(send_times_ns, receive_times_ns)
    packet_bytes = validation.whole("packet_bytes", packet_bytes, Range(1, 2**31), example=1500)
    min_length = validation.whole("min_length", min_length, Range(2, 32), example=MIN_LENGTH)
    decrease = validation.number("decrease", decrease, Range(1, 1000), example=DECREASE)

    tolerance = validation.number("tolerance", tolerance, Range(0, 1000), example=64)
    if 0 < tolerance < 1:
        step = "64 is enough for noise of a twentieth of a packet's time"
        raise validation.bad("tolerance", tolerance, "0, or 1 and more", step)
    rule = _Rule(max(2, min(len(sent) // 4, min_length)), decrease, tolerance)

    lost = np.flatnonzero(np.isinf(received))
    arrived = np.flatnonzero(np.isfinite(received[: lost[0]] if lost.size else received))
    verdict, start, stop = _search(sent[arrived], (received - sent)[arrived], arrived, rule)
    if not _is_conclusive(verdict, arrived, len(sent)):
        verdict = "unknown"
    if verdict == "unknown":
        if lost.size < 2 or arrived.size < 2:  # noqa: PLR2004 - a single loss may be chance
            return StreamEstimate("unknown", math.nan)
        verdict, start, stop = "within", arrived.size - 2, arrived.size - 1
    first, last = arrived[start], arrived[stop]
    bits = int(last - first) * packet_bytes * 8
    return StreamEstimate(verdict, float(bits * 1e3 / (sent[last] - sent[first])))


class _Rule(NamedTuple):
    """The rule of excursions."""

    min_length: int
    decrease: float
    tolerance: float


def _times(
    send_times_ns: ArrayLike, receive_times_ns: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sent = np.atleast_1d(numbers("send_times_ns", send_times_ns, Range(), example=120_000))
    received = np.asarray(receive_times_ns, dtype=float)
    if sent.ndim != 1 or received.shape != sent.shape:
        shapes = (sent.shape, received.shape)
        step = "give one arrival time for each packet, inf if it was lost"
        field = "the shape of send_times_ns, receive_times_ns"
        raise validation.bad(field, shapes, "(n,) for both", step)
    check_increasing("send_times_ns", sent, "sort the packets by sending time")
    if np.any(np.isneginf(received)):
        step = "write inf for a lost packet, nan for an unknown time"
        raise validation.bad("receive_times_ns", -math.inf, "a time, inf or nan", step)
    return sent, received


def _search(
    sent: NDArray[np.float64], delays: NDArray[np.float64], arrived: NDArray[np.intp], rule: _Rule
) -> tuple[Verdict, int, int]:
    """Find the last excursion; return the verdict and the packets between which the rate is."""
    if arrived.size < _FEWEST:
        return "unknown", 0, 0
    last = arrived.size - 1
    lowest = _last_minimum(delays, 0)
    while True:
        above = delays - delays[lowest]
        peak = lowest + int(np.argmax(above[lowest:]))
        noise = above[peak] / rule.tolerance if rule.tolerance else 0.0
        foot = lowest + int(np.flatnonzero(above[lowest : peak + 1] <= noise)[-1])
        slow = (above[peak] - above[foot]) * rule.tolerance < sent[last] - sent[foot]
        if arrived[last] - arrived[foot] < rule.min_length or (rule.tolerance and slow):
            return "above", last - 1, last
        if above[last] * rule.decrease >= above[peak]:
            return ("within", foot - 1, foot + 1) if foot else ("below", 0, 1)
        lowest = _last_minimum(delays, peak)


def _last_minimum(delays: NDArray[np.float64], first: int) -> int:
    return len(delays) - 1 - int(np.argmin(delays[first:][::-1]))


def _is_conclusive(verdict: Verdict, arrived: NDArray[np.intp], packets: int) -> bool:
    if verdict == "below":
        return bool(arrived[0] <= _END_PACKETS)
    if verdict == "above":
        return bool(arrived[-1] >= packets - 1 - _END_PACKETS)
    return True
