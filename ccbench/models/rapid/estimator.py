# SPDX-License-Identifier: Apache-2.0
"""The available bandwidth from the delays of one p-stream, as the kernel module finds it.

From the first packet on whose rate exceeds the available bandwidth, each one waits longer than the
one before it (self-induced congestion). So the delays of a stream end in an *excursion*; the rate
where it begins is the estimate.

PathChirp, which the paper refers to, begins an excursion wherever a delay is followed by a longer
one, and ends it when less than 1/F of its height is left. A queue in which packets of others
come and go makes small excursions all the time; the last one then begins too late, at too high a
rate, and a sender who believes that sends more than the link has
(:func:`~ccbench.models.rapid.pathchirp.pathchirp_mbps`; docs/rapid.md has figures). Here instead

- the excursion begins at the **foot**: the last of the packets with the shortest delay. As the
  queue shrinks at rates below the available bandwidth and grows above it, the foot lies too early
  as often as too late.
- It must be at least `min_length` packets long, as PathChirp's (a quarter of a short stream).
- If less than 1/`decrease` of its height is left at the end, it was a burst of others, and the
  search goes on behind its peak.
- Where times have noise, the foot is the last packet whose delay is within 1/`tolerance` of the
  excursion's height from the shortest. Otherwise chance chooses among all those that met an empty
  queue, and a sender goes lower with each stream. Without noise this finds the foot too late.
  Growth by less than 1/`tolerance` of the time that it takes is noise as a whole: a rate that
  exceeds the available bandwidth by so little is none of the stream's.
- The estimate is the mean rate of the two gaps around the foot: one of them is of a rate that the
  path still carried, the other of one that it did not. The rate behind the foot would be too high
  by half a step, 3.5 %, on average.

A lost packet ends the stream: it may not have been in the queue, so that delays behind it are
shorter. Up to there growth counts, and the lack of it does not. But if two packets or more are
missing and nothing tells of growth, the queue was too short to: the estimate is then the last rate
before the first loss.

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

__all__ = ["DECREASE", "MIN_LENGTH", "Estimate", "Verdict", "available_bandwidth"]

#: Packets by which delays must grow.
MIN_LENGTH = 5
#: An excursion is over when this part of its height is left.
DECREASE = 8

#: Packets that may be missing at an end of a stream which is to tell that delays did not grow.
_END_PACKETS = 2
_FEWEST = 3

Verdict: TypeAlias = Literal["unknown", "below", "within", "above"]


@dataclass(frozen=True)
class Estimate:
    """The result of one stream.

    Parameters
    ----------
    verdict : str
        Where the available bandwidth lies: ``"within"`` the rates of the stream, ``"below"`` them
        (delays grew from its first packet on), ``"above"`` (they did not grow), or ``"unknown"``.
    mbps : float
        The estimate in Mbit/s; of ``"below"`` and ``"above"`` the lowest and highest rate; NaN
        if unknown.

    Examples
    --------
    Of a stream whose packets have all waited equally long:

    >>> sent = [0, 1000, 1900, 2700]
    >>> available_bandwidth(sent, [time_ns + 5000 for time_ns in sent]).verdict
    'above'
    """

    verdict: Verdict
    mbps: float


def available_bandwidth(  # noqa: PLR0913 - times, and the rule by which they tell; by keyword
    send_times_ns: ArrayLike,
    receive_times_ns: ArrayLike,
    *,
    packet_bytes: int = MTU_BYTES,
    min_length: int = MIN_LENGTH,
    decrease: float = DECREASE,
    tolerance: float = 0,
) -> Estimate:
    """Estimate the available bandwidth from one p-stream.

    Parameters
    ----------
    send_times_ns : array_like
        When its packets were sent, increasing, shape (n,).
    receive_times_ns : array_like
        When they were received, or when their ACKs came; the clocks may differ. ``inf``: it was
        lost. ``nan``: nobody knows, as of a packet that was acknowledged together with the one
        behind it, or retransmitted. Shape (n,).
    packet_bytes : int
        Size of the packets, 1 or more.
    min_length : int
        Packets by which delays must grow, 2 to 32; a quarter of the stream if that is less.
    decrease : float
        1 to 1000: growth of which less than 1/`decrease` is left at the end does not count.
    tolerance : float
        1 to 1000: 1/`tolerance` of the growth is noise, and growth by less than 1/`tolerance` of
        the time that it takes is nothing else. 0: there is no noise.

    Returns
    -------
    Estimate
        A packet that was overtaken counts like any other.

    Raises
    ------
    InputError
        If shapes differ, times of sending do not increase, or a value is out of range.

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
    if not _tells(verdict, arrived, len(sent)):
        verdict = "unknown"
    if verdict == "unknown":
        if lost.size < 2 or arrived.size < 2:  # noqa: PLR2004 - one loss is chance
            return Estimate("unknown", math.nan)
        verdict, start, stop = "within", arrived.size - 2, arrived.size - 1
    first, last = arrived[start], arrived[stop]
    bits = int(last - first) * packet_bytes * 8
    return Estimate(verdict, float(bits * 1e3 / (sent[last] - sent[first])))


class _Rule(NamedTuple):
    """The rule by which growth counts."""

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
        step = "give one time of receiving for each packet, inf where it was lost"
        field = "the shape of send_times_ns, receive_times_ns"
        raise validation.bad(field, shapes, "(n,) for both", step)
    check_increasing("send_times_ns", sent, "sort the packets by the time of sending")
    if np.any(np.isneginf(received)):
        step = "write inf for a packet that was lost, nan for one of which nothing is known"
        raise validation.bad("receive_times_ns", -math.inf, "a time, inf or nan", step)
    return sent, received


def _search(
    sent: NDArray[np.float64], delays: NDArray[np.float64], arrived: NDArray[np.intp], rule: _Rule
) -> tuple[Verdict, int, int]:
    """Look for the last excursion; return what it tells, and between which packets the rate is."""
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


def _tells(verdict: Verdict, arrived: NDArray[np.intp], packets: int) -> bool:
    if verdict == "below":
        return bool(arrived[0] <= _END_PACKETS)
    if verdict == "above":
        return bool(arrived[-1] >= packets - 1 - _END_PACKETS)
    return True
