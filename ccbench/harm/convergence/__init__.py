# SPDX-License-Identifier: Apache-2.0
"""Convergence of competing flows: the detector of Ware section 5.3.3.

:mod:`.algorithm` is its Algorithm 1, on one flow, with all that the paper leaves open;
:mod:`.times` applies it to the flows of an experiment, and says from when on harm is measured. How
good it is: :mod:`.labels` says when flows have converged without it, :mod:`.rivals` are other
rules, :mod:`.evaluation` compares them. :mod:`.plot` draws what it does.
"""

from ccbench.harm.convergence.algorithm import (
    Detector,
    Step,
    best_breakpoint,
    convergence_steps,
    rolling_deviation,
)
from ccbench.harm.convergence.times import (
    Convergence,
    FlowConvergence,
    converged_at,
    latest,
    measured_from,
)

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
]
