# SPDX-License-Identifier: Apache-2.0
"""Checks and times of the throughput tables that ``Run.throughput()`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pandas as pd

__all__ = ["arrays", "by_flow", "check", "entries_s", "interval_s", "length_s"]


def check(throughput: pd.DataFrame) -> None:
    """Check that a table contains measurements of flows over intervals of equal length.

    Raises
    ------
    InputError
        If `throughput` is not a DataFrame, has no flows or no intervals, or its intervals differ,
        or a value is not finite.
    """
    import pandas as pd  # noqa: PLC0415 - not needed for arrays

    table: object = throughput  # users may pass an array
    if not isinstance(table, pd.DataFrame):
        allowed = "a DataFrame: Mbit/s, a column for each flow, indexed by seconds"
        step = "use Run.throughput(), or pandas.DataFrame({'flow': mbps}, index=time_s)"
        raise validation.bad("throughput", table, allowed, step)
    if 0 in throughput.shape:
        allowed = "at least 1 interval of at least 1 flow"
        raise validation.bad("throughput.shape", throughput.shape, allowed, "run for longer")
    each_s = interval_s(throughput)
    uneven = ~np.isclose(np.diff(throughput.index.to_numpy(dtype=np.float64)), each_s)
    if each_s <= 0 or uneven.any():
        row = int(np.argmax(uneven)) + 1 if uneven.any() else 0
        allowed = "the end in seconds of one of several intervals of equal length"
        field = f"throughput.index[{row}]"
        raise validation.bad(field, float(throughput.index[row]), allowed, "use Run.throughput()")
    for flow in throughput.columns:
        finite = np.isfinite(throughput[flow].to_numpy(dtype=np.float64))
        if not finite.all():
            row = int(np.argmin(finite))
            field = f"throughput of flow {flow} at {throughput.index[row]:g} s"
            raise validation.bad(
                field, float(throughput[flow].iloc[row]), "finite", "check the run"
            )


def interval_s(throughput: pd.DataFrame) -> float:
    """Return the length of the intervals in seconds.

    Examples
    --------
    >>> import pandas as pd
    >>> interval_s(pd.DataFrame({0: [7.0, 8.0]}, index=[60.5, 61.0]))
    0.5
    """
    return length_s(throughput.index.to_numpy(dtype=np.float64))


def length_s(ends_s: npt.NDArray[np.float64]) -> float:
    """Return the length of intervals with these ends in seconds."""
    return float(ends_s[1] - ends_s[0] if len(ends_s) > 1 else ends_s[0])


def arrays(throughput: pd.DataFrame) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the ends of the intervals in seconds, and the throughput of each flow in each."""
    return throughput.index.to_numpy(dtype=np.float64), throughput.to_numpy(dtype=np.float64)


def entries_s(throughput: pd.DataFrame) -> pd.Series[float]:
    """Return the time of each flow's first throughput in seconds; NaN without throughput.

    Examples
    --------
    >>> import pandas as pd
    >>> entries_s(pd.DataFrame({0: [7.0, 8.0], 1: [0.0, 8.0]}, index=[1.0, 2.0])).tolist()
    [0.0, 1.0]
    """
    sends = throughput.to_numpy(dtype=np.float64) > 0
    starts_s = throughput.index.to_numpy(dtype=np.float64) - interval_s(throughput)
    first_s = starts_s[sends.argmax(axis=0)]
    return by_flow(throughput, np.where(sends.any(axis=0), first_s, np.nan))


def by_flow(
    throughput: pd.DataFrame, times_s: Sequence[float] | npt.NDArray[np.float64]
) -> pd.Series[float]:
    """Return one time per flow as a Series with the table's flows as its index."""
    import pandas as pd  # noqa: PLC0415 - likewise

    return pd.Series(times_s, throughput.columns.rename("flow"), dtype="float64")
