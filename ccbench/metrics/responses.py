# SPDX-License-Identifier: Apache-2.0
"""Times: until throughput converges, and to react to a change of the path and recover from it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ccbench.convergence import Convergence
from ccbench.experiment import dynamics
from ccbench.metrics._metric import Metric, Part
from ccbench.run import queue_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ENTRIES"]

#: Share of its former throughput, in proportion to the capacity, at which a path has recovered.
RECOVERED = 0.9


class _Period(NamedTuple):
    """A period from a change of the path to the next, or to the end, in seconds."""

    before_s: float
    from_s: float
    to_s: float


def _convergence(part: Part) -> pd.Series[float]:
    times_s = Convergence.of(part.run.throughput(1.0)).times_s
    return times_s - pd.Series(part.run.scenario.starts_s(), times_s.index)


def _periods(part: Part) -> Iterator[_Period]:
    """Yield the periods after each change of the path in the window."""
    scenario = part.run.actual_scenario
    times_s = [
        time_s + (change.outage_s or 0.0)
        for time_s, change in dynamics.occurrences(scenario)
        if change.flow is None
    ]
    inside = sorted({time_s for time_s in times_s if part.window[0] < time_s < part.window[1]})
    edges = [part.window[0], *inside, part.window[1]]
    for (before_s, from_s), (_, to_s) in pairwise(pairwise(edges)):
        yield _Period(before_s, from_s, to_s)


def _worst(of: Callable[[Part, _Period], float]) -> Callable[[Part], pd.Series[float]]:
    """Return the longest time over all changes; NaN if there is none, or one has no time."""

    def worst(part: Part) -> pd.Series[float]:
        times_s = [of(part, period) for period in _periods(part)]
        is_known = bool(times_s) and all(map(math.isfinite, times_s))
        return pd.Series({"": max(times_s) if is_known else math.nan})

    return worst


def _capacity_mbps(part: Part, from_s: float, to_s: float) -> float:
    """Return the least mean capacity of the links of a direction that has flows."""
    scenario = part.run.actual_scenario
    numbers = range(len(scenario.path.bottlenecks))
    capacities = (dynamics.capacities_bytes(scenario, i, [from_s, to_s]) for i in numbers)
    return min(float(after - before) for before, after in capacities) * 8e-6 / (to_s - from_s)


def _recovery_s(part: Part, period: _Period) -> float:
    """Return the time until throughput is again what it was, in proportion to the capacity."""
    interval_s = part.run.scenario.sample_interval_ms / 1e3
    steps = max(1, round(0.1 / interval_s))  # rates over 100 ms
    total = part.run.throughput(interval_s).sum(axis=1).rolling(steps).mean()
    before = total[(total.index > period.before_s) & (total.index <= period.from_s)].mean()
    scale = _capacity_mbps(part, period.from_s, period.to_s) / _capacity_mbps(
        part, period.before_s, period.from_s
    )
    after = total[
        (total.index >= period.from_s + steps * interval_s) & (total.index <= period.to_s)
    ]
    recovered = after.index[after >= RECOVERED * before * scale]
    return float(recovered[0] - period.from_s) if len(recovered) else math.nan


def _reaction_s(part: Part, period: _Period) -> float:
    """Return the time until packets no longer arrive faster than the path's capacity."""
    scenario = part.run.actual_scenario
    log = queue_events.events(part.run, 0)
    came = log[log["event"].isin(["enqueue", "loss"])]
    rtt_s = float(dynamics.delays_ms(scenario, np.array([period.from_s]))[0][0]) / 1e3
    edges = np.arange(period.from_s, period.to_s, rtt_s)
    if len(edges) < 2:  # noqa: PLR2004 - shorter than a round trip
        return math.nan
    arrived, _ = np.histogram(came["time_ns"] / 1e9, edges, weights=came["bytes"])
    capacity = np.diff(dynamics.capacities_bytes(scenario, 0, list(edges)))
    reacted = np.flatnonzero(arrived <= capacity)
    return float(edges[reacted[0] + 1] - period.from_s) if len(reacted) else math.nan


ENTRIES = (
    Metric(
        name="convergence_time",
        quantity="convergence time",
        definition="time from a flow's start until its throughput has converged (Algorithm 1 of "
        "Ware's thesis, section 5.3.3), of several flows that of the last",
        unit="s",
        of=_convergence,
        statistic=lambda values: float(values.max(skipna=False)),
    ),
    Metric(
        name="reaction_time",
        quantity="time to react to a change",
        definition="time from a change of the path until packets arrive at the first bottleneck no "
        "faster than it can send, over a base round-trip time; the longest of several changes",
        unit="s",
        scope="run",
        of=_worst(_reaction_s),
        queue_log=True,
    ),
    Metric(
        name="recovery_time",
        quantity="time to recover from a change",
        definition="time from a change of the path (or the end of an outage) until the throughput "
        "of all flows over 100 ms is 90 % of that before, in proportion to the capacity; the "
        "longest of several changes (response times of RFC 5166, section 2.4)",
        unit="s",
        scope="run",
        of=_worst(_recovery_s),
    ),
)
