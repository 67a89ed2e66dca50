# SPDX-License-Identifier: Apache-2.0
"""Scenarios and measurements of the tests of congestion control by routers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench import Bottleneck, Flow, Scenario, Trace
from tests.scenarios import flat

if TYPE_CHECKING:
    from ccbench import Run

MBPS, RTT_MS = 24, 100
#: Packets in flight that fill the path.
BDP = MBPS * 1e3 * RTT_MS / 8 / 1500


def link(qdisc: str, rate: float | Trace = MBPS, **options: float | str) -> Bottleneck:
    """Return a bottleneck with this router, at this rate in Mbit/s or with a trace."""
    return Bottleneck(
        bandwidth_mbps=None if isinstance(rate, Trace) else rate,
        trace=rate if isinstance(rate, Trace) else None,
        queue_packets=500,
        qdisc=qdisc,
        qdisc_options=tuple(options.items()),
    )


def path(*parts: Flow | Bottleneck, duration_s: float = 20, **settings: Any) -> Scenario:
    """Return a scenario with these flows, and these links or a router of the flows' scheme."""
    flows = tuple(part for part in parts if isinstance(part, Flow))
    links = tuple(part for part in parts if isinstance(part, Bottleneck))
    return flat(
        flows=flows,
        bottlenecks=links or (link(flows[0].cca),),
        duration_s=duration_s,
        **{"rtt_ms": RTT_MS, **settings},
    )


def rates(result: Run, from_s: float | None = None) -> list[float]:
    """Return the flows' mean throughputs in Mbit/s, by default in the second half of a run."""
    start = result.scenario.duration_s / 2 if from_s is None else from_s
    return [float(rate) for rate in result.throughput(0.5).loc[start:].mean()]


def queued(result: Run, bottleneck: int = 0) -> float:
    """Return the mean number of waiting packets in the second half of a run."""
    waiting = result.occupancy(0.005, bottleneck=bottleneck)
    return float(waiting.loc[result.scenario.duration_s / 2 :].mean())
