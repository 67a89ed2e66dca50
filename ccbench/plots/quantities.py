# SPDX-License-Identifier: Apache-2.0
"""Quantities that plots show: over time, or as distributions of observations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import pandas as pd

from ccbench.run import packets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ccbench.run.run import Run

__all__ = ["OBSERVED_S", "QUANTITIES", "PlottedQuantity"]


@dataclass(frozen=True, kw_only=True)
class PlottedQuantity:
    """A quantity of flows or of bottlenecks.

    Attributes
    ----------
    name : str
    words : str
        Name with the unit, for axes.
    of : "flow" or "bottleneck"
    over_time : callable, optional
        Returns a DataFrame for a run and an interval in seconds: index time in seconds, a column
        for each flow or bottleneck.
    observations : callable, optional
        Returns a Series of single observations of a run, indexed by flow or bottleneck. Default:
        the values over time.
    adds_up : bool
        Whether the value of a group is the sum over its flows; otherwise it is their mean.
    """

    name: str
    words: str
    observations: Callable[[Run], pd.Series[float]] | None = None
    over_time: Callable[[Run, float], pd.DataFrame] | None = None
    of: Literal["flow", "bottleneck"] = "flow"
    adds_up: bool = False


#: Interval of the observations of rates in seconds.
OBSERVED_S = 0.1


def _long(table: pd.DataFrame) -> pd.Series[float]:
    """Return the values of all columns, indexed by column."""
    stacked = table.melt(var_name="of", value_name="value").dropna()
    return stacked.set_index("of")["value"]


def _rate(name: str, run: Run, interval_s: float) -> pd.DataFrame:
    """Return rates from each flow's start on."""
    rates: pd.DataFrame = getattr(run, name)(interval_s)
    return rates.where(rates.index.to_numpy()[:, None] > run.scenario.starts_s())


def _sampled(column: str, scale: float, run: Run, interval_s: float) -> pd.DataFrame:
    samples = run.samples(column).astype(float) * scale
    step = max(1, round(interval_s * 1e3 / run.scenario.sample_interval_ms))
    return samples.iloc[::step]


def _samples(column: str, scale: float, run: Run) -> pd.Series[float]:
    return _long(_sampled(column, scale, run, 0))


def _of_packets(column: str, run: Run) -> pd.Series[float]:
    return packets.delivered(run).set_index("flow")[column]


def _packets_over_time(column: str, run: Run, interval_s: float) -> pd.DataFrame:
    rows = packets.delivered(run)
    middle_s = (rows["arrival_s"] // interval_s + 0.5) * interval_s
    rows = rows.assign(time_s=middle_s)
    return rows.pivot_table(index="time_s", columns="flow", values=column, aggfunc="mean")


def _queue(run: Run, interval_s: float) -> pd.DataFrame:
    links = range(len(run.scenario.path.links))
    return pd.DataFrame({i: run.occupancy(interval_s, i) for i in links})


def _queue_samples(run: Run) -> pd.Series[float]:
    return _long(_queue(run, run.scenario.sample_interval_ms / 1e3))


def _waits(run: Run) -> pd.Series[float]:
    links = range(len(run.scenario.path.links))
    of_links = {i: pd.Series(packets.waits_ns(run, i) / 1e6) for i in links}
    return pd.concat(of_links).droplevel(1)


def _fct(run: Run) -> pd.Series[float]:
    return run.completion_times()["fct_s"].dropna()


def _table(*quantities: PlottedQuantity) -> Mapping[str, PlottedQuantity]:
    return MappingProxyType({quantity.name: quantity for quantity in quantities})


#: Quantities by name.
#:
#: :meta hide-value:
QUANTITIES: Mapping[str, PlottedQuantity] = _table(
    *(
        PlottedQuantity(
            name=name,
            words=f"{name} (Mbit/s)",
            over_time=partial(_rate, name),
            adds_up=True,
        )
        for name in ("throughput", "goodput")
    ),
    *(
        PlottedQuantity(
            name=name,
            words=words,
            over_time=partial(_sampled, column, scale),
            observations=partial(_samples, column, scale),
        )
        for name, words, column, scale in (
            ("srtt", "smoothed RTT (ms)", "srtt_us", 1e-3),
            ("cwnd", "congestion window (packets)", "cwnd_packets", 1.0),
            ("inflight", "packets in flight", "inflight_packets", 1.0),
            ("pacing_rate", "pacing rate (Mbit/s)", "pacing_rate_bps", 1e-6),
        )
    ),
    *(
        PlottedQuantity(
            name=name,
            words=words,
            over_time=partial(_packets_over_time, column),
            observations=partial(_of_packets, column),
        )
        for name, words, column in (
            ("one_way_delay", "one-way delay (ms)", "one_way_ms"),
            ("queueing_delay", "queueing delay (ms)", "queueing_ms"),
        )
    ),
    PlottedQuantity(
        name="queue_length",
        words="queue (packets)",
        of="bottleneck",
        over_time=_queue,
        observations=_queue_samples,
    ),
    PlottedQuantity(
        name="sojourn_time",
        words="time in the queue (ms)",
        of="bottleneck",
        observations=_waits,
    ),
    PlottedQuantity(name="fct", words="flow completion time (s)", observations=_fct),
)
