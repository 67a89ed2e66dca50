# SPDX-License-Identifier: Apache-2.0
"""Delays that follow a trace, or a model of Wi-Fi, have its values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ccbench import Bottleneck, Change, Flow, Noise, RttTrace, Run, Scenario
from ccbench.run.packets import delivered
from tests.kernel.conftest import run
from tests.scenarios import flat

pytestmark = pytest.mark.kernel

LINK = Bottleneck(bandwidth_mbps=10, queue_packets=1000)


def path(*flows: Flow, **settings: Any) -> Scenario:
    """Return a scenario over a link of 10 Mbit/s and 40 ms."""
    values = {"rtt_ms": 40, "duration_s": 20, "sample_interval_ms": 1, **settings}
    return flat(flows=flows, bottlenecks=(LINK,), **values)


def delays_ms(result: Run) -> npt.NDArray[np.float64]:
    """Return the time from the link to the receiver of the packets of a slow flow."""
    log = result.queue_events()
    left_ms = log.loc[log["event"] == "dequeue", "time_ns"].to_numpy() / 1e6 + 1.2
    received = result.samples("delivered_bytes")[0]
    arrived_ms = received.index[received.diff() > 0].to_numpy() * 1e3
    # A sample shows an arrival up to 1 ms later; the last packet may be under way.
    return arrived_ms - left_ms[: arrived_ms.size] - 0.5


class TestTrace:
    TRACE = RttTrace(points=((0, 40), (4, 40), (4, 120), (9, 60), (10, 40)))

    def test_values(self) -> None:
        """The RTT of a slow flow is that of the trace, linear between its points, periodically."""
        flow = Flow(kind="rate", rate_mbps=0.2, acks="every")
        result = run(path(flow, rtt_trace=self.TRACE))
        srtt_ms = result.samples("srtt_us")[0] / 1e3
        # Of the last RTTs, TCP's mean has a weight of 7/8 per RTT; at most 1.2 ms are on the link.
        at_s = np.array([3.9, 13.9])
        assert srtt_ms.loc[at_s].to_numpy() == pytest.approx(41, abs=1)
        for start_s, end_s in ((6.5, 8.9), (16.5, 18.9)):
            drift = srtt_ms.loc[start_s:end_s]
            slope = np.polyfit(drift.index, drift, 1)[0]
            assert slope == pytest.approx(-12, abs=0.5)  # 60 ms in 5 s

    def test_constant(self) -> None:
        """A trace that does not vary is the constant RTT, in every packet."""
        flat = RttTrace(points=((0, 40), (3, 40)))
        flows = Flow(cca="bbr"), Flow(cca="cubic")
        assert run(path(*flows, rtt_trace=flat)).queue.equals(run(path(*flows)).queue)

    def test_order(self) -> None:
        """Packets keep their order when the RTT falls at once."""
        trace = RttTrace(points=((0, 100), (2, 100), (2, 20), (4, 20)))
        result = run(path(Flow(kind="rate", rate_mbps=5), rtt_trace=trace, forward_delay_ms=10))
        assert set(result.flows["state"]) == {"open"}
        assert result.summary()["retransmits"].iloc[0] == 0

    def test_one_way_delay(self) -> None:
        """Delays of single packets follow the trace."""
        packets = delivered(run(path(Flow(kind="cbr", rate_mbps=1), rtt_trace=self.TRACE)))
        expected_ms = 1.2 + self.TRACE.at(packets["arrival_s"] + 0.0012) / 2
        assert packets["one_way_ms"].to_numpy() == pytest.approx(expected_ms, abs=0.01)


class TestWifi:
    def slow(self, target_ms: float, seed: int = 1, **settings: Any) -> npt.NDArray[np.float64]:
        """Return the jitter of packets that are too far apart to wait for each other."""
        flow = Flow(kind="cbr", rate_mbps=0.024)
        noise = Noise(wifi_jitter_ms=target_ms)
        return delays_ms(run(path(flow, noise=noise, duration_s=400, seed=seed, **settings)))

    def test_collision_avoidance(self) -> None:
        """Up to a target of 1 ms, the delay is N1 slots less a part of one: 0.68 ms in the mean."""
        jitter_ms = self.slow(1)
        expected_ms = 1 - 0.5 * (1 - math.exp(-1))
        assert jitter_ms.size >= 795
        # Its variance is that of N1, 1, plus 1/12 in 63 %, less a covariance: below 1.
        assert jitter_ms.mean() == pytest.approx(expected_ms, abs=4 / math.sqrt(jitter_ms.size))
        assert jitter_ms.max() < 8

    @pytest.mark.parametrize(("target_ms", "share"), [(19, 0.2), (46, 0.5), (91, 1.0)])
    def test_retransmissions(self, target_ms: float, share: float) -> None:
        """The share (target - 1) / 90 of the packets has retransmissions, of 90 ms in the mean."""
        jitter_ms = self.slow(target_ms)
        late = jitter_ms > 15  # N2 of 3 or more: 99.95 % of those with retransmissions
        deviation = math.sqrt(share * (1 - share) / jitter_ms.size)
        assert late.mean() == pytest.approx(share, abs=4 * deviation + 0.002)
        # 12 slots of 7.5 ms with a deviation of sqrt(12) slots.
        spread_ms = 7.5 * math.sqrt(12 / late.sum())
        assert jitter_ms[late].mean() == pytest.approx(90.7, abs=4 * spread_ms)
        assert jitter_ms[late].std() == pytest.approx(7.5 * math.sqrt(12), rel=0.15)

    def test_seeds(self) -> None:
        """Draws of adjacent seeds and of packets are independent."""
        one, two = self.slow(46, seed=1), self.slow(46, seed=2)
        count = min(one.size, two.size)
        limit = 4 / math.sqrt(count)
        assert abs(np.corrcoef(one[:count], two[:count])[0, 1]) < limit
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < limit

    def test_order(self) -> None:
        """Packets of one flow keep their order, so that nothing is retransmitted."""
        noise = Noise(wifi_jitter_ms=7)
        result = run(path(Flow(kind="rate", rate_mbps=5), noise=noise))
        assert set(result.flows["state"]) == {"open"}

    def test_both_directions(self) -> None:
        """ACKs are delayed as well: the RTT of a slow flow has the jitter twice."""
        flow = Flow(kind="cbr", rate_mbps=0.024)
        forward_ms = self.slow(91).mean()
        noise = Noise(wifi_jitter_ms=91)
        echo = Flow(kind="rate", rate_mbps=0.024, acks="every")
        result = run(path(echo, noise=noise, duration_s=400))
        assert flow.rate_mbps == echo.rate_mbps
        srtt_ms = result.samples("srtt_us")[0].loc[20:].mean() / 1e3
        assert srtt_ms == pytest.approx(40 + 1.2 + 2 * forward_ms, rel=0.05)

    def test_change(self) -> None:
        """A change sets the target, also from and to none."""
        changes = (Change(at_s=100, wifi_jitter_ms=91), Change(at_s=300, wifi_jitter_ms=0))
        flow = Flow(kind="cbr", rate_mbps=0.024)
        jitter_ms = delays_ms(run(path(flow, changes=changes, duration_s=400)))
        assert jitter_ms[:199] == pytest.approx(0, abs=0.51)
        assert jitter_ms[201:599].mean() == pytest.approx(90.7, abs=6)
        assert jitter_ms[602:] == pytest.approx(0, abs=0.51)
