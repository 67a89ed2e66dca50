# SPDX-License-Identifier: Apache-2.0
"""Trends of throughput that remain after convergence.

Algorithm 1 compares the size of oscillations, not means: a rate that drifts evenly has the same
deviation in all windows, and is accepted. This is a departure from the thesis, which has no test
for a trend: the start of the measurement is that of Algorithm 1, and a remaining trend is reported
beside it.

The test is that of Mann and Kendall on the means of 8 blocks, with the estimate of Theil and Sen
for the slope. Throughput is autocorrelated, because CCAs oscillate; means of blocks are hardly, as
blocks of a measured part of 60 to 170 s are longer than most oscillations. For stationary series,
the exact probability of a trend is 0.6 % with independent blocks; with a memory of 5 s, simulations
found trends in 2 to 6 %, and with sawteeth of 8 to 25 s in none. More than two flows have a
stricter test each (Bonferroni), so that the probability of any trend is about that of two flows.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ccbench.convergence import _throughput

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

__all__ = ["NEGLIGIBLE_CHANGE", "SHORTEST_S", "changes_mbps", "trends"]

#: Number of blocks.
_BLOCKS = 8
#: Probability of a trend by chance in any flow, with independent blocks.
_ERROR = 0.012
#: Shortest measured part with a test in seconds, a window of Algorithm 1. In a shorter part,
#: a single oscillation looks like a trend.
SHORTEST_S = 60.0
#: Negligible change over the measured part, as a fraction of the fair share. The mean then differs
#: from the final rate by half of it, and harm from its final value by about 0.01.
NEGLIGIBLE_CHANGE = 0.05


def trends(throughput: pd.DataFrame, from_s: float = 0.0) -> pd.Series[float]:
    """Return the change of each flow's throughput by a trend over the measured part.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.
    from_s : float
        Start of the measured part in seconds, such as the time of convergence.

    Returns
    -------
    Series
        Mbit/s; 0 without a significant trend, for a negligible one, and if the part is shorter than
        :data:`SHORTEST_S`.

    Raises
    ------
    InputError
        As :meth:`~ccbench.convergence.Convergence.of`.

    Examples
    --------
    >>> import pandas as pd
    >>> times_s = pd.Index(np.arange(1.0, 121.0), name="time_s")
    >>> drifting = pd.DataFrame({0: times_s / 10, 1: 12.0 - times_s / 10}, times_s)
    >>> trends(drifting, from_s=40).round(1).tolist()
    [8.0, -8.0]
    """
    _throughput.check(throughput)
    ends_s, mbps = _throughput.arrays(throughput)
    return _throughput.by_flow(throughput, changes_mbps(ends_s, mbps, from_s))


def changes_mbps(
    ends_s: npt.NDArray[np.float64], mbps: npt.NDArray[np.float64], from_s: float
) -> npt.NDArray[np.float64]:
    """Return the changes of :func:`trends` for an array of throughput.

    Parameters
    ----------
    ends_s : ndarray, shape (n_intervals,)
    mbps : ndarray, shape (n_intervals, n_flows)
    from_s : float
    """
    count = mbps.shape[1]
    part = mbps[ends_s > from_s]
    if len(part) * _throughput.length_s(ends_s) < SHORTEST_S:
        return np.zeros(count)
    blocks = np.array([block.mean(axis=0) for block in np.array_split(part, _BLOCKS)])
    earlier, later = np.triu_indices(_BLOCKS, 1)
    differences = blocks[later] - blocks[earlier]
    changes = np.median(differences / (later - earlier)[:, None], axis=0) * _BLOCKS
    is_trend = np.abs(np.sign(differences).sum(axis=0)) >= _excess(count)
    is_large = np.abs(changes) > NEGLIGIBLE_CHANGE * float(part.mean(axis=0).mean())
    return np.where(is_trend & is_large, changes, 0.0)


@cache
def _excess(flows: int) -> int:
    """Return the excess of rising over falling pairs of blocks, of 28, that shows a trend.

    Examples
    --------
    >>> [_excess(flows) for flows in (1, 2, 3, 30, 1000)]
    [22, 22, 24, 26, 28]
    """
    # Orders of the blocks by their number of falling pairs (Mahonian numbers).
    orders = np.ones(1)
    for block in range(2, _BLOCKS + 1):
        orders = np.convolve(orders, np.ones(block))
    two_sided = 2 * np.cumsum(orders) / math.factorial(_BLOCKS)
    falling = max(0, int(np.searchsorted(two_sided, _ERROR / flows, side="right")) - 1)
    return len(orders) - 1 - 2 * falling
