# SPDX-License-Identifier: Apache-2.0
r"""Estimate of the cross traffic's rate from a sender's own packets (section 3.1).

A queue that treats all packets alike and is never empty serves flows in proportion to their arrival
rates. With the rates S and R at which the same n packets arrived and were served, and the link's
rate μ:

.. math::

    \hat z(t) = \mu \frac{S(t)}{R(t)} - S(t) \quad (1), \qquad
    S = \frac{n_{bytes}}{s_{i+n} - s_i}, \quad R = \frac{n_{bytes}}{r_{i+n} - r_i} \quad (2)

For a FIFO queue that never empties, this is exact: between the packets i and i + n, the link serves
exactly the bytes that arrived between them, μ (r_{i+n} - r_i). Therefore n_bytes is the size of the
packets i to i + n - 1, and ẑ is the mean rate of the other packets between s_i and s_{i+n}. Packets
that the queue refuses do not count. If the queue empties, the unused capacity counts as cross
traffic.

S / R is the ratio of all arrivals to the link's rate. Packets of a burst, such as a flow's first
window, arrive almost at once: they have no rate. Therefore a window has a value only if its packets
were sent over at least half of the time in which they were received, so that S is at most 2 R, as
in slow start, and ẑ at most 2 μ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import broadcastable, check_row, numbers
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["cross_traffic_mbps", "packet_windows", "window_rates_mbps"]

_POSITIVE = Range(0, low_open=True)
_NOT_NEGATIVE = Range(0)
#: Shortest time over which the packets of a window were sent, relative to that of receiving them.
_SHORTEST_SENDING = 0.5


def cross_traffic_mbps(
    send_mbps: ArrayLike, receive_mbps: ArrayLike, *, link_mbps: ArrayLike
) -> NDArray[np.float64]:
    """Estimate the rate ẑ of the cross traffic in Mbit/s (1).

    Parameters
    ----------
    send_mbps, receive_mbps : array_like
        Rates at which the same packets were sent and received, S at least 0 and R above 0. They and
        `link_mbps` are broadcast against each other.
    link_mbps : array_like
        Rate μ of the bottleneck, above 0.

    Returns
    -------
    numpy.ndarray
        Negative if R / μ is above 1: if μ is too low, or the packets were served in a burst.

    Raises
    ------
    InputError
        If a value is out of range or not a number, or shapes do not match.

    Examples
    --------
    The sender has half of a full link of 48 Mbit/s, then doubles its rate and gets two thirds:

    >>> cross_traffic_mbps([24, 48], [24, 32], link_mbps=48).tolist()
    [24.0, 24.0]
    """
    send = numbers("send_mbps", send_mbps, _NOT_NEGATIVE, example=24)
    receive = numbers("receive_mbps", receive_mbps, _POSITIVE, example=24)
    link = numbers("link_mbps", link_mbps, _POSITIVE, example=96)
    broadcastable(send_mbps=send, receive_mbps=receive, link_mbps=link)
    return np.asarray(link * send / receive - send)


def packet_windows(
    received_s: ArrayLike, at_s: ArrayLike, *, window_s: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the packets i and i + n between which rates are measured at some instants.

    The last is the latest packet received at the instant. The first is the earliest packet received
    within `window_s` before the last, or else the predecessor of the last.

    Parameters
    ----------
    received_s : array_like
        Ordered arrival times in seconds, shape (packets,) with 2 packets or more.
    at_s : array_like
        Instants in seconds, of any shape, not before the arrival of the second packet.
    window_s : float
        Length of the window, above 0. It should be a round-trip time, because bursts distort
        shorter windows, and below a pulse's period, because longer windows average out the pulse.

    Returns
    -------
    first, last : numpy.ndarray
        Positions in `received_s`, shape of `at_s`; `first` is below `last`.

    Raises
    ------
    InputError
        If times are not in order, or an instant is too early.

    Examples
    --------
    >>> first, last = packet_windows([0, 1, 2, 3, 4], [1, 3.5, 4], window_s=2)
    >>> first.tolist(), last.tolist()
    ([0, 1, 2], [1, 3, 4])
    """
    received = _times("received_s", received_s)
    at = numbers("at_s", at_s, Range(), example=5)
    window = validation.number("window_s", window_s, _POSITIVE, example=0.05)
    if at.size and at.min() < received[1]:
        allowed = f"at least {received[1]:g}, the arrival of the second packet"
        raise validation.bad("at_s", float(at.min()), allowed, "begin later")
    last = np.searchsorted(received, at, side="right") - 1
    # Times are differences of instants: a nanosecond of tolerance resolves ties.
    first = np.searchsorted(received, received[last] - window - 1e-9, side="left")
    return np.minimum(first, last - 1), last


def window_rates_mbps(
    sent_s: ArrayLike,
    received_s: ArrayLike,
    packet_bytes: ArrayLike,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rates S and R at which packets were sent and received, in Mbit/s (2).

    Parameters
    ----------
    sent_s, received_s : array_like
        Sending and arrival time of each packet in seconds, in order of arrival, shape (packets,).
    packet_bytes : array_like
        Sizes of the packets, shape (packets,) or one number for all, above 0.
    first, last : numpy.ndarray
        Result of :func:`packet_windows`.

    Returns
    -------
    send_mbps, receive_mbps : numpy.ndarray
        Shape of `first`; both NaN if the packets were received at one instant, or sent within less
        than half of the time in which they were received, as a burst.

    Raises
    ------
    InputError
        If a value is out of range or not a number, times are not in order, or shapes do not match.

    Examples
    --------
    Packets of 12,000 bits, sent at intervals of 1 ms and received at intervals of 0.5 ms:

    >>> sent, received = [0, 0.001, 0.002], [0.01, 0.0105, 0.011]
    >>> send, receive = window_rates_mbps(sent, received, 1500, np.array([0]), np.array([2]))
    >>> send.round(6).tolist(), receive.round(6).tolist()
    ([12.0], [24.0])
    """
    sent = numbers("sent_s", sent_s, Range(), example=0.01)
    received = _times("received_s", received_s)
    sizes = numbers("packet_bytes", packet_bytes, _POSITIVE, example=1500)
    if sent.shape != received.shape or broadcastable(x=received, y=sizes) != received.shape:
        shapes = (sent.shape, received.shape, sizes.shape)
        fields = "the shape of sent_s, received_s, packet_bytes"
        raise validation.bad(fields, shapes, "equal", "give a time and a size for each packet")
    total = np.concatenate([[0.0], np.cumsum(np.broadcast_to(sizes, received.shape))])
    megabits = (total[last] - total[first]) * 8e-6
    spans = sent[last] - sent[first], received[last] - received[first]
    # Equal packets of slow start are exactly at the limit, and times have rounding errors.
    is_defined = (spans[1] > 0) & (spans[0] >= _SHORTEST_SENDING * spans[1] * (1 - 1e-6))
    send, receive = (
        np.divide(megabits, span, out=np.full(megabits.shape, np.nan), where=is_defined)
        for span in spans
    )
    return send, receive


def _times(name: str, values: ArrayLike) -> NDArray[np.float64]:
    times = numbers(name, values, Range(), example=0.01)
    check_row(name, times, least=2, step="add packets: a rate needs two")
    if np.any(wrong := np.diff(times) < 0):
        allowed = f"at least the previous time, {times[:-1][wrong][0]:g}"
        raise validation.bad(name, float(times[1:][wrong][0]), allowed, "sort the packets by it")
    return times
