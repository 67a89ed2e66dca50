# SPDX-License-Identifier: Apache-2.0
"""FAST behaves as its paper states (Jin, Wei and Low, INFOCOM 2004)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ccbench import Change, Flow, Run
from ccbench.base.errors import EngineError
from ccbench.metrics import jain_index
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

#: The module's default packets of a flow in the queue, and step per round trip.
ALPHA, GAMMA = 20, 0.5

MBPS, RTT_MS, DEEP = 24, 50, 400


def fast_run(*flows: Flow, duration_s: float = 20, **settings: Any) -> Run:
    """Run flows through a deep queue of 24 Mbit/s and 50 ms, or according to `settings`."""
    network = {"bandwidth_mbps": MBPS, "rtt_ms": RTT_MS, "queue_packets": DEEP, **settings}
    return run(dumbbell(*flows, duration_s=duration_s, **network))


def queued(result: Run) -> float:
    """Return the mean number of waiting packets in the second half of a run."""
    return float(result.occupancy(0.005).loc[result.scenario.duration_s / 2 :].mean())


def rates(result: Run) -> list[float]:
    """Return the flows' mean throughputs in Mbit/s in the second half of a run."""
    late = result.throughput(0.5).loc[result.scenario.duration_s / 2 :]
    return [float(rate) for rate in late.mean()]


@pytest.mark.parametrize(("bandwidth_mbps", "rtt_ms"), [(12, 40), (24, 100), (100, 40)])
def test_alone(bandwidth_mbps: float, rtt_ms: float) -> None:
    """A flow uses the whole link, with alpha packets in the queue."""
    result = fast_run(Flow(cca="fast"), bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms)
    assert rates(result)[0] > 0.99 * bandwidth_mbps
    assert queued(result) == pytest.approx(ALPHA, abs=3)


@pytest.mark.parametrize("alpha", [5, 80])
def test_alpha(alpha: int) -> None:
    """The parameter alpha is the number of packets in the queue."""
    parameters = {"tcp_fast.alpha": str(alpha)}
    assert queued(fast_run(Flow(cca="fast"), module_parameters=parameters)) == pytest.approx(
        alpha, abs=3
    )


@pytest.mark.parametrize("flows", [2, 4])
def test_equal_flows(flows: int) -> None:
    """Flows share equally, and each has alpha packets in the queue."""
    result = fast_run(*[Flow(cca="fast")] * flows)
    assert jain_index(rates(result)) > 0.99
    assert queued(result) == pytest.approx(ALPHA * flows, rel=0.1)


def test_different_rtts() -> None:
    """The equilibrium has no RTT: flows with 50 to 150 ms share equally."""
    result = fast_run(*(Flow(cca="fast", extra_rtt_ms=extra) for extra in (0, 50, 100)))
    assert jain_index(rates(result)) > 0.99


def test_late_flow() -> None:
    """A later flow takes the packets of the first for its path's delay, and gets more.

    With the queueing delay D in packets of the link, the first flow has the rate alpha / D, the
    second alpha / (D - alpha), and both fill the link: D = alpha (3 + sqrt(5)) / 2.
    """
    result = fast_run(Flow(cca="fast"), Flow(cca="fast", start_s=5))
    total = ALPHA * (3 + math.sqrt(5)) / 2
    assert queued(result) == pytest.approx(total, rel=0.1)
    assert rates(result)[0] == pytest.approx(MBPS * ALPHA / total, rel=0.1)


def test_growth() -> None:
    """On a link that is suddenly faster, the window grows by gamma * alpha per round trip."""
    result = fast_run(
        Flow(cca="fast"),
        bandwidth_mbps=10,
        rtt_ms=100,
        changes=(Change(at_s=10, bandwidth_mbps=200),),
    )
    window = result.samples("cwnd_packets")[0]
    before, after = (float(window.loc[:at_s].iloc[-1]) for at_s in (11.0, 16.0))
    assert after - before == pytest.approx(GAMMA * ALPHA * 50, rel=0.1)


@pytest.mark.parametrize("loss", [0.0001, 0.001])
def test_random_loss(loss: float) -> None:
    """Halving the window and growing by gamma * alpha give w = sqrt(3 gamma alpha / (2 p))."""
    mean = fast_run(
        Flow(cca="fast"), bandwidth_mbps=200, queue_packets=1000, loss=loss, duration_s=120
    )
    window = math.sqrt(1.5 * GAMMA * ALPHA / loss)
    assert rates(mean)[0] == pytest.approx(window * 1500 * 8 / (RTT_MS * 1e3), rel=0.2)


def test_starves_beside_cubic() -> None:
    """CUBIC fills the queue, which FAST takes for congestion."""
    fast, cubic = rates(fast_run(Flow(cca="fast"), Flow(cca="cubic"), duration_s=30))
    assert fast < cubic / 5


def test_state() -> None:
    """The reported RTTs and window are those of the flow."""
    result = fast_run(Flow(cca="fast"), duration_s=10)
    state = result.cca_info(0).loc[5:]
    assert (state["steady"] == 1).all()
    assert state["base_us"].to_numpy() == pytest.approx(RTT_MS * 1e3, rel=0.02)
    waiting_us = ALPHA * 1500 * 8 / MBPS
    assert (state["mean_us"] - state["base_us"]).mean() == pytest.approx(waiting_us, rel=0.15)
    window = result.samples("cwnd_packets")[0].loc[5:]
    assert state["target_packets"].mean() == pytest.approx(window.mean(), abs=2)


@pytest.mark.parametrize("value", ["0", "10001"])
def test_bad_parameter(value: str) -> None:
    """An alpha below 1 or above 10,000 is refused."""
    with pytest.raises(EngineError, match=r"tcp_fast\.alpha"):
        fast_run(Flow(cca="fast"), duration_s=1, module_parameters={"tcp_fast.alpha": value})
