# SPDX-License-Identifier: Apache-2.0
"""Cases of the studies that compare engines or kernels: mixes of CCAs on six paths."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.run.run import Run

__all__ = ["CASE", "MIXES", "PATHS", "QUANTITIES", "case_name", "cases", "from_s", "measured"]

#: The CCA of each flow.
MIXES: tuple[tuple[str, ...], ...] = (
    ("reno",),
    ("cubic",),
    ("bbr",),
    ("bbr", "cubic"),
    ("reno", "cubic"),
)
#: Rate in Mbit/s, base RTT in ms, queue in BDP.
PATHS: tuple[tuple[float, int, float], ...] = (
    (5, 40, 4),
    (5, 130, 1),
    (12, 80, 2),
    (25, 20, 4),
    (25, 80, 0.5),
    (50, 40, 1),
)
_DURATION_S, _QUICK_S = 40.0, 6.0
#: Slow start is over, and BBR's first ProbeRTT has passed.
_FROM_S = 12.0

#: Columns that identify a case.
CASE = ["mix", "bandwidth_mbps", "rtt_ms", "queue_packets"]

#: Compared quantities: column and description.
QUANTITIES = {
    "throughput_mbps": "throughput of all flows",
    "first_share": "the first flow's share of it",
    "mean_packets": "mean queue",
    "p95_packets": "95th percentile of the queue",
    "drops": "drops",
}


def cases(mixes: Sequence[tuple[str, ...]], *, seeds: int, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of all mixes on all paths; if `quick`, two short ones of one path."""
    paths = PATHS[3:4] if quick else PATHS
    return tuple(
        Scenario(
            flows=tuple(Flow(cca=cca) for cca in mix),
            bottlenecks=(Bottleneck(bandwidth_mbps=mbps, queue_bdp=bdp),),
            rtt_ms=rtt_ms,
            duration_s=_QUICK_S if quick else _DURATION_S,
            seed=seed,
            name=f"{' and '.join(mix)}, {mbps} Mbit/s, {rtt_ms} ms, {bdp:g} BDP",
        )
        for (mbps, rtt_ms, bdp), mix, seed in product(
            paths, mixes[1:4:2] if quick else mixes, range(1, (2 if quick else seeds) + 1)
        )
    )


def case_name(case: Iterable[object]) -> str:
    """Return the name of a case from its values of :data:`CASE`."""
    mix, mbps, rtt_ms, packets = case
    return f"{mix}, {mbps} Mbit/s, {rtt_ms} ms, {packets} packets"


def from_s(scenario: Scenario) -> float:
    """Return the time in seconds at which the measurement starts."""
    return min(_FROM_S, scenario.duration_s / 2)


def measured(run: Run) -> dict[str, Any]:
    """Return the case of a run, its :data:`QUANTITIES`, and the last flow's throughput."""
    scenario = run.scenario
    start_s = from_s(scenario)
    throughput = run.throughput(1.0)
    mbps = throughput[throughput.index > start_s].mean()
    queue = run.occupancy(0.01)
    queue = queue[queue.index >= start_s]
    events = run.queue_events()
    settled = events["time_ns"] >= start_s * 1e9
    return {
        "mix": " and ".join(flow.cca for flow in scenario.flows),
        "bandwidth_mbps": scenario.bottlenecks[0].mean_mbps,
        "rtt_ms": scenario.rtt_ms,
        "queue_packets": scenario.bottlenecks[0].queue_packets,
        "seed": scenario.seed,
        "throughput_mbps": mbps.sum(),
        "first_share": mbps.iloc[0] / mbps.sum() if len(mbps) > 1 else None,
        "last_mbps": mbps.iloc[-1],
        "mean_packets": queue.mean(),
        "p95_packets": queue.quantile(0.95),
        "drops": int((events["event"][settled] == "drop").sum()),
    }
