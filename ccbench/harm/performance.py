# SPDX-License-Identifier: Apache-2.0
"""Performance metrics of flows, from which harm is computed (Ware section 4.3).

A metric consists of a unit, whether less is better, and a function from a run to one value for each
flow. A missing value, such as the completion time of a flow that did not complete, is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.harm._pairs import check_samples, sides
from ccbench.run import packets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt

    from ccbench.experiment.flow import Flow
    from ccbench.run.run import Run

__all__ = [
    "METRICS",
    "Metric",
    "Part",
    "Window",
    "achieved",
    "downloaded",
    "metrics_named",
    "recovery_s",
]

#: Start and end of a part of a run in seconds.
Window: TypeAlias = tuple[float, float]

#: Times of flows in seconds, or other numbers of each.
Times: TypeAlias = "npt.NDArray[np.float64]"

#: Tolerance of quotients that should be whole numbers.
_ROUNDING = 1e-6

#: Download time of a short flow in seconds, as in HarmGen (ACM SIGCOMM 2026).
DOWNLOAD_S = 10.0


class Part:
    """A part of a run, with cached values for several metrics.

    Parameters
    ----------
    run : Run
    window : (float, float)
        The part in seconds.
    """

    def __init__(self, run: Run, window: Window) -> None:
        self.run = run
        self.window = window

    @cached_property
    def active_s(self) -> tuple[Times, Times]:
        """Start and end of each flow's active time in the window; none if the end is earlier."""
        scenario = self.run.scenario
        stops_s = np.array([flow.stop_s or scenario.duration_s for flow in scenario.paths])
        end_ns = self.run.completions["end_ns"].to_numpy()
        to_s = np.where(end_ns >= 0, end_ns / 1e9, stops_s[scenario.path_numbers()])
        from_s, end_s = self.window
        return np.maximum(scenario.starts_s(), from_s), np.minimum(to_s, end_s)

    @cached_property
    def delivered(self) -> pd.DataFrame:
        """Packets that arrived at their first queue in the window, as `packets.delivered`."""
        all_packets = packets.delivered(self.run)
        within: pd.DataFrame = all_packets[all_packets["arrival_s"].between(*self.window)]
        return within

    def total_at(self, column: str, time_s: Times) -> Times:
        """Return the latest sample of a running total at a time given for each flow."""
        samples = self.run.flows
        flow, time_ns = samples["flow"].to_numpy(), samples["time_ns"].to_numpy()
        # A sample may be slightly later than its nominal multiple of the interval.
        late_ns = self.run.scenario.sample_interval_ms * 1e5
        by_then = time_ns <= (time_s * 1e9 + late_ns)[flow]
        totals = np.zeros(len(time_s))
        # Samples are in order of time, and the last value assigned to a flow remains.
        totals[flow[by_then]] = samples[column].to_numpy()[by_then]
        return totals


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A performance metric of flows.

    Attributes
    ----------
    name : str
    unit : str
        Unit; empty for a share.
    less_is_better : bool
        Whether less is better, as for delay.
    needs_queue_log : bool
        Whether the metric requires a record of every packet.
    shared : bool
        Whether the metric is a share of the link's capacity: the value of concurrent flows is then
        their sum, and equal sharing is defined. Otherwise the value of a group is the mean.
    kinds : tuple of str
        Kinds of flows for which the metric exists; empty: all kinds.
    of : callable
        Returns a Series with one value for each flow of a :class:`Part` of a run.
    at_least : callable, optional
        Like `of`, with a lower bound if a flow has no value because the run has ended.
    """

    name: str
    unit: str
    of: Callable[[Part], pd.Series[float]]
    less_is_better: bool = True
    needs_queue_log: bool = True
    shared: bool = False
    kinds: tuple[str, ...] = ()
    at_least: Callable[[Part], pd.Series[float]] | None = None

    def of_group(self, flow: Flow, values: pd.Series[float]) -> float:
        """Return the value of a group of flows: NaN if one of them has none.

        Flows of a given size have the mean of a shared metric, because they are not concurrent: the
        sum of their rates would exceed the rate of the link.
        """
        are_concurrent = self.shared and flow.kind != "bytes"
        return float(values.sum(skipna=False) if are_concurrent else values.mean(skipna=False))

    def exists_for(self, flow: Flow) -> bool:
        """Return whether the metric exists for a kind of flows."""
        return not self.kinds or flow.kind in self.kinds


def achieved(run: Run, metrics: Iterable[Metric], window: Window | None = None) -> pd.DataFrame:
    """Return the performance of each flow.

    Parameters
    ----------
    run : Run
    metrics : iterable of Metric
    window : (float, float), optional
        Part of the run in seconds, with multiples of the scenario's `sample_interval_ms`. Default:
        the whole run. Each flow counts while it is active, from its start to its completion or
        stop. Completion times and downloads ignore the window.

    Returns
    -------
    DataFrame
        Index ``flow``; a column for each metric. NaN if a flow has no value, because it was not
        active in the window, had no packets in it, or did not complete.

    Raises
    ------
    InputError
        If the window is invalid, or a metric needs a queue log that the run lacks.

    Examples
    --------
    >>> achieved(run, metrics_named(["throughput", "delay_p95"]))  # doctest: +SKIP
    """
    window = (0.0, run.scenario.duration_s) if window is None else window
    if not 0 <= window[0] < window[1] <= run.scenario.duration_s:
        allowed = f"two times from 0 to {run.scenario.duration_s:g}, the first below the second"
        raise validation.bad("window", window, allowed, "choose a part of the run")
    interval_s = run.scenario.sample_interval_ms / 1e3
    for time_s in window:
        samples = time_s / interval_s
        if time_s != run.scenario.duration_s and abs(samples - round(samples)) > _ROUNDING:
            allowed = f"multiples of the scenario's sample_interval_ms = {interval_s * 1e3:g}"
            raise validation.bad("window", window, allowed, f"for example {interval_s:g}")
    index = pd.RangeIndex(run.scenario.flow_count, name="flow")
    part = Part(run, window)
    return pd.DataFrame({m.name: m.of(part).reindex(index) for m in metrics}, index=index)


def recovery_s(
    solo: Run, competing: Run, *, since_s: float, share: float = 0.9, interval_s: float = 1.0
) -> float:
    """Return the time in which the flows of `solo` recover from a disturbance.

    Parameters
    ----------
    solo, competing : Run
        The same network without and with other flows, which start or stop at `since_s`.
    since_s : float
        Start of the disturbance in seconds.
    share : float
        Fraction of the solo throughput that counts as recovered, above 0 and at most 1.
    interval_s : float
        Interval of throughput in seconds.

    Returns
    -------
    float
        Seconds from `since_s` to the end of the first interval in which the flows' total throughput
        is at least `share` of that alone in the same interval. Infinite if there is none within the
        run.

    Raises
    ------
    InputError
        If the runs are not those of an experiment, a flow has no samples, `share` or `since_s` is
        out of range, or the flows transfer nothing alone after `since_s`.

    Examples
    --------
    >>> recovery_s(solo, competing, since_s=30)  # doctest: +SKIP
    """
    beta = sides(solo.scenario, competing.scenario).beta
    check_samples(solo, "solo run")
    check_samples(competing, "competing run")
    validation.number("share", share, validation.Range(0, 1, low_open=True), example=0.9)
    until_s = validation.Range(0, solo.scenario.duration_s, high_open=True)
    validation.number("since_s", since_s, until_s, example=30)
    alone = solo.throughput(interval_s).sum(axis=1)
    together = competing.throughput(interval_s).iloc[:, beta].sum(axis=1)
    later = alone.index > since_s + interval_s / 2
    if not (alone[later] > 0).any():
        allowed = "a time after which the flows send in the solo run"
        raise validation.bad("since_s", since_s, allowed, "choose an earlier time")
    recovered = together[later] >= share * alone[later].where(alone[later] > 0, np.inf)
    if not recovered.any():
        return float("inf")
    return float(recovered.index[int(recovered.argmax())]) - since_s


def metrics_named(names: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics of some names; ``all`` stands for all metrics.

    Raises
    ------
    InputError
        If a name is unknown. The message lists all names.

    Examples
    --------
    >>> [metric.unit for metric in metrics_named(["throughput", "fct"])]
    ['Mbit/s', 's']
    """
    chosen: dict[str, Metric] = {}
    for name in names:
        if name not in ("all", *METRICS):  # a tuple, because the name may be unhashable
            hint = validation.choice_hint(str(name), METRICS)
            raise InputError(f"metric = {name!r}: there are {', '.join(METRICS)}: {hint}")
        chosen.update(METRICS if name == "all" else {name: METRICS[name]})
    return tuple(chosen.values())


def downloaded(seconds: float) -> Metric:
    """Return the metric of the data received a given time after the start of a flow, in MB.

    NaN for a flow that neither runs for this time nor completes.

    Examples
    --------
    >>> downloaded(10).unit
    'MB'
    """

    def of(part: Part) -> pd.Series[float]:
        done = part.run.completions
        until_s = done["start_ns"].to_numpy() / 1e9 + seconds
        is_recorded = (until_s <= part.run.scenario.duration_s) | (done["end_ns"].to_numpy() >= 0)
        received_mb = part.total_at("delivered_bytes", until_s) / 1e6
        return pd.Series(np.where(is_recorded, received_mb, np.nan))

    return Metric(name="downloaded", unit="MB", of=of, less_is_better=False, needs_queue_log=False)


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


def _delay(column: str, quantile: float | None) -> Callable[[Part], pd.Series[float]]:
    def of(part: Part) -> pd.Series[float]:
        of_flows = part.delivered.groupby("flow")[column]
        return of_flows.mean() if quantile is None else of_flows.quantile(quantile)

    return of


def _jitter(part: Part) -> pd.Series[float]:
    flow = part.delivered["flow"]
    change = part.delivered.groupby(flow)["one_way_ms"].diff().abs()
    return change.groupby(flow).mean()


def _loss_rate(part: Part) -> pd.Series[float]:
    counts = packets.fates(part.run, *part.window).astype("float64")
    return counts["lost"].div(counts["sent"].where(counts["sent"] > 0))


def _fct(part: Part) -> pd.Series[float]:
    done = part.run.completions
    return ((done["end_ns"] - done["start_ns"]) / 1e9).where(done["end_ns"] >= 0)


def _fct_at_least(part: Part) -> pd.Series[float]:
    until_the_end = part.run.scenario.duration_s - part.run.scenario.flow_table()["start_s"]
    return _fct(part).fillna(until_the_end)


def _table(*metrics: Metric) -> Mapping[str, Metric]:
    return MappingProxyType({metric.name: metric for metric in metrics})


def _delays(prefix: str, column: str) -> list[Metric]:
    quantiles = {"": None, "_p95": 0.95, "_p99": 0.99}
    return [
        Metric(name=f"{prefix}{suffix}", unit="ms", of=_delay(column, quantile))
        for suffix, quantile in quantiles.items()
    ]


#: Metrics by name. Delays are means over packets, or quantiles; ``delay`` is the one-way delay and
#: ``queueing`` its part in queues. ``jitter`` is the mean absolute difference between the one-way
#: delays of a flow's consecutive packets (delay variation of RFC 3393). ``loss_rate`` is the share
#: of a flow's packets that were dropped by queues or lost at random. ``fct`` is the flow completion
#: time.
METRICS: Mapping[str, Metric] = _table(
    Metric(
        name="throughput",
        unit="Mbit/s",
        of=_rate("throughput_bytes"),
        less_is_better=False,
        needs_queue_log=False,
        shared=True,
    ),
    Metric(
        name="goodput",
        unit="Mbit/s",
        of=_rate("delivered_bytes"),
        less_is_better=False,
        needs_queue_log=False,
        shared=True,
    ),
    *_delays("delay", "one_way_ms"),
    *_delays("queueing", "queueing_ms"),
    Metric(name="jitter", unit="ms", of=_jitter),
    Metric(name="loss_rate", unit="", of=_loss_rate),
    Metric(
        name="fct",
        unit="s",
        of=_fct,
        needs_queue_log=False,
        kinds=("bytes",),
        at_least=_fct_at_least,
    ),
    downloaded(DOWNLOAD_S),
)
