# SPDX-License-Identifier: Apache-2.0
"""The fair share of a link with varying competition: processor sharing."""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fair_shares_mbps"]


def fair_shares_mbps(
    arrivals: Sequence[tuple[float, float]], interval_s: float, duration_s: float, link_mbps: float
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the throughput of a backlogged flow on a link shared equally at all times.

    Under processor sharing with n other flows, each flow receives 1 / (n + 1) of the link.

    Parameters
    ----------
    arrivals : sequence of (float, float)
        Arrival time in seconds and size in bytes of each other flow, in order of arrival.
    interval_s, duration_s : float
        Averaging interval and total time.
    link_mbps : float
        Rate of the link.

    Returns
    -------
    numpy.ndarray
        Mbit/s in each complete interval.

    Examples
    --------
    A flow of 6 MB arrives after one second and takes another second with half of 96 Mbit/s:

    >>> fair_shares_mbps([(1.0, 6_000_000)], 1.0, 3.0, 96.0).tolist()
    [96.0, 48.0, 96.0]
    """
    rate = link_mbps * 1e6 / 8  # bytes per second
    times, served = [0.0], [0.0]  # bytes received so far by a flow present from the start
    finish: list[float] = []
    now, received = 0.0, 0.0
    upcoming = iter([*arrivals, (math.inf, 0)])
    next_s, size = next(upcoming)
    while now < duration_s:
        pace = rate / (len(finish) + 1)
        done_s = now + (finish[0] - received) / pace if finish else math.inf
        until_s = min(next_s, done_s, duration_s)
        received += (until_s - now) * pace
        now = until_s
        times.append(now)
        served.append(received)
        if now == done_s:
            received = heappop(finish)
        elif now == next_s:
            heappush(finish, received + size)
            next_s, size = next(upcoming)
    edges = np.arange(int(duration_s / interval_s + 1e-9) + 1) * interval_s
    return np.asarray(np.diff(np.interp(edges, times, served)) * 8e-6 / interval_s)
