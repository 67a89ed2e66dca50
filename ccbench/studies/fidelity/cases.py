# SPDX-License-Identifier: Apache-2.0
"""Cases of the studies that compare engines or kernels: mixes of CCAs on several paths."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.scenario import NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.run.run import Run

__all__ = [
    "CASE",
    "MIXES",
    "PATHS",
    "QUANTITIES",
    "EnginePath",
    "case_name",
    "cases",
    "from_s",
    "measured",
]

#: The CCA of each flow.
MIXES: tuple[tuple[str, ...], ...] = (
    ("reno",),
    ("cubic",),
    ("bbr",),
    ("bbr", "cubic"),
    ("reno", "cubic"),
)


@dataclass(frozen=True)
class EnginePath:
    """A link of constant rate with a drop-tail queue; ACKs may have a link with a queue as well."""

    mbps: float
    rtt_ms: int
    queue_bdp: float
    loss: float = 0
    acks_mbps: float | None = None
    acks_packets: int = 0

    def describe(self) -> str:
        """Return the path in words."""
        words = f"{self.mbps} Mbit/s, {self.rtt_ms} ms, {self.queue_bdp:g} BDP"
        words += f", {100 * self.loss:g} % loss" if self.loss else ""
        return words + (f", ACKs at {self.acks_mbps} Mbit/s" if self.acks_mbps else "")

    def way_back(self) -> tuple[Bottleneck, ...]:
        """Return the bottleneck of the ACKs, if there is one."""
        if self.acks_mbps is None:
            return ()
        return (Bottleneck(bandwidth_mbps=self.acks_mbps, queue_packets=self.acks_packets),)


PATHS = (
    EnginePath(5, 40, 4),
    EnginePath(5, 130, 1),
    EnginePath(12, 80, 2),
    EnginePath(25, 20, 4),
    EnginePath(25, 80, 0.5),
    EnginePath(50, 40, 1),
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


def cases(
    mixes: Sequence[tuple[str, ...]],
    *,
    seeds: int,
    quick: bool,
    paths: tuple[EnginePath, ...] = PATHS,
) -> tuple[Scenario, ...]:
    """Return the scenarios of all mixes on all paths; if `quick`, two short ones of one path."""
    middle = len(paths) // 2
    paths = paths[middle : middle + 1] if quick else paths
    return tuple(
        Scenario(
            flows=tuple(Flow(cca=cca) for cca in mix),
            path=NetworkPath(
                bottlenecks=(
                    Bottleneck(bandwidth_mbps=path.mbps, queue_bdp=path.queue_bdp, loss=path.loss),
                ),
                reverse_bottlenecks=path.way_back(),
                rtt_ms=path.rtt_ms,
            ),
            duration_s=_QUICK_S if quick else _DURATION_S,
            seed=seed,
            name=f"{' and '.join(mix)}, {path.describe()}",
        )
        for path, mix, seed in product(
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
        "bandwidth_mbps": scenario.path.bottlenecks[0].mean_mbps,
        "rtt_ms": scenario.path.rtt_ms,
        "queue_packets": scenario.path.bottlenecks[0].queue_packets,
        "seed": scenario.seed,
        "throughput_mbps": mbps.sum(),
        "first_share": mbps.iloc[0] / mbps.sum() if len(mbps) > 1 else None,
        "last_mbps": mbps.iloc[-1],
        "mean_packets": queue.mean(),
        "p95_packets": queue.quantile(0.95),
        "drops": int((events["event"][settled] == "drop").sum()),
    }
