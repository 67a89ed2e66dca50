# SPDX-License-Identifier: Apache-2.0
"""Copa behaves as its paper states (Arun and Balakrishnan, NSDI 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Flow, Run
from ccbench.base.errors import EngineError
from ccbench.metrics import jain_index
from tests.kernel.conftest import dumbbell, run

pytestmark = pytest.mark.kernel

#: Target of a flow in the default mode for its packets in the queue, 1/delta.
INVERSE_DELTA = 2

#: A queue of 2 BDP at 24 Mbit/s and 50 ms: the sender decides whether it fills up.
MBPS, RTT_MS, DEEP = 24, 50, 200

NETWORKS = [(12, 40), (12, 100), (24, 50), (24, 100)]


def copa_run(
    *flows: Flow, queue_packets: int = DEEP, duration_s: float = 30, **settings: Any
) -> Run:
    """Run flows through a queue of 24 Mbit/s and 50 ms, or according to `settings`."""
    network = {"bandwidth_mbps": MBPS, "rtt_ms": RTT_MS, **settings}
    return run(dumbbell(*flows, queue_packets=queue_packets, duration_s=duration_s, **network))


def mbps(result: Run, start_s: float, stop_s: float | None = None) -> np.ndarray:
    """Return the flows' mean throughputs in a part of a run."""
    return result.throughput(0.5).loc[start_s:stop_s].mean().to_numpy()


def waiting(result: Run, start_s: float, stop_s: float | None = None) -> pd.Series:
    """Return the backlog in packets, every 5 ms of a part of a run."""
    return result.occupancy(0.005).loc[start_s:stop_s]


@pytest.mark.parametrize("cca", ["copa", "copa_default"])
class TestAlone:
    @pytest.mark.parametrize(("bandwidth_mbps", "rtt_ms"), NETWORKS)
    def test_uses_the_link(self, cca: str, bandwidth_mbps: float, rtt_ms: float) -> None:
        """The queue is empty only for moments, so no capacity is unused."""
        result = copa_run(Flow(cca=cca), bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms)
        assert mbps(result, 5)[0] > 0.97 * bandwidth_mbps

    @pytest.mark.parametrize(("bandwidth_mbps", "rtt_ms"), NETWORKS)
    def test_queue(self, cca: str, bandwidth_mbps: float, rtt_ms: float) -> None:
        """The queue swings between 0 and 2.5/delta packets, its mean is 1.25/delta (section 3)."""
        result = copa_run(Flow(cca=cca), bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms)
        queue = waiting(result, 10)
        assert 1.25 * INVERSE_DELTA == pytest.approx(queue.mean(), abs=1)
        assert 2.5 * INVERSE_DELTA == pytest.approx(queue.quantile(0.99), abs=1)

    @pytest.mark.parametrize(("bandwidth_mbps", "rtt_ms"), NETWORKS)
    def test_empties_the_queue(self, cca: str, bandwidth_mbps: float, rtt_ms: float) -> None:
        """At least once in five round trips at most one packet waits (section 2.2)."""
        result = copa_run(Flow(cca=cca), bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms)
        queue = result.occupancy(0.0005).loc[10:]
        round_trip_s = rtt_ms / 1e3 + queue.mean() * 1500 * 8 / (bandwidth_mbps * 1e6)
        assert queue.rolling(round(5 * round_trip_s / 0.0005)).min().max() <= 1

    def test_starts_fast(self, cca: str) -> None:
        """Slow start doubles the window in each round trip: 200 packets are reached in six."""
        result = copa_run(Flow(cca=cca), rtt_ms=100)
        windows = result.flows.set_index("time_ns")["cwnd_packets"]
        assert windows.loc[:0.8e9].max() >= 200  # a round trip is the handshake's
        assert windows.loc[:0.35e9].max() <= 80

    def test_random_loss(self, cca: str) -> None:
        """Random losses, even of one packet in a hundred, have no effect."""
        for loss in (0.001, 0.01):
            result = copa_run(Flow(cca=cca), loss=loss)
            assert mbps(result, 5)[0] > 0.95 * MBPS
            assert waiting(result, 5).mean() < 1.25 * INVERSE_DELTA + 1

    def test_queue_of_one_packet(self, cca: str) -> None:
        """If no delay signals congestion, about a tenth is lost, not half."""
        result = copa_run(Flow(cca=cca), queue_packets=1)
        events = result.queue.loc[result.queue["time_ns"] > 5e9, "event"].value_counts()
        assert 0 < events["drop"] / events["enqueue"] < 0.15


class TestPauses:
    def test_idle_flow_is_not_taken_for_competition(self) -> None:
        """After a pause of 40 round trips the queue is as short as before."""
        result = copa_run(Flow(cca="copa", kind="onoff", on_s=4, off_s=2))
        sending = [waiting(result, start_s + 2, start_s + 4) for start_s in (6, 12, 18, 24)]
        assert pd.concat(sending).mean() < 1.25 * INVERSE_DELTA + 1

    def test_window_that_is_not_used(self) -> None:
        """The window of an application-limited flow stops growing."""
        result = copa_run(Flow(cca="copa", kind="rate", rate_mbps=8))
        late = result.flows.loc[result.flows["time_ns"] > 8e9, "cwnd_packets"]
        assert late.min() == late.max()


class TestSharing:
    @pytest.mark.parametrize("cca", ["copa", "copa_default"])
    @pytest.mark.parametrize("flows", [2, 3, 4])
    def test_equal_flows(self, cca: str, flows: int) -> None:
        """Flows share equally, and each adds 1.25/delta packets to the queue."""
        result = copa_run(Flow(cca=cca, count=flows), duration_s=60)
        assert jain_index(mbps(result, 15)) > 0.99
        mean = waiting(result, 15).mean()
        assert 1.25 * INVERSE_DELTA * flows == pytest.approx(mean, rel=0.25)

    def test_period(self) -> None:
        """Flows swing together, once in five round trips (section 3)."""
        queue = waiting(copa_run(Flow(cca="copa", count=4), rtt_ms=100, duration_s=60), 15)
        spectrum = np.abs(np.fft.rfft(queue - queue.mean()))
        period_s = 0.005 * len(queue) / (1 + spectrum[1:].argmax())
        round_trip_s = 0.1 + queue.mean() * 1500 * 8 / (MBPS * 1e6)
        assert 5 == pytest.approx(period_s / round_trip_s, rel=0.2)

    @pytest.mark.parametrize("cca", ["copa", "copa_default"])
    @pytest.mark.parametrize("extra_rtts_ms", [(0, 40), (0, 40, 80)])
    def test_different_rtts(self, cca: str, extra_rtts_ms: tuple[float, ...]) -> None:
        """The target is a rate: flows of different RTTs share fairly, and the queue is short."""
        flows = [Flow(cca=cca, extra_rtt_ms=ms, start_s=i) for i, ms in enumerate(extra_rtts_ms)]
        result = copa_run(*flows, rtt_ms=40, duration_s=60)
        assert jain_index(mbps(result, 20)) > 0.95
        assert waiting(result, 20).mean() < 2 * 1.25 * INVERSE_DELTA * len(flows)


class TestCubic:
    @pytest.mark.parametrize("queue_packets", [50, 100, 200])
    def test_competitive_mode(self, queue_packets: int) -> None:
        """Beside CUBIC Copa gets a share of the same order."""
        result = copa_run(
            Flow(cca="copa"), Flow(cca="cubic"), queue_packets=queue_packets, duration_s=60
        )
        assert 0.33 < mbps(result, 20)[0] / MBPS < 0.67

    def test_default_mode_starves(self) -> None:
        """Copa in the default mode gets almost nothing beside CUBIC."""
        result = copa_run(
            Flow(cca="copa_default"), Flow(cca="cubic"), queue_packets=100, duration_s=60
        )
        assert mbps(result, 20)[0] / MBPS < 0.1

    @pytest.mark.parametrize("queue_packets", [100, 200])
    def test_back_to_the_default_mode(self, queue_packets: int) -> None:
        """When CUBIC has left, the queue is short again, and the link is used."""
        result = copa_run(
            Flow(cca="copa"),
            Flow(cca="cubic", start_s=10, stop_s=40),
            queue_packets=queue_packets,
            duration_s=60,
        )
        assert waiting(result, 20, 40).mean() > queue_packets / 2
        assert waiting(result, 50).mean() < 1.25 * INVERSE_DELTA + 1
        assert mbps(result, 50)[0] > 0.97 * MBPS


class TestUnresponsive:
    def test_a_little_cross_traffic(self) -> None:
        """Beside UDP on a quarter of the link Copa stays in the default mode and uses the rest."""
        result = copa_run(Flow(cca="copa"), Flow(kind="cbr", rate_mbps=6), duration_s=60)
        assert waiting(result, 20).mean() < 10
        assert mbps(result, 20)[0] > 0.95 * 18

    def test_too_much_cross_traffic(self) -> None:
        """UDP on five sixths is taken for CUBIC, as in Goyal's thesis (appendix G.3)."""
        result = copa_run(Flow(cca="copa"), Flow(kind="cbr", rate_mbps=20), duration_s=60)
        assert waiting(result, 20).mean() > 0.3 * DEEP


class TestModule:
    def test_state(self) -> None:
        """The reported mode, 1/delta and RTTs of a flow are those set and observed."""
        result = copa_run(
            Flow(cca="copa_default"),
            duration_s=10,
            module_parameters={"tcp_copa.inverse_delta": "25"},
        )
        state = result.cca_info(0).loc[5:]
        assert (state["default_mode"] == 1).all()
        assert (state["inverse_delta"] == 25).all()
        assert (state["min_us"] >= 1e3 * RTT_MS).all()
        assert (state["standing_us"] >= state["min_us"]).all()

    @pytest.mark.parametrize("value", ["0", "1001"])
    def test_bad_parameter(self, value: str) -> None:
        """1/delta below 1 or above 1000 is refused."""
        message = rf"module_parameters\.tcp_copa\.inverse_delta = '{value}' is refused"
        with pytest.raises(EngineError, match=message):
            copa_run(
                Flow(cca="copa"),
                duration_s=1,
                module_parameters={"tcp_copa.inverse_delta": value},
            )
