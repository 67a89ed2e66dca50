# SPDX-License-Identifier: Apache-2.0
"""How much one congestion control algorithm (alpha) hurts another (beta).

An :class:`Experiment` says what to run: the beta flows alone, and with the alpha flows added.
:func:`measure` turns the two runs into a :class:`HarmResult`. Both are data and arithmetic; running
is the business of :mod:`ccbench.emulate`.
"""

from ccbench.harm.convergence import (
    Convergence,
    Detector,
    FlowConvergence,
    Step,
    best_breakpoint,
    converged_at,
    convergence_steps,
    latest,
    measured_from,
    rolling_deviation,
)
from ccbench.harm.experiment import Experiment, HarmResult, long_flows, measure
from ccbench.harm.metrics import expected_harm, harm, jain_index, relative_harm

__all__ = [
    "Convergence",
    "Detector",
    "Experiment",
    "FlowConvergence",
    "HarmResult",
    "Step",
    "best_breakpoint",
    "converged_at",
    "convergence_steps",
    "expected_harm",
    "harm",
    "jain_index",
    "latest",
    "long_flows",
    "measure",
    "measured_from",
    "relative_harm",
    "rolling_deviation",
]
