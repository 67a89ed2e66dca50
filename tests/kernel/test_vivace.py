# SPDX-License-Identifier: Apache-2.0
"""PCC Vivace behaves as its paper states (Dong et al., NSDI 2018)."""

from __future__ import annotations

from typing import Any

import pytest

from ccbench import Flow, Run
from ccbench.base.errors import EngineError
from ccbench.metrics import jain_index
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

MBPS, RTT_MS, DEEP = 24, 50, 200
#: Above this share of lost packets the utility of 24 Mbit/s decreases: 0.9 * 24^-0.1 / 11.35.
MOST_LOSS = 0.058


def vivace_run(*flows: Flow, duration_s: float = 40, **settings: Any) -> Run:
    """Run flows through a queue of 2 BDP at 24 Mbit/s and 50 ms, or according to `settings`."""
    network = {"bandwidth_mbps": MBPS, "rtt_ms": RTT_MS, "queue_packets": DEEP, **settings}
    return run(dumbbell(*flows, duration_s=duration_s, **network))


def rates(result: Run) -> list[float]:
    """Return the flows' mean throughputs in Mbit/s in the second half of a run."""
    late = result.throughput(0.5).loc[result.scenario.duration_s / 2 :]
    return [float(rate) for rate in late.mean()]


def queued(result: Run) -> float:
    """Return the mean number of waiting packets in the second half of a run."""
    return float(result.occupancy(0.005).loc[result.scenario.duration_s / 2 :].mean())


@pytest.mark.parametrize(("bandwidth_mbps", "rtt_ms"), [(12, 40), (24, 100), (100, 40)])
def test_alone(bandwidth_mbps: float, rtt_ms: float) -> None:
    """A flow uses the link but for a part of its probes of 5 %, and the queue stays empty."""
    result = vivace_run(Flow(cca="vivace"), bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms)
    assert 0.93 * bandwidth_mbps < rates(result)[0] <= bandwidth_mbps
    assert queued(result) < 10


def test_starts_fast() -> None:
    """The rate doubles per interval: a link of 24 Mbit/s is full within a second."""
    result = vivace_run(Flow(cca="vivace"), duration_s=2)
    assert float(result.throughput(0.5)[0].loc[1:2].mean()) > 0.85 * MBPS


def test_late_flow() -> None:
    """Equal flows converge to equal rates, whichever starts first."""
    result = vivace_run(Flow(cca="vivace"), Flow(cca="vivace", start_s=10), duration_s=120)
    assert jain_index(rates(result)) > 0.98
    assert sum(rates(result)) > 0.9 * MBPS


@pytest.mark.parametrize(("loss", "least", "most"), [(0.01, 0.8, 1), (4 * MOST_LOSS, 0, 0.3)])
def test_random_loss(loss: float, least: float, most: float) -> None:
    """A loss of 1 % costs little; four times the share at which the utility turns, nearly all."""
    share = rates(vivace_run(Flow(cca="vivace"), loss=loss))[0] / MBPS
    assert least <= share <= most


def test_constant_traffic() -> None:
    """Next to constant traffic on half of the link, a flow takes most of the rest."""
    result = vivace_run(Flow(cca="vivace"), Flow(kind="cbr", rate_mbps=12))
    assert rates(result)[0] > 0.85 * (MBPS - 12)
    assert queued(result) < 30


def test_without_latency() -> None:
    """With b = 0 only losses limit the rate, so that the queue is full for long."""
    parameters = {"tcp_vivace.latency": "0"}
    result = vivace_run(Flow(cca="vivace"), module_parameters=parameters)
    assert rates(result)[0] > 0.93 * MBPS
    assert queued(result) > DEEP / 4


def test_application_limited() -> None:
    """An application that sends less than the rate does not drive the rate up."""
    result = vivace_run(Flow(cca="vivace", kind="rate", rate_mbps=6), duration_s=20)
    assert result.cca_info(0)["rate_mbps"].loc[10:].max() < 4 * MBPS
    assert rates(result)[0] == pytest.approx(6, rel=0.1)


def test_state() -> None:
    """The reported rate is the one near which the flow sends."""
    result = vivace_run(Flow(cca="vivace"), duration_s=20)
    state = result.cca_info(0).loc[5:]
    assert (state["probing"] == 1).all()
    assert state["rate_mbps"].mean() == pytest.approx(MBPS, rel=0.1)
    assert set(state["trend"]) & {-1, -2}
    assert set(state["trend"]) & {1, 2}


@pytest.mark.parametrize(("name", "value"), [("latency", "-1"), ("loss", "1000001")])
def test_bad_parameter(name: str, value: str) -> None:
    """Factors out of range are refused."""
    parameters = {f"tcp_vivace.{name}": value}
    with pytest.raises(EngineError, match=rf"tcp_vivace\.{name}"):
        vivace_run(Flow(cca="vivace"), duration_s=1, module_parameters=parameters)
