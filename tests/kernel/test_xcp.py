# SPDX-License-Identifier: Apache-2.0
"""XCP behaves as its paper states (Katabi, Handley and Rohrs, SIGCOMM 2002), and XCPw as ABC's."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Change, Flow
from ccbench.metrics import jain_index
from ccbench.studies.abc.links import two_rates
from tests.kernel.conftest import events, qdisc_statistics, run
from tests.kernel.explicit import BDP, MBPS, RTT_MS, link, path, queued, rates

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

UPDATES = ("interval", "packet")
#: The fields of ``struct tc_xcp_xstats``.
XSTATS = [
    "capacity",
    "input_rate",
    "feedback",
    "positive",
    "negative",
    "rtt_us",
    "queue_bytes",
    "answered",
    "others",
]


class TestEfficiency:
    @pytest.mark.parametrize("update", UPDATES)
    @pytest.mark.parametrize(("mbps", "rtt_ms", "count"), [(12, 40, 1), (24, 100, 5), (100, 40, 2)])
    def test_full_link(self, update: str, mbps: float, rtt_ms: float, count: int) -> None:
        """Flows use the link with a queue of a few percent of the BDP, and no drops (5.1)."""
        flows = Flow(cca="xcp", count=count)
        result = run(path(flows, link("xcp", mbps, update=update), rtt_ms=rtt_ms))
        assert sum(rates(result)) > 0.98 * mbps
        assert queued(result) < 0.05 * mbps * 1e3 * rtt_ms / 8 / 1500 + 2
        assert len(events(result, "drop")) == 0

    def test_starts_fast(self) -> None:
        """A new flow has nine tenths of an idle link within ten round trips, without drops."""
        result = run(path(Flow(cca="xcp"), duration_s=2))
        assert float(result.throughput(0.1)[0].loc[10 * RTT_MS / 1e3 :].mean()) > 0.9 * MBPS
        assert len(events(result, "drop")) == 0

    @pytest.mark.parametrize("alpha", [0.2, 0.4])
    def test_spare_capacity(self, alpha: float) -> None:
        """Spare capacity s follows s' = -alpha s(t - d) / d (4), after an RTT and an interval."""
        faster = Change(at_s=10, bandwidth_mbps=4 * MBPS)
        flows = Flow(cca="xcp", count=4)
        result = run(path(flows, link("xcp", alpha=alpha), duration_s=15, changes=(faster,)))
        rows = events(result, "enqueue")
        since_rtts = (rows["time_ns"].to_numpy() / 1e9 - 10) / (RTT_MS / 1e3)
        bins = np.arange(0, 15)
        sent = np.histogram(since_rtts, bins, weights=rows["bytes"].to_numpy(float))[0]
        spare = 1 - sent * 8e-3 / RTT_MS / (4 * MBPS)
        assert spare[0] == pytest.approx(0.75, abs=0.05)
        measured = int(np.argmax(spare < 0.75 / 2))

        steps = 100  # per RTT
        course = [0.75] * steps
        while course[-1] > 0.75 / 2:
            course.append(course[-1] - alpha / steps * course[-steps])
        expected = len(course) / steps - 1
        # The grant of an interval is known at its end, and effective a RTT later.
        assert expected + 0.5 < measured < expected + 3

    @pytest.mark.parametrize("update", UPDATES)
    def test_smaller_capacity(self, update: str) -> None:
        """A link that becomes four times slower has its usual queue again after 2 s."""
        slower = Change(at_s=10, bandwidth_mbps=MBPS / 4)
        result = run(path(Flow(cca="xcp"), link("xcp", update=update), changes=(slower,)))
        assert float(result.occupancy(0.005).loc[12:].mean()) < 10
        assert rates(result, 12)[0] > 0.95 * MBPS / 4


class TestFairness:
    STAGGERED = tuple(Flow(cca="xcp", start_s=2.0 * i) for i in range(4))

    @pytest.mark.parametrize("update", UPDATES)
    def test_late_flows(self, update: str) -> None:
        """Flows that start later have equal shares after some ten round trips (5.3)."""
        result = run(path(*self.STAGGERED, link("xcp", update=update)))
        assert jain_index(rates(result, 9)) > 0.99

    def test_without_shuffling(self) -> None:
        """Without shuffled traffic, a full link has nothing to give to a flow that starts later."""
        result = run(path(*self.STAGGERED, link("xcp", gamma=0)))
        assert jain_index(rates(result, 9)) < 0.7

    @pytest.mark.parametrize("update", UPDATES)
    def test_round_trip_times(self, update: str) -> None:
        """Flows whose RTTs differ by up to four times have equal shares (5.3)."""
        flows = tuple(Flow(cca="xcp", extra_rtt_ms=100 * i) for i in range(4))
        result = run(path(*flows, link("xcp", update=update), duration_s=60))
        assert jain_index(rates(result)) > 0.99


class TestRouters:
    def test_statistics(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """In equilibrium, the router's input is its capacity, and it only shuffles traffic."""
        (data,) = qdisc_statistics(monkeypatch, engine, path(Flow(cca="xcp"), duration_s=10))
        state = dict(zip(XSTATS, struct.unpack("=2Qq2Q4I", data), strict=True))
        assert state["capacity"] == pytest.approx(MBPS * 1e6 / 8, rel=0.01)
        assert state["input_rate"] == pytest.approx(state["capacity"], rel=0.03)
        assert abs(state["feedback"]) < 0.03 * state["capacity"]
        assert state["positive"] - state["negative"] == state["feedback"]
        assert state["rtt_us"] == pytest.approx(RTT_MS * 1e3, rel=0.1)
        assert state["answered"] > 100 * state["others"]

    def test_losses(self) -> None:
        """Random losses halve the window, and the router fills the link again within RTTs."""
        result = run(path(Flow(cca="xcp"), replace(link("xcp"), loss=0.001), duration_s=60))
        # A loss per 5 RTTs of 200 packets; Reno has a third of that.
        assert 0.6 * MBPS < rates(result, 5)[0] < 0.95 * MBPS


class TestWireless:
    def test_alternating_link(self) -> None:
        """On a link of 12 and 24 Mbit/s in turn, XCPw uses much more than XCP (ABC, Figure 19)."""
        uses = [
            run(
                path(Flow(cca="xcp"), link("xcp", two_rates(), alpha=0.55, beta=0.4, update=update))
            ).utilisation()
            for update in UPDATES
        ]
        assert uses[1] > 0.85
        assert uses[1] > uses[0] + 0.1

    def test_outage(self) -> None:
        """An outage of 3 s inflates the window by RTTs of seconds, unless these are limited."""
        outage = Change(at_s=5, outage_s=3)
        largest = {}
        for most_rtts in (0, 2):
            result = run(
                path(
                    Flow(cca="xcp"),
                    changes=(outage,),
                    module_parameters={"tcp_xcp.most_rtts": str(most_rtts)},
                )
            )
            largest[most_rtts] = result.samples("cwnd_packets")[0].loc[5:].max()
            # The router drains the queue in both cases.
            assert float(result.occupancy(0.005).loc[15:].mean()) < 10
        assert largest[2] < 3 * BDP
        assert largest[0] > 2 * largest[2]


class TestFlows:
    def test_state(self) -> None:
        """The reported window is that of the socket, and fills the path."""
        result = run(path(Flow(cca="xcp")))
        windows = result.cca_info(0)["window_packets"].loc[10:]
        assert windows.mean() == pytest.approx(BDP, rel=0.05)
        sampled = result.samples("cwnd_packets")[0].loc[10:]
        assert np.abs(windows.to_numpy() - sampled.to_numpy()).max() <= 1
