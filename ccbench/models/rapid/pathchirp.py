# SPDX-License-Identifier: Apache-2.0
"""PathChirp's estimate of the available bandwidth, for comparison with RAPID's.

References
----------
V. Ribeiro, R. Riedi, R. Baraniuk, J. Navratil and L. Cottrell, "pathChirp: Efficient Available
Bandwidth Estimation for Network Paths" (Passive and Active Measurement Workshop, 2003).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import check_increasing, numbers
from ccbench.base.validation import Range
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["DECREASE", "MIN_LENGTH", "pathchirp_mbps"]

#: Minimum length L of an excursion in packets.
MIN_LENGTH = 5
#: Inverse F of the fraction of its height below which an excursion has ended.
DECREASE = 1.5


def pathchirp_mbps(
    send_times_ns: ArrayLike, receive_times_ns: ArrayLike, *, packet_bytes: int = MTU_BYTES
) -> float:
    """Return PathChirp's estimate of the available bandwidth, in Mbit/s.

    Each gap has an estimate: its own rate if the delay grows in an excursion that ends; otherwise
    the rate at the start of the unfinished excursion, or the last rate if there is none. The result
    is the mean of these estimates, weighted by the lengths of the gaps.

    Parameters
    ----------
    send_times_ns, receive_times_ns : array_like
        Times of all packets of one chirp, shape (n,), n at least 2; PathChirp drops chirps with a
        loss.
    packet_bytes : int
        Size of the packets, 1 or more.

    Raises
    ------
    InputError
        If a value is not a finite number, shapes differ, or sending times do not increase.

    Examples
    --------
    Delays grow from the third packet, at gaps of 1 ms and 12 Mbit/s:

    >>> sent = [0, 2e6, 4e6, 5e6, 6e6, 7e6, 8e6, 9e6]
    >>> delays = [1e6, 1e6, 1e6, 1.5e6, 2e6, 2.5e6, 3e6, 3.5e6]
    >>> pathchirp_mbps(sent, [a + b for a, b in zip(sent, delays)])
    12.0
    """
    sent = numbers("send_times_ns", send_times_ns, Range(), example=120_000)
    received = numbers("receive_times_ns", receive_times_ns, Range(), example=120_000)
    packet_bytes = validation.whole("packet_bytes", packet_bytes, Range(1, 2**31), example=1500)
    if sent.ndim != 1 or sent.shape != received.shape or sent.size < 2:  # noqa: PLR2004
        field = "the shape of send_times_ns, receive_times_ns"
        allowed = "(n,) for both, n at least 2"
        raise validation.bad(
            field, (sent.shape, received.shape), allowed, "give both times of each packet"
        )
    check_increasing("send_times_ns", sent, "sort the packets by sending time")
    delays, gaps = received - sent, np.diff(sent)
    rates = packet_bytes * 8e3 / gaps
    estimates = np.full(gaps.size, np.nan)
    default = rates[-1]
    start = 0
    while start < gaps.size:
        if delays[start + 1] <= delays[start]:
            start += 1
            continue
        above = delays[start:] - delays[start]
        ended = np.flatnonzero(above < np.maximum.accumulate(above) / DECREASE)
        end = start + int(ended[0]) if ended.size else sent.size
        if end - start < MIN_LENGTH:
            start += 1
        elif ended.size:
            growing = np.arange(start, end)[np.diff(delays)[start:end] >= 0]
            estimates[growing] = rates[growing]
            start = end
        else:
            default = rates[start]
            break
    estimates = np.where(np.isnan(estimates), default, estimates)
    return float(estimates @ gaps / gaps.sum())
