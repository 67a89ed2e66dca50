# SPDX-License-Identifier: Apache-2.0
"""The fair share of a link, where others come and go: processor sharing."""

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
    """Return what a backlogged flow gets of a link that all flows share equally at any time.

    Processor sharing: with n others there, each flow has a part of 1 / (n + 1) of the link.

    Parameters
    ----------
    arrivals : sequence of (float, float)
        When each of the others comes, in seconds and in order, and how many bytes it sends.
    interval_s, duration_s : float
        Over what the share is averaged, and until when.
    link_mbps : float
        Rate of the link.

    Returns
    -------
    numpy.ndarray
        Mbit/s in each whole interval.

    Examples
    --------
    One flow of 6 MB comes after a second, and with half of 96 Mbit/s takes another second:

    >>> fair_shares_mbps([(1.0, 6_000_000)], 1.0, 3.0, 96.0).tolist()
    [96.0, 48.0, 96.0]
    """
    rate = link_mbps * 1e6 / 8  # bytes per second
    times, served = [0.0], [0.0]  # what each flow that was always there has got until then
    finish: list[float] = []
    now, got = 0.0, 0.0
    upcoming = iter([*arrivals, (math.inf, 0)])
    next_s, size = next(upcoming)
    while now < duration_s:
        pace = rate / (len(finish) + 1)
        done_s = now + (finish[0] - got) / pace if finish else math.inf
        until_s = min(next_s, done_s, duration_s)
        got += (until_s - now) * pace
        now = until_s
        times.append(now)
        served.append(got)
        if now == done_s:
            got = heappop(finish)
        elif now == next_s:
            heappush(finish, got + size)
            next_s, size = next(upcoming)
    edges = np.arange(int(duration_s / interval_s + 1e-9) + 1) * interval_s
    return np.asarray(np.diff(np.interp(edges, times, served)) * 8e-6 / interval_s)
