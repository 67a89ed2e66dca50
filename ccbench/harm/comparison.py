# SPDX-License-Identifier: Apache-2.0
"""Harm by any metric: performance of beta's flows alone and in competition (Ware section 4.3)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench import metrics as metrics_of_runs
from ccbench.base import validation
from ccbench.experiment.kinds import KINDS
from ccbench.harm._pairs import check_samples, sides
from ccbench.harm.formulas import expected_harm, harm
from ccbench.metrics import Part, achieved

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.metrics import Metric, Window
    from ccbench.run.run import Run

__all__ = [
    "METRICS",
    "MetricHarm",
    "compare",
    "compare_flows",
    "harm_or_nan",
    "metrics_named",
]


#: Metrics by which harm is defined: those of flows of which less or more is better.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        name: metric
        for name, metric in metrics_of_runs.METRICS.items()
        if metric.scope == "flow" and metric.less_is_better is not None
    }
)

#: Metrics to compare by default.
_USUAL = (
    "throughput",
    "goodput",
    *(
        f"{delay}{end}"
        for delay in ("one_way_delay", "queueing_delay")
        for end in ("", "_p95", "_p99")
    ),
    "jitter",
    "loss_rate",
    "fct",
    "downloaded",
)

#: Return the metrics of some names; ``all`` stands for all of `METRICS`.
metrics_named = partial(metrics_of_runs.named, among=METRICS)


@dataclass(frozen=True, kw_only=True)
class MetricHarm:
    """Harm to a group of flows by one metric.

    Attributes
    ----------
    metric, unit : str
    solo, competing : float
        Value of the group alone and in competition: the sum of the throughputs of concurrent flows,
        or the mean of other metrics. NaN if a flow has no value (because it did not complete or had
        no packets).
    absolute : float
        The harm, at most 1; negative if competition improves the value, NaN if a value is.
    expected, relative : float
        Harm under equal sharing by number of flows, and `absolute` minus that. NaN for a metric
        that is not a share of the link's capacity, and if not all flows always have data, since
        flows do not use a fair share that exceeds their demand.
    """

    metric: str
    unit: str
    solo: float
    competing: float
    absolute: float
    expected: float
    relative: float

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of plain values."""
        return asdict(self)


def compare(
    solo: Run,
    competing: Run,
    metrics: Iterable[Metric] | None = None,
    window: Window | None = None,
) -> tuple[MetricHarm, ...]:
    """Compute the harm to the flows of `solo` by the additional flows of `competing`.

    Parameters
    ----------
    solo, competing : Run
        Runs of the two scenarios of an :class:`~ccbench.harm.Experiment`.
    metrics : iterable of Metric, optional
        Default: the usual ones that the runs have recorded.
    window : (float, float), optional
        Part of both runs in seconds. Default: the whole runs.

    Raises
    ------
    InputError
        If the runs are not those of an experiment, a flow has no samples, a metric needs a queue
        log that a run lacks, or the flows achieved nothing alone.

    Examples
    --------
    >>> {part.metric: part.absolute for part in compare(solo, competing)}  # doctest: +SKIP
    """
    flows = sides(solo.scenario, competing.scenario)
    chosen = _chosen(solo, competing, metrics)
    alone, together = Part(solo, window), Part(competing, window)
    endless = all(KINDS[flow.kind].is_endless for flow in competing.scenario.flows)
    expected = expected_harm(n_alpha=flows.n_alpha, n_beta=flows.n_beta) if endless else math.nan
    return tuple(
        _of_metric(
            metric,
            metric.over(alone, range(flows.n_beta)),
            metric.over(together, range(flows.beta.start, flows.beta.stop)),
            expected,
        )
        for metric in chosen
    )


def compare_flows(
    solo: Run,
    competing: Run,
    metrics: Iterable[Metric] | None = None,
    window: Window | None = None,
) -> pd.DataFrame:
    """Compute the harm to each single flow of `solo`.

    Parameters and errors are those of :func:`compare`.

    Returns
    -------
    DataFrame
        Index ``flow``; columns in two levels: ``solo``, ``competing`` and ``harm`` (NaN if a value
        is missing or the flow achieved nothing alone), each by metric.

    Examples
    --------
    >>> compare_flows(solo, competing)["harm"]  # doctest: +SKIP
    """
    flows = sides(solo.scenario, competing.scenario)
    chosen = _chosen(solo, competing, metrics)
    alone = achieved(solo, chosen, window)
    together = achieved(competing, chosen, window).iloc[flows.beta].set_axis(alone.index)
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


def _chosen(solo: Run, competing: Run, metrics: Iterable[Metric] | None) -> tuple[Metric, ...]:
    """Return the metrics to compare, by default those of `_USUAL` that both runs have recorded."""
    check_samples(solo, "solo run")
    check_samples(competing, "competing run")
    if metrics is not None:
        return tuple(metrics)
    logged = all(run.scenario.queue_log is True for run in (solo, competing))
    return tuple(metric for metric in metrics_named(_USUAL) if logged or not metric.queue_log)


def _of_metric(metric: Metric, solo: float, competing: float, expected: float) -> MetricHarm:
    with validation.within(f"{metric.name} of the beta flows: "):
        absolute = harm_or_nan(metric, solo, competing)
    expected = expected if metric.is_shared else math.nan
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
    """Return the harm by a metric, or NaN if a value is NaN."""
    if math.isnan(solo) or math.isnan(competing):
        return math.nan
    return harm(solo, competing, less_is_better=bool(metric.less_is_better))


def _flow_harm(metric: Metric, solo: float, competing: float) -> float:
    if solo == 0 and not metric.less_is_better:
        return math.nan
    return harm_or_nan(metric, solo, competing)
