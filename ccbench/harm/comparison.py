# SPDX-License-Identifier: Apache-2.0
"""Harm by any metric: what beta's flows achieve alone and beside alpha's (Ware section 4.3)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base import validation
from ccbench.harm._pairs import check_samples, flow_counts
from ccbench.harm.metrics import expected_harm, harm
from ccbench.harm.performance import METRICS, achieved

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.harm.performance import Metric, Window
    from ccbench.run.run import Run

__all__ = ["MetricHarm", "compare", "compare_flows", "harm_or_nan"]


@dataclass(frozen=True, kw_only=True)
class MetricHarm:
    """Harm to a group of flows by one metric.

    Attributes
    ----------
    metric, unit : str
    solo, competing : float
        The flows' value alone and in competition: the sum of the throughputs of flows that are
        there together, the mean of anything else. NaN where one of the flows has none (it did not
        complete, had no packets).
    absolute : float
        The harm, 1 at most; below 0 where competition made it better. NaN where a value is.
    expected, relative : float
        What equal sharing by number of flows would cost the group, and `absolute` minus that. NaN
        of a metric that is no part of the link's capacity, and where not all flows always have
        data: a fair share of more than they ask for says nothing.
    """

    metric: str
    unit: str
    solo: float
    competing: float
    absolute: float
    expected: float
    relative: float

    def to_dict(self) -> dict[str, Any]:
        """Return the parts as a dictionary of plain values."""
        return asdict(self)


def compare(
    solo: Run,
    competing: Run,
    metrics: Iterable[Metric] | None = None,
    window: Window | None = None,
) -> tuple[MetricHarm, ...]:
    """Compute the harm to the flows of `solo` by those that `competing` has in addition.

    Parameters
    ----------
    solo, competing : Run
        Runs of an :class:`~ccbench.harm.Experiment`'s two scenarios.
    metrics : iterable of Metric, optional
        Left out: all of `METRICS` that the runs have records for.
    window : (float, float), optional
        The part of both runs to look at, in seconds; left out, all of them.

    Returns
    -------
    tuple of MetricHarm
        One for each metric.

    Raises
    ------
    InputError
        If the runs do not belong together, a flow has no samples, a metric needs a queue log that a
        run lacks, or the flows achieved nothing alone.

    Examples
    --------
    >>> {part.metric: part.absolute for part in compare(solo, competing)}  # doctest: +SKIP
    """
    n_beta, n_alpha = flow_counts(solo.scenario, competing.scenario)
    chosen, alone, together = _achieved(solo, competing, metrics, window)
    endless = all(flow.kind == "bulk" for flow in competing.scenario.flows)
    expected = expected_harm(n_alpha=n_alpha, n_beta=n_beta) if endless else math.nan
    return tuple(
        _of_metric(m, _of_all(solo, m, alone), _of_all(solo, m, together), expected) for m in chosen
    )


def compare_flows(
    solo: Run,
    competing: Run,
    metrics: Iterable[Metric] | None = None,
    window: Window | None = None,
) -> pd.DataFrame:
    """Compute the harm to each flow of `solo` on its own.

    Parameters and errors are those of :func:`compare`.

    Returns
    -------
    DataFrame
        Index ``flow``; columns in two levels: ``solo``, ``competing`` and ``harm`` (NaN where a
        value is missing, and of a flow that achieved nothing alone), each by metric.

    Examples
    --------
    >>> compare_flows(solo, competing)["harm"]  # doctest: +SKIP
    """
    chosen, alone, together = _achieved(solo, competing, metrics, window)
    harms = pd.DataFrame(
        {
            m.name: [
                _flow_harm(m, *values)
                for values in zip(alone[m.name], together[m.name], strict=True)
            ]
            for m in chosen
        },
        index=alone.index,
    )
    return pd.concat({"solo": alone, "competing": together, "harm": harms}, axis=1)


def _achieved(
    solo: Run, competing: Run, metrics: Iterable[Metric] | None, window: Window | None
) -> tuple[tuple[Metric, ...], pd.DataFrame, pd.DataFrame]:
    """Return the metrics, and what the beta flows achieved alone and in competition."""
    n_beta, _ = flow_counts(solo.scenario, competing.scenario)
    check_samples(solo, "solo run")
    check_samples(competing, "competing run")
    chosen = _recorded(solo, competing) if metrics is None else tuple(metrics)
    together = achieved(competing, chosen, window).iloc[:n_beta]
    return chosen, achieved(solo, chosen, window), together


def _recorded(solo: Run, competing: Run) -> tuple[Metric, ...]:
    """Return the metrics for which both runs have records."""
    logged = all(run.scenario.queue_log is True for run in (solo, competing))
    return tuple(m for m in METRICS.values() if logged or not m.needs_queue_log)


def _of_all(solo: Run, metric: Metric, values: pd.DataFrame) -> float:
    """Return a metric of all beta flows; if some of them come and go, they all have the mean."""
    flows = solo.scenario.flows
    coming_and_going = (flow for flow in flows if flow.kind == "bytes")
    return metric.of_group(next(coming_and_going, flows[0]), values[metric.name])


def _of_metric(metric: Metric, solo: float, competing: float, expected: float) -> MetricHarm:
    with validation.within(f"{metric.name} of the beta flows: "):
        absolute = harm_or_nan(metric, solo, competing)
    expected = expected if metric.shared else math.nan
    return MetricHarm(
        metric=metric.name,
        unit=metric.unit,
        solo=solo,
        competing=competing,
        absolute=absolute,
        expected=expected,
        relative=absolute - expected,
    )


def harm_or_nan(metric: Metric, solo: float, competing: float) -> float:
    """Return the harm by a metric, NaN where one of the values is."""
    if math.isnan(solo) or math.isnan(competing):
        return math.nan
    return harm(solo, competing, less_is_better=metric.less_is_better)


def _flow_harm(metric: Metric, solo: float, competing: float) -> float:
    if solo == 0 and not metric.less_is_better:
        return math.nan
    return harm_or_nan(metric, solo, competing)
