# SPDX-License-Identifier: Apache-2.0
"""PathChirp's estimate of the available bandwidth, to compare RAPID's with.

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

#: Packets that an excursion must have, L.
MIN_LENGTH = 5
#: An excursion is over when this part of its height is left, F.
DECREASE = 1.5


def pathchirp_mbps(
    send_times_ns: ArrayLike, receive_times_ns: ArrayLike, *, packet_bytes: int = MTU_BYTES
) -> float:
    """Return PathChirp's estimate of the available bandwidth, in Mbit/s.

    Each gap has an estimate: its own rate while the delay grows in an excursion that ends, and
    otherwise the rate at which the excursion begins that does not end, or the last rate if there
    is none. The result is their mean, weighted by the gaps' lengths.

    Parameters
    ----------
    send_times_ns, receive_times_ns : array_like
        Of all packets of one chirp, shape (n,), n at least 2; PathChirp drops chirps with a loss.
    packet_bytes : int
        Size of the packets, 1 or more.

    Raises
    ------
    InputError
        If a value is no finite number, shapes differ, or times of sending do not increase.

    Examples
    --------
    Delays grow from the third packet on, at gaps of 1 ms and 12 Mbit/s:

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
    check_increasing("send_times_ns", sent, "sort the packets by the time of sending")
    delays, gaps = received - sent, np.diff(sent)
    rates = packet_bytes * 8e3 / gaps
    estimates = np.full(gaps.size, np.nan)
    otherwise = rates[-1]
    start = 0
    while start < gaps.size:
        if delays[start + 1] <= delays[start]:
            start += 1
            continue
        above = delays[start:] - delays[start]
        over = np.flatnonzero(above < np.maximum.accumulate(above) / DECREASE)
        end = start + int(over[0]) if over.size else sent.size
        if end - start < MIN_LENGTH:
            start += 1
        elif over.size:
            grows = np.arange(start, end)[np.diff(delays)[start:end] >= 0]
            estimates[grows] = rates[grows]
            start = end
        else:
            otherwise = rates[start]
            break
    estimates = np.where(np.isnan(estimates), otherwise, estimates)
    return float(estimates @ gaps / gaps.sum())
