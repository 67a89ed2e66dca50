# SPDX-License-Identifier: Apache-2.0
"""Running totals of flows, as rates over intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

__all__ = ["rates_mbps"]


def rates_mbps(  # noqa: PLR0913 - lengths of time, all by keyword
    samples: pd.DataFrame,
    total: str,
    *,
    flow_count: int,
    sample_ns: int,
    interval_ns: int,
    duration_ns: int,
) -> npt.NDArray[np.float64]:
    """Return the growth of a running total of bytes per interval in Mbit/s.

    Parameters
    ----------
    samples : DataFrame
        ``flows`` of a :class:`~ccbench.run.run.Run`.
    total : str
        The column.
    flow_count : int
        How many flows there are; one may have no samples.
    sample_ns, interval_ns, duration_ns : int
        From sample to sample, the intervals (a multiple of that), and the run's length.

    Returns
    -------
    ndarray, shape (intervals, flow_count)
        Of whole intervals.

    Examples
    --------
    10 Mbit in the first second, and nothing in the second:

    >>> import pandas as pd
    >>> samples = pd.DataFrame({"time_ns": [10**9], "flow": [0], "bytes": [1_250_000]})
    >>> lengths = {"sample_ns": 10**9, "interval_ns": 10**9, "duration_ns": 2 * 10**9}
    >>> rates_mbps(samples, "bytes", flow_count=1, **lengths).tolist()
    [[10.0], [0.0]]
    """
    intervals = duration_ns // interval_ns
    # A sample may be taken a little after the multiple that it stands for; one between two
    # multiples (a flow's last, say) counts for the later one.
    time_ns = samples["time_ns"].to_numpy() - sample_ns // 10
    sample = -(-time_ns // sample_ns)
    # Those at multiples 1 to k end or lie in the first interval, and so on.
    interval = (sample - 1) // (interval_ns // sample_ns)
    inside = (sample > 0) & (interval < intervals)
    totals = np.zeros((intervals, flow_count), dtype=np.uint64)
    cell = interval * flow_count + samples["flow"].to_numpy()
    np.maximum.at(totals.reshape(-1), cell[inside], samples[total].to_numpy()[inside])
    np.maximum.accumulate(totals, axis=0, out=totals)  # where a flow has no sample, it stood
    return np.diff(totals, axis=0, prepend=np.uint64(0)) * (8e3 / interval_ns)
