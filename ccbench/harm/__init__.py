# SPDX-License-Identifier: Apache-2.0
"""Harm of a new congestion control algorithm (alpha) to a deployed one (beta).

An :class:`Experiment` defines two scenarios: the beta flows alone, and with the alpha flows added.
:func:`measure` computes a :class:`HarmResult` from their runs, and :func:`compare` harm by any of
the `METRICS`. :func:`repeat` runs and measures an experiment with several seeds and returns the
median with its interval; :func:`sensitivity` does so at several levels of noise. :func:`assess`
evaluates the three deployment thresholds. :class:`Drift` tests whether any run's throughput still
changes at its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from ccbench.harm._pairs import (
        Sides,
        beta_groups,
        check_shared,
        in_order,
        sides,
        with_later_flows,
    )
    from ccbench.harm.circumstances import (
        NETWORKS,
        WORKLOADS,
        Network,
        Workload,
        load_networks,
        load_workloads,
        workload_named,
    )
    from ccbench.harm.comparison import METRICS, MetricHarm, compare, compare_flows, metrics_named
    from ccbench.harm.deployability import Assessment, Deployability, assess
    from ccbench.harm.drift import Drift
    from ccbench.harm.experiment import (
        Experiment,
        HarmResult,
        divided,
        flow_names,
        long_flows,
        measure,
    )
    from ccbench.harm.formulas import BEST_HARM, expected_harm, harm, relative_harm
    from ccbench.harm.noise_levels import LEVELS, Sensitivity, sensitivity
    from ccbench.harm.order import OrderEffect
    from ccbench.harm.recovery import recovery_s
    from ccbench.harm.repetition import (
        MAX_REPETITIONS,
        REPETITIONS,
        HarmRepetition,
        RepeatedHarm,
        plan,
        repeat,
        repeat_each,
    )
    from ccbench.harm.thresholds import THRESHOLDS, bounds, judge

__all__ = [
    "BEST_HARM",
    "LEVELS",
    "MAX_REPETITIONS",
    "METRICS",
    "NETWORKS",
    "REPETITIONS",
    "THRESHOLDS",
    "WORKLOADS",
    "Assessment",
    "Deployability",
    "Drift",
    "Experiment",
    "HarmRepetition",
    "HarmResult",
    "MetricHarm",
    "Network",
    "OrderEffect",
    "RepeatedHarm",
    "Sensitivity",
    "Sides",
    "Workload",
    "assess",
    "beta_groups",
    "bounds",
    "check_shared",
    "compare",
    "compare_flows",
    "divided",
    "expected_harm",
    "flow_names",
    "harm",
    "in_order",
    "judge",
    "load_networks",
    "load_workloads",
    "long_flows",
    "measure",
    "metrics_named",
    "plan",
    "recovery_s",
    "relative_harm",
    "repeat",
    "repeat_each",
    "sensitivity",
    "sides",
    "with_later_flows",
    "workload_named",
]

# Names are imported on first use: a single run needs only Drift, and most others pandas.
_HOMES = {
    "Sides": "ccbench.harm._pairs",
    "beta_groups": "ccbench.harm._pairs",
    "check_shared": "ccbench.harm._pairs",
    "in_order": "ccbench.harm._pairs",
    "sides": "ccbench.harm._pairs",
    "with_later_flows": "ccbench.harm._pairs",
    "NETWORKS": "ccbench.harm.circumstances",
    "WORKLOADS": "ccbench.harm.circumstances",
    "Network": "ccbench.harm.circumstances",
    "Workload": "ccbench.harm.circumstances",
    "load_networks": "ccbench.harm.circumstances",
    "load_workloads": "ccbench.harm.circumstances",
    "workload_named": "ccbench.harm.circumstances",
    "METRICS": "ccbench.harm.comparison",
    "MetricHarm": "ccbench.harm.comparison",
    "compare": "ccbench.harm.comparison",
    "compare_flows": "ccbench.harm.comparison",
    "metrics_named": "ccbench.harm.comparison",
    "Assessment": "ccbench.harm.deployability",
    "Deployability": "ccbench.harm.deployability",
    "assess": "ccbench.harm.deployability",
    "Drift": "ccbench.harm.drift",
    "Experiment": "ccbench.harm.experiment",
    "HarmResult": "ccbench.harm.experiment",
    "divided": "ccbench.harm.experiment",
    "flow_names": "ccbench.harm.experiment",
    "long_flows": "ccbench.harm.experiment",
    "measure": "ccbench.harm.experiment",
    "BEST_HARM": "ccbench.harm.formulas",
    "expected_harm": "ccbench.harm.formulas",
    "harm": "ccbench.harm.formulas",
    "relative_harm": "ccbench.harm.formulas",
    "LEVELS": "ccbench.harm.noise_levels",
    "Sensitivity": "ccbench.harm.noise_levels",
    "sensitivity": "ccbench.harm.noise_levels",
    "OrderEffect": "ccbench.harm.order",
    "recovery_s": "ccbench.harm.recovery",
    "MAX_REPETITIONS": "ccbench.harm.repetition",
    "REPETITIONS": "ccbench.harm.repetition",
    "HarmRepetition": "ccbench.harm.repetition",
    "RepeatedHarm": "ccbench.harm.repetition",
    "plan": "ccbench.harm.repetition",
    "repeat": "ccbench.harm.repetition",
    "repeat_each": "ccbench.harm.repetition",
    "THRESHOLDS": "ccbench.harm.thresholds",
    "bounds": "ccbench.harm.thresholds",
    "judge": "ccbench.harm.thresholds",
}

__getattr__ = lazy_names(__name__, _HOMES)
