# SPDX-License-Identifier: Apache-2.0
"""Other convergence detectors, to compare Algorithm 1 with (Ware section 5.3.3).

Each is a function of the throughput alone, ``Run.throughput(1.0)``, and returns a time in seconds
for each flow, NaN for one that has not converged. :func:`~ccbench.harm.convergence.latest` makes
one time of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ccbench.base import validation
from ccbench.base.validation import Range
from ccbench.harm.convergence import _throughput

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
    """Take it that all flows have converged after a fixed time.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.
    seconds : float
        What is ignored.

    Returns
    -------
    Series
        `seconds` for each flow; NaN if the trace ends by then.

    Raises
    ------
    InputError
        `seconds` is negative, or as in :meth:`~ccbench.harm.convergence.Convergence.of`.

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
    """Apply the rule of PCC Vivace: near the fair share for a while (Dong et al., NSDI 2018, 4.1).

    A flow has converged at the earliest time from which on its rate stays within `tolerance` of its
    ideal fair share for `hold_s`. The rule looks no further: what comes later does not matter. The
    ideal share is an equal part of what all flows get together, on average from the entry of the
    last flow on; before that no flow can have converged.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.
    tolerance : float
        As a fraction of the fair share, 0 to 1.
    hold_s : float
        Seconds, above 0.

    Returns
    -------
    Series
        Seconds; NaN for a flow that is never near its share for so long.

    Raises
    ------
    InputError
        A setting is out of range, or as in :meth:`~ccbench.harm.convergence.Convergence.of`.

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
    everybody_s = float(_throughput.entries_s(throughput).max(skipna=False))
    together = throughput[throughput.index > everybody_s]
    # NaN if a flow never enters: then nothing is near it.
    share_mbps = float(together.mean().mean())
    near = (together - share_mbps).abs() <= tolerance * share_mbps
    held = near.rolling(rows).sum() == rows
    begins_s = held.apply(lambda flow: held.index[flow.argmax()] if flow.any() else math.nan)
    return _throughput.by_flow(throughput, begins_s.to_numpy() - rows * interval_s)


def near_fixed_point(
    throughput: pd.DataFrame, *, alpha: float = 0.9, remaining_s: float = 60.0
) -> pd.Series[float]:
    """Apply Axiomatizing's alpha-convergence to throughput (Zarchy et al., Metric IV).

    A flow has converged at the earliest time T for which there is a fixed point x with
    ``alpha x <= throughput <= (2 - alpha) x`` ever after. No x is chosen: there is one just when
    the largest value after T is at most ``(2 - alpha) / alpha`` times the smallest. That is as
    generous as the definition allows; an x fixed beforehand, such as the mean, could only fail more
    often.

    The definition is about endless flows. In a trace that ends, its last values always lie near
    some point, hence `remaining_s`.

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.
    alpha : float
        0 to 1, not included. 0.9, within 10 %, is the authors' own example.
    remaining_s : float
        Shortest rest of the trace that counts as "ever after", in seconds. 60 is what Algorithm 1
        leaves.

    Returns
    -------
    Series
        Seconds; NaN for a flow that has not converged `remaining_s` before the end.

    Raises
    ------
    InputError
        A setting is out of range, or as in :meth:`~ccbench.harm.convergence.Convergence.of`.

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
    begins_s = throughput.index[-1] - near.sum() * interval_s
    latest_s = throughput.index[-1] - remaining_s
    return _throughput.by_flow(throughput, begins_s.where(begins_s <= latest_s).to_numpy())


def distance_from_later_mean(throughput: pd.DataFrame) -> pd.DataFrame:
    """Return the distance of each value from the mean of all later values (Figure 5.5b).

    Parameters
    ----------
    throughput : DataFrame
        Mbit/s, one column per flow, indexed by the end of each interval in seconds.

    Returns
    -------
    DataFrame
        Fractions of that mean, 0 or more, for all intervals but the last, which none follows. NaN
        where the mean is 0.

    Raises
    ------
    InputError
        As :meth:`~ccbench.harm.convergence.Convergence.of`.

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
