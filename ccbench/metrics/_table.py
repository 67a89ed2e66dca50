# SPDX-License-Identifier: Apache-2.0
"""The table of all metrics, and their values for a run."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.metrics import delays, losses, queues, rates, responses, transfers
from ccbench.metrics._metric import Metric, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.experiment.flow import Flow
    from ccbench.metrics._metric import Window
    from ccbench.run.run import Run

__all__ = [
    "METRICS",
    "achieved",
    "column_of",
    "group_names",
    "least_log",
    "measured",
    "named",
    "of_objects",
]

#: All metrics by name.
#:
#: :meta hide-value:
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for module in (rates, delays, losses, queues, transfers, responses)
        for metric in module.ENTRIES
    }
)


def named(names: Iterable[str], *, among: Mapping[str, Metric] = METRICS) -> tuple[Metric, ...]:
    """Return the metrics of some names, without duplicates; ``all`` stands for all metrics.

    Parameters
    ----------
    names : iterable of str
    among : mapping
        The allowed metrics.

    Raises
    ------
    InputError
        If a name is unknown. The message has the closest.

    Examples
    --------
    >>> [metric.unit for metric in named(["throughput", "fct"])]
    ['Mbit/s', 's']
    """
    chosen: dict[str, Metric] = {}
    for name in names:
        if name not in ("all", *among):  # a tuple, because the name may be unhashable
            hint = validation.choice_hint(str(name), among)
            raise InputError(f"metric is {name!r}; it must be one of `ccbench metrics`: {hint}")
        chosen.update(among if name == "all" else {name: among[name]})
    return tuple(chosen.values())


def least_log(metrics: Iterable[Metric], *, least: bool | str = False) -> bool | str:
    """Return the least `queue_log`, not below `least`, that records enough for some metrics.

    Examples
    --------
    >>> least_log(named(["throughput"])), least_log(named(["sojourn_time_p99", "throughput"]))
    (False, 'summary')
    """
    needed = {least, *(metric.queue_log for metric in metrics)}
    return True if True in needed else "summary" if "summary" in needed else False


def achieved(run: Run, metrics: Iterable[Metric], window: Window | None = None) -> pd.DataFrame:
    """Return the values of each single flow.

    Parameters
    ----------
    run : Run
    metrics : iterable of Metric
        Metrics of scope ``flow``.
    window : (float, float), optional
        Part of the run in seconds, with multiples of the scenario's `sample_interval_ms`. Default:
        the whole run. Each flow counts while it is active, from its start to its completion or
        stop. Completion times, downloads and convergence ignore the window.

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
    >>> achieved(run, named(["throughput", "one_way_delay_p95"]))  # doctest: +SKIP
    """
    part = Part(run, window)
    index = pd.RangeIndex(run.scenario.flow_count, name="flow")
    return pd.DataFrame({metric.name: metric.by_flow(part) for metric in metrics}, index=index)


def measured(run: Run, metrics: Iterable[Metric], window: Window | None = None) -> pd.DataFrame:
    """Return the values of groups of flows, bottlenecks, queues and the run.

    Parameters
    ----------
    run, metrics, window
        As in :func:`achieved`, with metrics of any scope. Those of bottlenecks and queues cover the
        whole run, and need a window to be left out.

    Returns
    -------
    DataFrame
        A row for each value. Columns: ``metric``; ``of``, the label of the group of flows
        (``group 1`` if it is not unique), or the number of the bottleneck and the name of a queue
        within it (``0 l4s``), or empty if there is only one; ``unit``; ``value``.

    Raises
    ------
    InputError
        As :func:`achieved`.

    Examples
    --------
    >>> measured(run, named(["throughput", "sojourn_time_p99"]))  # doctest: +SKIP
    """
    part, flows = Part(run, window), run.scenario.flows
    rows = []
    for metric in metrics:
        values = of_objects(metric, part)
        if metric.scope == "flow":
            existing = [metric.exists_for(flow) for flow in flows]
            values = values.set_axis(group_names(flows))[existing]
        rows += [
            {"metric": metric.name, "of": of, "unit": metric.unit, "value": value}
            for of, value in values.items()
        ]
    return pd.DataFrame(rows, columns=["metric", "of", "unit", "value"])


def of_objects(metric: Metric, part: Part) -> pd.Series[float]:
    """Return a metric's values: by number of each group of flows, or by name of other objects.

    A group for whose kind of flows the metric does not exist has NaN.
    """
    if metric.scope == "flow":
        flows = part.run.scenario.flows
        having = {i for i, flow in enumerate(flows) if metric.exists_for(flow)}
        group = part.flow_table["group"]
        observed = metric.of(part) if having else pd.Series(dtype="float64")
        return pd.Series(
            {
                i: metric.combined(observed, part, group.index[group == i])
                if i in having
                else math.nan
                for i in range(len(flows))
            }
        )
    if metric.scope in {"bottleneck", "queue"} and not part.is_whole:
        allowed = f"left out with metric {metric.name}, which covers the whole run"
        raise validation.bad("window", part.window, allowed, "leave it out")
    values: pd.Series[float] = metric.of(part)
    return values


def column_of(metric: Metric, of: str) -> str:
    """Return the name of a column with the values of an object.

    Examples
    --------
    >>> column_of(METRICS["sojourn_time"], "0 l4s")
    'sojourn_time_ms_0_l4s'
    """
    return f"{metric.column}_{of.replace(' ', '_')}" if of else metric.column


def group_names(flows: Iterable[Flow]) -> list[str]:
    """Return the label of each group of flows, or its number if the label is not unique."""
    labels = [flow.name for flow in flows]
    if len(labels) == 1:
        return [""]
    return [label if labels.count(label) == 1 else f"group {i}" for i, label in enumerate(labels)]
