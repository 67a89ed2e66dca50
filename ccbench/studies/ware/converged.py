# SPDX-License-Identifier: Apache-2.0
"""The runs of Figures 3.9 and 3.10 of Ware 2024: BBR flows against one flow, after convergence.

A choice left open by the thesis: it measures for d seconds after convergence, determined by
inspection of traces (section 5.2). Against CUBIC one BBR flow settles within 10 minutes in the
longest queue (see ``ware_3_4.py``), and against Reno within 5. Here the d seconds begin after twice
that time, for all queues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.models.bbr import BbrModel
from ccbench.studies.ware.testbed import BANDWIDTH_MBPS, RTT_MS, SEEDS, competition

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["CUBIC", "RENO", "Competitor", "measured_s", "model", "scenarios"]

#: Sufficient resolution for the duration of a ProbeRTT of 0.2 s and more.
_SAMPLE_INTERVAL_MS = 10.0
#: Fewer seeds, as these runs are long and BBR's share varies little.
_SEEDS = SEEDS[:4]


@dataclass(frozen=True, kw_only=True)
class Competitor:
    """The loss-based flow that BBR competes with.

    Parameters
    ----------
    cca : str
        The loss-based CCA.
    settling_s : float
        Time for convergence in seconds, excluded from the measurement.
    measured_s : float
        Duration of the measurement in seconds, the thesis's d.
    """

    cca: str
    settling_s: float
    measured_s: float


CUBIC = Competitor(cca="cubic", settling_s=1200, measured_s=400)
RENO = Competitor(cca="reno", settling_s=600, measured_s=200)


def scenarios(against: Competitor, *, quick: bool) -> tuple[Scenario, ...]:
    """Return the runs against a competitor: queues of 1 to 64 BDP, 1 to 10 BBR flows."""
    queues_bdp = (8, 32) if quick else (1, 2, 4, 8, 16, 32, 64)
    bbr_flows = (1, 10) if quick else (1, 2, 3, 5, 7, 10)
    return tuple(
        competition(
            {"bbr": flows, against.cca: 1},
            queue_bdp=queue_bdp,
            duration_s=60.0 if quick else against.settling_s + against.measured_s,
            seed=seed,
            sample_interval_ms=_SAMPLE_INTERVAL_MS,
        )
        for queue_bdp in queues_bdp
        for flows in bbr_flows
        for seed in (_SEEDS[:1] if quick else _SEEDS)
    )


def measured_s(run: Run) -> float:
    """Return the duration of a run's measurement in seconds: d, or 2/3 of a quick run."""
    (against,) = (
        competitor for competitor in (CUBIC, RENO) if competitor.cca == run.scenario.flows[1].cca
    )
    return min(against.measured_s, run.scenario.duration_s * 2 / 3)


def model(run: Run) -> BbrModel:
    """Return the model of a run's network."""
    return BbrModel(
        bandwidth_mbps=BANDWIDTH_MBPS,
        rtt_ms=RTT_MS,
        queue_packets=run.scenario.path.bottlenecks[0].queue_packets,
        bbr_flows=run.scenario.flows[0].count,
    )
