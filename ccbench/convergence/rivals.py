# SPDX-License-Identifier: Apache-2.0
"""Other convergence detectors, for comparison with Algorithm 1 (Ware section 5.3.3).

Each is a function of the throughput, ``Run.throughput(1.0)``, and returns a time in seconds for
each flow, NaN without convergence. :func:`~ccbench.convergence.latest` combines these times.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ccbench.base import validation
from ccbench.base.validation import Range
from ccbench.convergence import _throughput

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "distance_from_later_mean",
    "near_fair_share",
    "near_fixed_point",
    "skipping",
]

FloatArray = npt.NDArray[np.float64]


def skipping(throughput: pd.DataFrame, seconds: float = 60.0) -> pd.Series[float]:
    """Assume convergence of all flows after a fixed time.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.
    seconds : float
        The time.

    Returns
    -------
    Series
        `seconds` for each flow; NaN if the trace is not longer.

    Raises
    ------
    InputError
        If `seconds` is negative, or as in :meth:`~ccbench.convergence.Convergence.of`.

    Examples
    --------
    >>> import pandas as pd
    >>> times_s = pd.Index([1.0, 2.0, 3.0], name="time_s")
    >>> skipping(pd.DataFrame({0: [5.0, 6.0, 6.0]}, times_s), seconds=1).tolist()
    [1.0]
    """
    _throughput.check(throughput)
    validation.number("seconds", seconds, Range(0), example=60)
    time_s = seconds if seconds < throughput.index[-1] else math.nan
    return _throughput.by_flow(throughput, [time_s] * throughput.shape[1])


def near_fair_share(
    throughput: pd.DataFrame, *, tolerance: float = 0.25, hold_s: float = 5.0
) -> pd.Series[float]:
    """Apply PCC Vivace's rule of staying near the fair share (Dong et al., NSDI 2018, 4.1).

    A flow has converged at the earliest time from which its rate stays within `tolerance` of its
    ideal fair share for `hold_s`, regardless of later rates. The ideal share is an equal share of
    the mean total throughput from the entry of the last flow, before which no flow can converge.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.
    tolerance : float
        Maximum deviation as a fraction of the fair share, 0 to 1.
    hold_s : float
        Required time in seconds, above 0.

    Returns
    -------
    Series
        Seconds; NaN for a flow that never stays near its share for `hold_s`.

    Raises
    ------
    InputError
        If a setting is out of range, or as in :meth:`~ccbench.convergence.Convergence.of`.

    Examples
    --------
    >>> import pandas as pd
    >>> times_s = pd.Index(np.arange(1.0, 11.0), name="time_s")
    >>> flows = pd.DataFrame({0: [9.0] * 3 + [5.0] * 7, 1: [1.0] * 3 + [5.0] * 7}, times_s)
    >>> near_fair_share(flows).tolist()
    [3.0, 3.0]
    """
    _throughput.check(throughput)
    validation.number("tolerance", tolerance, Range(0, 1), example=0.25)
    validation.number("hold_s", hold_s, Range(0, low_open=True), example=5)
    interval_s = _throughput.interval_s(throughput)
    rows = max(1, round(hold_s / interval_s))
    last_entry_s = float(_throughput.entries_s(throughput).max(skipna=False))
    together = throughput[throughput.index > last_entry_s]
    # NaN if a flow never enters; then no flow converges.
    share_mbps = float(together.mean().mean())
    near = (together - share_mbps).abs() <= tolerance * share_mbps
    held = near.rolling(rows).sum() == rows
    held_s = held.apply(lambda flow: held.index[flow.argmax()] if flow.any() else math.nan)
    return _throughput.by_flow(throughput, held_s.to_numpy() - rows * interval_s)


def near_fixed_point(
    throughput: pd.DataFrame, *, alpha: float = 0.9, remaining_s: float = 60.0
) -> pd.Series[float]:
    """Apply Axiomatizing's alpha-convergence to throughput (Zarchy et al., Metric IV).

    A flow has converged at the earliest time T for which there is a fixed point x such that
    ``alpha x <= throughput <= (2 - alpha) x`` at all later times. Such an x exists if and only if
    the largest value after T is at most ``(2 - alpha) / alpha`` times the smallest. This is the
    most generous interpretation of the definition: a fixed x, such as the mean, can only fail more
    often.

    The definition applies to unlimited flows. In a finite trace, the last values are always near
    some point; `remaining_s` excludes this.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.
    alpha : float
        Above 0 and below 1. The authors' example is 0.9 (within 10 %).
    remaining_s : float
        Minimum length of the trace after convergence, in seconds. 60 is that of Algorithm 1.

    Returns
    -------
    Series
        Seconds; NaN for a flow that has not converged `remaining_s` before the end.

    Raises
    ------
    InputError
        If a setting is out of range, or as in :meth:`~ccbench.convergence.Convergence.of`.

    Examples
    --------
    >>> import pandas as pd
    >>> times_s = pd.Index(np.arange(1.0, 101.0), name="time_s")
    >>> flow = np.where(times_s <= 20, 5.0, 10.0 + times_s % 2)
    >>> near_fixed_point(pd.DataFrame({0: flow}, times_s)).tolist()
    [20.0]
    """
    _throughput.check(throughput)
    number = validation.number
    number("alpha", alpha, Range(0, 1, low_open=True, high_open=True), example=0.9)
    number("remaining_s", remaining_s, Range(0), example=60)
    interval_s = _throughput.interval_s(throughput)
    later = throughput[::-1]
    near = later.cummax() <= (2 - alpha) / alpha * later.cummin()  # true from the end back to T
    starts_s = throughput.index[-1] - near.sum() * interval_s
    latest_s = throughput.index[-1] - remaining_s
    return _throughput.by_flow(throughput, starts_s.where(starts_s <= latest_s).to_numpy())


def distance_from_later_mean(throughput: pd.DataFrame) -> pd.DataFrame:
    """Return the distance of each value from the mean of all later values (Figure 5.5b).

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.

    Returns
    -------
    DataFrame
        Distances as fractions of that mean, for all intervals except the last. NaN if the mean is
        0.

    Raises
    ------
    InputError
        As :meth:`~ccbench.convergence.Convergence.of`.

    Examples
    --------
    >>> import pandas as pd
    >>> times_s = pd.Index([1.0, 2.0, 3.0], name="time_s")
    >>> distance_from_later_mean(pd.DataFrame({0: [5.0, 8.0, 12.0]}, times_s))[0].round(2).tolist()
    [0.5, 0.33]
    """
    _throughput.check(throughput)
    later = throughput[::-1].expanding().mean()[::-1].shift(-1).iloc[:-1]
    return (throughput.iloc[:-1] - later).abs() / later.where(later > 0)
