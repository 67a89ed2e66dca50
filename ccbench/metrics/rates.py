# SPDX-License-Identifier: Apache-2.0
"""Rates of flows, how they vary, and how flows share a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from ccbench.base import validation
from ccbench.metrics._metric import Metric, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ENTRIES", "jain_index"]

#: Length of an interval in which a flow is starved if it gets almost nothing, in seconds.
STARVED_S = 5.0

#: Interval of the variation of throughput, in seconds.
VARIATION_S = 1.0


def jain_index(x: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """Return Jain's fairness index of the flows' allocations ``x``, shape (n_flows,).

    Returns
    -------
    float
        From 1/n (one flow has everything) to 1 (all equal).

    Raises
    ------
    InputError
        If `x` is empty, is all zero, or contains a missing, negative or infinite value.

    Examples
    --------
    >>> round(jain_index([10.0, 90.0]), 2)
    0.61
    """
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise validation.bad("x", x, "one or more finite numbers of at least 0", "check the run")
    peak = values.max()
    if peak == 0:
        raise validation.bad("x", x, "above 0 somewhere", "check why no flow achieved anything")
    scaled = values / peak  # avoids overflow and underflow of the squares
    return float(scaled.sum() ** 2 / (scaled.size * np.square(scaled).sum()))


def _rate(column: str) -> Callable[[Part], pd.Series[float]]:
    def of(part: Part) -> pd.Series[float]:
        from_s, to_s = part.active_s
        # The total of a completed flow is constant, and only a sample after its end is final.
        end_ns, until_s = part.run.completions["end_ns"].to_numpy(), part.window[1]
        end_s = np.where((end_ns >= 0) & (end_ns <= until_s * 1e9), until_s, to_s)
        growth = part.total_at(column, end_s) - part.total_at(column, from_s)
        lasted_s = np.where(to_s > from_s, to_s - from_s, np.nan)
        return pd.Series(growth * 8e-6 / lasted_s)

    return of


_throughput = _rate("throughput_bytes")


def _share(part: Part) -> pd.Series[float]:
    throughput = _throughput(part)
    groups = part.flow_table["group"]
    is_sized = part.flow_table["kind"] == "bytes"
    of_group = throughput.groupby(groups).transform(lambda values: values.sum(skipna=False))
    size = groups.groupby(groups).transform("size")
    total = (of_group.where(~is_sized, of_group / size) / size).sum(skipna=False)
    return throughput / (total or np.nan)


def _jain(part: Part) -> pd.Series[float]:
    index = jain_index(np.asarray(_throughput(part), dtype=np.float64))
    return pd.Series([index], pd.Index([""]))


def _utilisation(part: Part) -> pd.Series[float]:
    links = len(part.run.scenario.path.links)
    names = [str(i) for i in range(links)] if links > 1 else [""]
    return pd.Series([part.run.utilisation(i) for i in range(links)], names)


def _intervals(part: Part, interval_s: float) -> pd.DataFrame:
    """Return each flow's throughput in intervals within its active time; NaN in others."""
    rates = part.run.throughput(interval_s)
    ends_s = rates.index.to_numpy()[:, None]
    from_s, to_s = part.active_s
    tolerance_s = part.run.scenario.sample_interval_ms / 2e3
    is_active = (ends_s - interval_s >= from_s - tolerance_s) & (ends_s <= to_s + tolerance_s)
    return rates.where(is_active)


def _lowest(part: Part) -> pd.Series[float]:
    interval_s = part.run.scenario.sample_interval_ms / 1e3
    steps = max(1, round(STARVED_S / interval_s))
    return _intervals(part, interval_s).rolling(steps).mean().min()


def _stall(part: Part) -> pd.Series[float]:
    interval_s = part.run.scenario.sample_interval_ms / 1e3
    is_idle = _intervals(part, interval_s) == 0
    busy_before = (~is_idle).cumsum()
    longest = {flow: int(is_idle[flow].groupby(busy_before[flow]).sum().max()) for flow in is_idle}
    return pd.Series(longest) * interval_s


def _variation(part: Part) -> pd.Series[float]:
    rates = _intervals(part, VARIATION_S)
    mean = rates.mean()
    return rates.std(ddof=0) / mean.where(mean > 0)


ENTRIES = (
    Metric(
        name="throughput",
        quantity="throughput",
        definition="IP bytes that leave the last bottleneck, while the flow is active",
        unit="Mbit/s",
        of=_throughput,
        is_shared=True,
        less_is_better=False,
    ),
    Metric(
        name="goodput",
        quantity="goodput",
        definition="payload delivered to the receiving application, while the flow is active",
        unit="Mbit/s",
        of=_rate("delivered_bytes"),
        is_shared=True,
        less_is_better=False,
    ),
    Metric(
        name="share",
        quantity="share of the throughput",
        definition="throughput as a share of the sum over all groups of flows",
        of=_share,
        is_shared=True,
        is_fraction=True,
        less_is_better=None,
        limits=(0.0, 1.0),
    ),
    Metric(
        name="lowest_throughput",
        quantity="lowest throughput over 5 s",
        definition="lowest throughput in any 5 s of the flow's active time, of several flows that "
        "of the worst; 0 is starvation (RFC 9743, section 5.2.1)",
        unit="Mbit/s",
        of=_lowest,
        statistic=lambda values: float(values.min(skipna=False)),
        less_is_better=False,
    ),
    Metric(
        name="stall",
        quantity="longest stall",
        definition="longest time of samples in a row in which nothing of an active flow leaves the "
        "last bottleneck, of several flows that of the worst",
        unit="s",
        of=_stall,
        statistic=lambda values: float(values.max(skipna=False)),
    ),
    Metric(
        name="throughput_variation",
        quantity="coefficient of variation of the throughput",
        definition="standard deviation of the throughput per second over its mean (smoothness of "
        "RFC 5166, section 2.5)",
        of=_variation,
    ),
    Metric(
        name="jain",
        quantity="Jain's index",
        definition="Jain's fairness index of the throughputs of all single flows",
        scope="run",
        of=_jain,
        less_is_better=False,
        limits=(0.0, 1.0),
    ),
    Metric(
        name="utilisation",
        quantity="utilisation",
        definition="IP bytes that a link has carried, as a share of its capacity in the whole run",
        scope="bottleneck",
        of=_utilisation,
        is_fraction=True,
        less_is_better=False,
        limits=(0.0, 1.0),
    ),
)
