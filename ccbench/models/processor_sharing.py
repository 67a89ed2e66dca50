# SPDX-License-Identifier: Apache-2.0
"""Processor sharing: a link whose flows always have equal shares, with one endless flow.

This is an exact fluid model of fair queueing: flows share the rate without packets, delays or
feedback. Between two arrivals or departures, N flows have a rate of C / N each. A flow departs once
the service per flow has grown by its size, so that one ordered list of departures suffices.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["active_flows", "mean_share_change"]

_GBPS = Range(0, 1e6, low_open=True)


def active_flows(
    start_s: ArrayLike, size_bytes: ArrayLike, gbps: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the number N(t) of active flows, of which one is endless.

    Parameters
    ----------
    start_s : array_like
        Start of each flow in seconds, in ascending order.
    size_bytes : array_like
        Their sizes.
    gbps : float
        Rate C of the link in Gbit/s.

    Returns
    -------
    times_s : ndarray
        Times of changes, beginning with 0.
    numbers : ndarray
        Number of active flows from each time on.

    Raises
    ------
    InputError
        If starts are not in ascending order, or there are not as many sizes.

    Examples
    --------
    A flow of 1250 bytes has half of 10 Gbit/s, and so takes 2 μs:

    >>> times_s, numbers = active_flows([1e-6], [1250], gbps=10)
    >>> (1e6 * times_s).round(6).tolist(), numbers.tolist()
    ([0.0, 1.0, 3.0], [1, 2, 1])
    """
    bytes_per_s = validation.number("gbps", gbps, _GBPS, example=100) * 1e9 / 8
    starts, sizes = np.asarray(start_s, dtype=float), np.asarray(size_bytes, dtype=float)
    if starts.shape != sizes.shape or np.any(np.diff(starts) < 0) or np.any(starts < 0):
        raise InputError("start_s and size_bytes differ in length, or starts are not in order")
    times, numbers = [0.0], [1]
    departures: list[float] = []  # service per flow at each departure
    now, service, count = 0.0, 0.0, 1

    def advance(until: float) -> None:
        nonlocal now, service, count
        while departures:
            departure = now + (departures[0] - service) * count / bytes_per_s
            if departure > until:
                break
            now, service = departure, heapq.heappop(departures)
            count -= 1
            times.append(now)
            numbers.append(count)
        if until < np.inf:
            service += (until - now) * bytes_per_s / count
            now = until

    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        advance(start)
        heapq.heappush(departures, service + size)
        count += 1
        times.append(now)
        numbers.append(count)
    advance(np.inf)
    return np.array(times), np.array(numbers)


def mean_share_change(
    times_s: ArrayLike, numbers: ArrayLike, interval_s: float, at_s: ArrayLike
) -> float:
    """Return the mean of ``abs(f(t + I) / f(t) - 1)``, the change of the fair share in an interval.

    Parameters
    ----------
    times_s, numbers : array_like
        The result of :func:`active_flows`.
    interval_s : float
        The interval I in seconds.
    at_s : array_like
        The times t in seconds.

    Examples
    --------
    The share halves at 1 μs:

    >>> mean_share_change([0, 1e-6], [1, 2], interval_s=1e-6, at_s=[0.5e-6])
    0.5
    """
    times, counts = np.asarray(times_s, dtype=float), np.asarray(numbers)
    at = np.asarray(at_s, dtype=float)
    before = counts[np.searchsorted(times, at, side="right") - 1]
    after = counts[np.searchsorted(times, at + interval_s, side="right") - 1]
    return float(np.abs(before / after - 1).mean())
