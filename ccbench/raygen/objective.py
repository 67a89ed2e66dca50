# SPDX-License-Identifier: Apache-2.0
"""The objective of a search: relative harm, or harm by a metric of flows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.harm import BEST_HARM, METRICS, compare, measure

if TYPE_CHECKING:
    from ccbench.harm import Experiment, HarmResult
    from ccbench.metrics import Metric
    from ccbench.run.run import Run

__all__ = ["HARM", "metric_of", "objective"]

#: The thesis's objective: relative harm by throughput.
HARM = "harm"


def metric_of(name: object) -> Metric | None:
    """Return the metric of an objective; None for relative harm.

    Raises
    ------
    InputError
        If harm is not defined by a metric of this name.
    """
    validation.one_of("metric", name, [HARM, *METRICS])
    return METRICS.get(str(name))


def objective(
    metric: Metric | None, experiment: Experiment, solo: Run, competing: Run
) -> HarmResult:
    """Return the harm of an experiment's runs, of which `relative` is the objective.

    By a metric that is a share of the link's capacity it is relative harm, by any other absolute
    harm, at least :data:`~ccbench.harm.BEST_HARM`, over the same part of the runs.

    Raises
    ------
    InputError
        If harm cannot be measured, or a flow has no value of the metric.
    """
    harm = measure(solo, competing, experiment.measured_s)
    if metric is None:
        return harm
    (of,) = compare(solo, competing, (metric,), (harm.from_s, harm.to_s))
    if math.isnan(of.absolute):
        step = "choose another metric, or run for longer"
        raise InputError(f"a beta flow has no {metric.quantity}: {step}")
    expected = 0.0 if math.isnan(of.expected) else of.expected
    absolute = max(of.absolute, BEST_HARM)
    return replace(harm, absolute=absolute, expected=expected, relative=absolute - expected)
