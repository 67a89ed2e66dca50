# SPDX-License-Identifier: Apache-2.0
"""MulTCP (Crowcroft and Oechslin, CCR 1998) and the flow with a fixed window keep their laws."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from ccbench import Flow, Run
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

MBPS, RTT_MS = 24, 50
BDP_PACKETS = 100


def network_run(*flows: Flow, duration_s: float = 20, **settings: Any) -> Run:
    """Run flows through a queue of 24 Mbit/s and 50 ms, or according to `settings`."""
    network = {"bandwidth_mbps": MBPS, "rtt_ms": RTT_MS, "queue_packets": 100, **settings}
    return run(dumbbell(*flows, duration_s=duration_s, **network))


def late_mbps(result: Run) -> float:
    """Return the throughput of all flows together after the first fifth of a run."""
    late = result.throughput(0.5).loc[result.scenario.duration_s / 5 :]
    return float(late.sum(axis="columns").mean())


def test_one_flow_is_reno() -> None:
    """As one flow, MulTCP sends each packet at the time of Reno's."""
    networks = {"loss": 0.001, "duration_s": 30}
    reno = network_run(Flow(cca="reno"), **networks)
    multcp = network_run(
        Flow(cca="multcp"), module_parameters={"tcp_multcp.flows": "1"}, **networks
    )
    columns = ["time_ns", "cwnd_packets", "delivered_bytes", "retransmits"]
    pd.testing.assert_frame_equal(reno.flows[columns], multcp.flows[columns])


@pytest.mark.parametrize("loss", [0.0001, 0.001, 0.01])
def test_several_flows(loss: float) -> None:
    """With random losses, one flow as five gets the throughput of five Reno flows."""
    wide = {"bandwidth_mbps": 200, "queue_packets": 1000, "loss": loss, "duration_s": 100}
    one = network_run(Flow(cca="multcp"), module_parameters={"tcp_multcp.flows": "5"}, **wide)
    five = network_run(*[Flow(cca="reno")] * 5, **wide)
    assert late_mbps(one) == pytest.approx(late_mbps(five), rel=0.15)


@pytest.mark.parametrize("loss", [0, 0.01])
def test_fixed_window(loss: float) -> None:
    """A window below the BDP gives the rate window / RTT; losses do not change it."""
    result = network_run(
        Flow(cca="fixed"), loss=loss, module_parameters={"tcp_fixed.packets": "50"}
    )
    assert late_mbps(result) == pytest.approx(50 * 1500 * 8 / (RTT_MS * 1e3), rel=0.05)
    assert set(result.samples("cwnd_packets")[0].loc[1:]) == {50}


def test_fixed_queue() -> None:
    """What a window has above the BDP waits in the queue."""
    result = network_run(Flow(cca="fixed"), module_parameters={"tcp_fixed.packets": "150"})
    waiting = float(result.occupancy(0.005).loc[5:].mean())
    assert waiting == pytest.approx(150 - BDP_PACKETS, abs=3)
