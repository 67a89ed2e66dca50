# SPDX-License-Identifier: Apache-2.0
"""The descriptor of a metric, and the part of a run over which it is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ccbench.base import validation
from ccbench.metrics._statistics import STATISTICS
from ccbench.run import packets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy.typing as npt
    import pandas as pd

    from ccbench.experiment.flow import Flow
    from ccbench.run.run import Run

__all__ = ["Metric", "Part", "Scope", "Times", "Window", "mean", "quantile"]

#: Start and end of a part of a run in seconds.
Window: TypeAlias = tuple[float, float]

#: Times of flows in seconds, or other numbers of each.
Times: TypeAlias = "npt.NDArray[np.float64]"

#: Objects of which each has a value: the single flows; the queue of each bottleneck, and those
#: within it if its qdisc has several; or the run.
Scope: TypeAlias = Literal["flow", "bottleneck", "queue", "run"]

#: Tolerance of quotients that should be whole numbers.
_ROUNDING = 1e-6


class Part:
    """A part of a run, with values that several metrics need.

    Parameters
    ----------
    run : Run
    window : (float, float), optional
        The part in seconds, with multiples of the scenario's `sample_interval_ms`. Default: the
        whole run.

    Raises
    ------
    InputError
        If the window is not a part of the run.

    Examples
    --------
    >>> Part(run, (10, 60)).active_s  # doctest: +SKIP
    """

    def __init__(self, run: Run, window: Window | None = None) -> None:
        end_s = run.scenario.duration_s
        window = (0.0, end_s) if window is None else window
        if not 0 <= window[0] < window[1] <= end_s:
            allowed = f"two times from 0 to {end_s:g}, the first below the second"
            raise validation.bad("window", window, allowed, "choose a part of the run")
        interval_s = run.scenario.sample_interval_ms / 1e3
        for time_s in window:
            samples = time_s / interval_s
            if time_s != end_s and abs(samples - round(samples)) > _ROUNDING:
                allowed = f"multiples of the scenario's sample_interval_ms = {interval_s * 1e3:g}"
                raise validation.bad("window", window, allowed, f"for example {interval_s:g}")
        self.run = run
        self.window = window

    @property
    def is_whole(self) -> bool:
        """Whether the part is the whole run."""
        return self.window == (0.0, self.run.scenario.duration_s)

    @cached_property
    def active_s(self) -> tuple[Times, Times]:
        """Start and end of each flow's active time in the window; none if the end is earlier."""
        scenario = self.run.scenario
        stops_s = np.array([flow.stop_s or scenario.duration_s for flow in scenario.split_flows])
        end_ns = self.run.completions["end_ns"].to_numpy()
        to_s = np.where(end_ns >= 0, end_ns / 1e9, stops_s[scenario.split_numbers()])
        from_s, end_s = self.window
        return np.maximum(scenario.starts_s(), from_s), np.minimum(to_s, end_s)

    @cached_property
    def delivered(self) -> pd.DataFrame:
        """Packets that arrived at their first queue in the window, as `packets.delivered`."""
        all_packets = packets.delivered(self.run)
        within: pd.DataFrame = all_packets[all_packets["arrival_s"].between(*self.window)]
        return within

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Samples of flows in the window."""
        samples = self.run.flows
        from_ns, to_ns = (time_s * 1e9 for time_s in self.window)
        within: pd.DataFrame = samples[samples["time_ns"].between(from_ns, to_ns, "right")]
        return within

    @cached_property
    def flow_table(self) -> pd.DataFrame:
        """The flows of the run, as :meth:`Scenario.flow_table`."""
        return self.run.scenario.flow_table()

    @cached_property
    def fates(self) -> pd.DataFrame:
        """Sent, lost and marked packets of each flow in the window, as `packets.fates`."""
        return packets.fates(self.run, *self.window)

    @cached_property
    def completion_times(self) -> pd.DataFrame:
        """Completion times of the whole run's transfers, as :meth:`Run.completion_times`."""
        return self.run.completion_times()

    @cached_property
    def sojourn_ms(self) -> Callable[[int, str | None], Mapping[float, float]]:
        """The waiting times in a queue that shares of the packets did not exceed, by share."""
        shares = [each.share for each in STATISTICS if each.share is not None]

        @cache
        def of(bottleneck: int, queue: str | None) -> Mapping[float, float]:
            percentiles = [100 * share for share in shares]
            times_ms = self.run.queueing_delay_percentiles_ms(percentiles, bottleneck, queue)
            return dict(zip(shares, map(float, times_ms), strict=True))

        return of

    @cached_property
    def occupancy(self) -> Callable[[int, str | None], pd.Series[float]]:
        """The share of the time at each queue length, :meth:`Run.occupancy_distribution`."""
        return cache(self.run.occupancy_distribution)

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

    def growth(self, column: str) -> Times:
        """Return the growth of each flow's running total in the window."""
        from_s, to_s = (np.full(self.run.scenario.flow_count, time_s) for time_s in self.window)
        return self.total_at(column, to_s) - self.total_at(column, from_s)


def mean(values: pd.Series[float]) -> float:
    """Return the mean; NaN if a value is missing."""
    return float(values.mean(skipna=False))


def quantile(share: float) -> Callable[[pd.Series[float]], float]:
    """Return a quantile in which missing values count as larger than all others.

    Examples
    --------
    One of four transfers did not finish. Their median is known, their maximum is not:

    >>> import pandas as pd
    >>> times_s = pd.Series([1.0, 2.0, np.nan, 3.0])
    >>> quantile(0.5)(times_s), quantile(1)(times_s)
    (2.5, nan)
    """

    def of(values: pd.Series[float]) -> float:
        if not len(values):
            return math.nan
        ordered = np.sort(values.fillna(np.inf))
        position = share * (len(ordered) - 1)
        low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
        if not math.isfinite(high):
            return math.nan
        return float(low + (position - math.floor(position)) * (high - low))

    return of


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A quantity of runs.

    Attributes
    ----------
    name : str
    quantity : str
        Its name in words, for headings and axes.
    definition : str
        What it is, in a sentence, with the source of its formula.
    unit : str
        Unit; empty for a share or an index.
    scope : "flow", "bottleneck", "queue" or "run"
        Objects of which each has a value.
    needs_solo : bool
        Whether the metric compares two runs: `of` then takes the run of some flows alone, and that
        with others.
    of : callable
        Returns a Series for a :class:`Part` of a run. Scope ``flow``: zero or more observations of
        each flow, by its number; a missing one is NaN, such as the completion time of a flow that
        did not complete. Other scopes: one value for each object, by its name, which is empty if
        there is only one.
    statistic : callable
        Returns the value of a flow or of several from their observations.
    is_shared : bool
        Whether the metric is a share of the link's capacity: the value of concurrent flows is then
        their sum, and equal sharing is defined.
    is_fraction : bool
        Whether it is a part of a whole, which reports show in percent.
    less_is_better : bool, optional
        Whether less is better, as for delay; None if neither is. Harm needs one of the two.
    queue_log : bool or "summary"
        The scenario's least `queue_log` that records enough.
    kinds : tuple of str
        Kinds of flows for which the metric exists; empty: all kinds.
    limits : (float or None, float or None)
        Limits of an axis; None: those of the data.
    at_least : callable, optional
        Like `of`, with a lower bound if a flow has no value because the run has ended.
    """

    name: str
    quantity: str
    definition: str
    of: Callable[..., pd.Series[float]]
    unit: str = ""
    scope: Scope = "flow"
    needs_solo: bool = False
    statistic: Callable[[pd.Series[float]], float] = mean
    is_shared: bool = False
    is_fraction: bool = False
    less_is_better: bool | None = True
    queue_log: bool | str = False
    kinds: tuple[str, ...] = ()
    limits: tuple[float | None, float | None] = (0.0, None)
    at_least: Callable[[Part], pd.Series[float]] | None = None

    @property
    def column(self) -> str:
        """Name of a column of a table, with the unit.

        Examples
        --------
        >>> from ccbench.metrics import METRICS
        >>> METRICS["one_way_delay_p95"].column, METRICS["share"].column
        ('one_way_delay_p95_ms', 'share')
        """
        unit = self.unit.lower().replace("bit/s", "bps").replace("/", "_per_")
        return f"{self.name}_{unit}" if unit else self.name

    @property
    def of_each(self) -> str:
        """The objects of which each has a value in tables, in words."""
        return "group of flows" if self.scope == "flow" else self.scope

    def exists_for(self, flow: Flow) -> bool:
        """Return whether the metric exists for a kind of flows."""
        return not self.kinds or flow.kind in self.kinds

    def over(self, part: Part, flows: Iterable[int]) -> float:
        """Return the value of some flows together, of a metric of scope ``flow``.

        The value of a metric that is a share is the sum over the flows, but for flows of a given
        size the mean, because they are not concurrent: the sum of their rates would exceed the rate
        of the link.
        """
        return self.combined(self.of(part), part, flows)

    def at_least_over(self, part: Part, flows: Iterable[int]) -> float:
        """Return a lower bound of :meth:`over` if flows have no value as the run has ended."""
        return self.combined((self.at_least or self.of)(part), part, flows)

    def combined(self, values: pd.Series[float], part: Part, flows: Iterable[int]) -> float:
        """Return :meth:`over` from the observations of all flows in the part."""
        chosen = list(flows)
        own = values[values.index.isin(chosen)]
        if not self.is_shared:
            return self.statistic(own)
        kinds = part.flow_table["kind"].to_numpy()
        if (kinds[chosen] == "bytes").any():
            return mean(own)
        return float(own.sum(skipna=False))

    def by_flow(self, part: Part) -> pd.Series[float]:
        """Return the value of each flow, of a metric of scope ``flow``."""
        values, count = self.of(part), part.run.scenario.flow_count
        if values.index.is_unique:
            return values.reindex(range(count)).rename_axis("flow")
        by_flow = values.groupby(level=0).agg(self.statistic)
        return by_flow.reindex(range(count)).rename_axis("flow")
