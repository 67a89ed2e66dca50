# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel, and runs that several tests look at."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow, Scenario
from ccbench.emulate.kernel.engine import KernelEngine

if TYPE_CHECKING:
    from ccbench import Run


@pytest.fixture(scope="session")
def engine() -> KernelEngine:
    """Give the engine with the kernel that is installed."""
    return KernelEngine()


def dumbbell(
    *flows: Flow,
    bandwidth_mbps: float = 10,
    rtt_ms: float = 40,
    queue_packets: int = 64,
    duration_s: float = 10,
    qdisc: str = "droptail",
    loss: float = 0,
    **settings: Any,
) -> Scenario:
    """Make a scenario with one bottleneck."""
    bottleneck = Bottleneck(
        bandwidth_mbps=bandwidth_mbps, queue_packets=queue_packets, qdisc=qdisc, loss=loss
    )
    return Scenario(
        flows=flows or (Flow(cca="cubic"),),
        bottlenecks=(bottleneck,),
        rtt_ms=rtt_ms,
        duration_s=duration_s,
        **settings,
    )


@cache
def run(scenario: Scenario) -> Run:
    """Run a scenario once for all tests of a process."""
    return KernelEngine().run(scenario)
