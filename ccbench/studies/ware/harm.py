# SPDX-License-Identifier: Apache-2.0
"""Harm and Jain's index of experiments, for the studies of Ware's section 5.3.

Choices left open by the thesis: it states neither the testbed's noise nor the number of
repetitions. Here the path has typical noise (:func:`ccbench.experiment.noise.typical`), and each
experiment runs with several seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench import harm

if TYPE_CHECKING:
    from ccbench.run.run import Run

__all__ = ["EXPERIMENT", "measured"]

#: Columns that identify an experiment, by which tables are sorted.
EXPERIMENT = ["bandwidth_mbps", "rtt_ms", "queue_packets", "seed", "alpha_flows"]


def measured(solo: Run, competing: Run, *, whole: bool = False) -> dict[str, Any]:
    """Return a row with the harm to beta and Jain's index of all flows.

    Parameters
    ----------
    solo, competing : Run
        The runs of an experiment.
    whole : bool
        Use whole runs; otherwise, as :func:`ccbench.harm.measure` does, start at convergence or
        after the first minute.
    """
    path, duration_s = competing.scenario.path, competing.scenario.duration_s
    settled = harm.measure(solo, competing)
    of = harm.measure(solo, competing, (0.0, duration_s)) if whole else settled
    (link,) = path.bottlenecks
    return {
        "bandwidth_mbps": link.mean_mbps,
        "rtt_ms": path.rtt_ms,
        "queue_packets": link.queue_packets,
        "seed": competing.scenario.seed,
        "alpha_flows": of.n_alpha,
        "queue_bdp": (link.queue_packets or 0) / path.bdp_packets(),
        "converged_s": settled.converged_at_s,
        "solo_mbps": of.solo_mbps,
        "beta_mbps": of.competing_mbps,
        "absolute_harm": of.absolute,
        "expected_harm": of.expected,
        "relative_harm": of.relative,
        "jain": of.jain,
    }
