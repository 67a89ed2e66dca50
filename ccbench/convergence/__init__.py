# SPDX-License-Identifier: Apache-2.0
"""Convergence of competing flows: the detector of Ware section 5.3.3.

:mod:`.algorithm` implements Algorithm 1 on one flow, and :mod:`.times` applies it to the flows of
an experiment to find the start of the measurement; :mod:`.trend` tests whether a trend remains
after it. For its evaluation, :mod:`.labels` determines
times of convergence by an independent rule, :mod:`.rivals` contains other detectors, and
:mod:`.evaluation` compares them. :mod:`.plot` plots the iterations.
"""

from ccbench.convergence.algorithm import (
    Detector,
    Step,
    best_breakpoint,
    convergence_steps,
    rolling_deviation,
)
from ccbench.convergence.times import (
    Convergence,
    FlowConvergence,
    converged_at,
    latest,
    measured_from,
)
from ccbench.convergence.trend import trends

__all__ = [
    "Convergence",
    "Detector",
    "FlowConvergence",
    "Step",
    "best_breakpoint",
    "converged_at",
    "convergence_steps",
    "latest",
    "measured_from",
    "rolling_deviation",
    "trends",
]
