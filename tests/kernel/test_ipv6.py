# SPDX-License-Identifier: Apache-2.0
"""Flows over IPv6."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench import Bottleneck, Flow
from tests.kernel.conftest import dumbbell, run, run_with

if TYPE_CHECKING:
    from ccbench import Run, Scenario

pytestmark = pytest.mark.kernel

#: Headers of a TCP data packet in bytes: IP, TCP, timestamps.
HEADERS = {4: 20 + 20 + 12, 6: 40 + 20 + 12}
BACK = (Bottleneck(bandwidth_mbps=10, queue_packets=64),)
#: Every kind of flow.
KINDS = (
    Flow(),
    Flow(kind="bytes", size_bytes=200_000),
    Flow(kind="bytes", arrivals=((0.5, 30_000), (1.5, 50_000)), connections=1),
    Flow(kind="rate", rate_mbps=1),
    Flow(kind="onoff", on_s=1, off_s=0.5),
    Flow(kind="video", bitrates_mbps=(1, 2), segment_s=1, buffer_s=2),
    Flow(kind="cbr", rate_mbps=1),
    Flow(kind="poisson", rate_mbps=1),
)


def ipv6(flow: Flow, **settings: Any) -> Flow:
    """Return a flow over IPv6."""
    return replace(flow, ip_version=6, **settings)


def over(version: int, scenario: Scenario) -> Run:
    """Run a scenario with all flows over a version of IP."""
    flows = tuple(replace(flow, ip_version=version) for flow in scenario.flows)
    return run(replace(scenario, flows=flows))


def full_packets(result: Run) -> pd.DataFrame:
    """Return the log of full packets at the first queue."""
    log = result.queue_events(0)
    return log[log["bytes"] == 1500]


class TestSizes:
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    @pytest.mark.parametrize("version", [4, 6])
    def test_goodput(self, version: int, direction: str) -> None:
        """A full packet of 1500 bytes carries 1448 bytes of payload over IPv4, 1428 over IPv6."""
        scenario = dumbbell(Flow(direction=direction), duration_s=20, reverse_bottlenecks=BACK)
        summary = over(version, scenario).summary().iloc[0]
        payload = (1500 - HEADERS[version]) / 1500
        assert summary["throughput_mbps"] > 9
        assert summary["goodput_mbps"] / summary["throughput_mbps"] == pytest.approx(
            payload, rel=2e-3
        )

    @pytest.mark.parametrize("version", [4, 6])
    def test_acks(self, version: int) -> None:
        """A pure ACK is as large as the headers of a data packet."""
        result = over(version, dumbbell(Flow(), loss=0, duration_s=5, reverse_bottlenecks=BACK))
        acks = result.queue_events(1)
        assert acks.loc[acks["event"] == "dequeue", "bytes"].mode().iloc[0] == HEADERS[version]

    def test_udp(self) -> None:
        """UDP packets of the same size leave the queue at the same times over both versions."""
        flow = Flow(kind="cbr", rate_mbps=12, packet_bytes=1000)
        ipv4_log, ipv6_log = (over(ip, dumbbell(flow, duration_s=2)).queue for ip in (4, 6))
        pd.testing.assert_frame_equal(ipv4_log, ipv6_log)

    def test_udp_goodput(self) -> None:
        """The headers of a UDP packet have 48 bytes."""
        summary = over(6, dumbbell(Flow(kind="cbr", rate_mbps=1, packet_bytes=480))).summary()
        ratio = summary["goodput_mbps"].iloc[0] / summary["throughput_mbps"].iloc[0]
        assert ratio == pytest.approx(0.9, rel=5e-3)


class TestPath:
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_kinds(self, direction: str) -> None:
        """Every kind of flow can use IPv6 in each direction."""
        flows = (ipv6(flow, direction=direction) for flow in KINDS)
        scenario = dumbbell(*flows, bandwidth_mbps=20, reverse_bottlenecks=BACK)
        result = run(
            replace(
                scenario, path=replace(scenario.path, reverse_bottlenecks=scenario.path.bottlenecks)
            )
        )
        summary = result.summary()
        assert (summary["goodput_mbps"] > 0.05).all()
        assert (result.completion_times()["fct_s"] > 0).all()

    def test_only_packets_of_flows(self) -> None:
        """No host sends packets of its own, such as router solicitations."""
        flows = (ipv6(Flow(start_s=5, stop_s=10)), Flow(start_s=6, stop_s=10))
        result = run(dumbbell(*flows, duration_s=30, reverse_bottlenecks=BACK))
        for number in (0, 1):
            log = result.queue_events(number)
            assert {0, 1} == set(log["flow"])
            assert log["time_ns"].min() >= 5e9
            assert log["time_ns"].max() < 11e9

    def test_both_versions_share(self) -> None:
        """Flows of both versions share a link equally, in bytes."""
        flows = (Flow(cca="reno"), ipv6(Flow(cca="reno"), start_s=0.5))
        result = run(dumbbell(*flows, queue_packets=66, duration_s=120, queue_log=False))
        late = result.throughput(1.0).loc[20:]
        assert late[0].mean() / late[1].mean() == pytest.approx(1, abs=0.3)
        assert late.sum(axis=1).mean() == pytest.approx(10, rel=0.02)

    def test_resets(self) -> None:
        """All packets of a flow that stops belong to it, also answers to packets after its end."""
        flow = ipv6(Flow(stop_s=2))
        result = run(dumbbell(flow, queue_packets=200, duration_s=5, reverse_bottlenecks=BACK))
        for number in (0, 1):
            assert {0} == set(result.queue_events(number)["flow"])

    def test_fair_queueing(self) -> None:
        """FQ-CoDel separates flows over IPv6 from each other and from others."""
        call = Flow(kind="cbr", rate_mbps=1)
        flows = (ipv6(Flow(kind="cbr", rate_mbps=20)), ipv6(call), call)
        result = run(dumbbell(*flows, qdisc="fq_codel", queue_packets=500))
        late = result.throughput(1.0).loc[2:].mean()
        assert late.to_list() == pytest.approx([8, 1, 1], rel=0.02)


class TestEcn:
    def test_dctcp(self) -> None:
        """A queue marks packets of DCTCP over IPv6 as it marks those over IPv4."""
        link = Bottleneck(
            bandwidth_mbps=50,
            queue_packets=400,
            qdisc="codel",
            qdisc_options=(("ecn", True), ("ce_threshold_ms", 1)),
        )
        scenario = replace(
            dumbbell(Flow(cca="dctcp"), ecn=True),
            path=replace(dumbbell(Flow(cca="dctcp"), ecn=True).path, bottlenecks=(link,)),
        )
        results = [over(version, scenario) for version in (4, 6)]
        marks = [(full_packets(result)["event"] == "mark").sum() for result in results]
        assert marks[0] > 300
        assert marks[1] == pytest.approx(marks[0], rel=0.2)
        for result in results:
            assert result.summary()["drops"].iloc[0] == 0
            assert result.occupancy().loc[2:].mean() < 20

    def test_udp_field(self) -> None:
        """A UDP flow has the ECN field that it asks for: CE is no mark of the queue."""
        log = over(6, dumbbell(Flow(kind="cbr", rate_mbps=1, ecn="ce"), duration_s=2)).queue
        assert set(log["event"]) == {"enqueue", "dequeue"}

    def test_clears_ecn(self) -> None:
        """A router that clears ECN clears it over IPv6 as well, so that its queue drops."""
        options = (("ecn", True),)
        link = Bottleneck(
            bandwidth_mbps=10, queue_packets=400, qdisc="codel", qdisc_options=options
        )
        scenario = replace(
            dumbbell(Flow(), ecn=True),
            path=replace(dumbbell(Flow(), ecn=True).path, bottlenecks=(link,)),
        )
        assert (full_packets(over(6, scenario))["event"] == "mark").any()
        cleared = replace(
            scenario, path=replace(scenario.path, bottlenecks=(replace(link, clears_ecn=True),))
        )
        events = full_packets(over(6, cleared))["event"]
        assert not (events == "mark").any()
        assert (events == "drop").any()

    def test_prague(self) -> None:
        """Packets of Prague over IPv6 go to the L4S queue of DualPI2, those of CUBIC do not."""
        link = Bottleneck(bandwidth_mbps=20, queue_packets=2000, qdisc="dualpi2")
        flows = (ipv6(Flow(cca="prague")), ipv6(Flow(cca="cubic")))
        scenario = replace(
            dumbbell(*flows, duration_s=20, rtt_ms=20),
            path=replace(dumbbell(*flows, duration_s=20, rtt_ms=20).path, bottlenecks=(link,)),
        )
        log = run_with("prague", scenario).queue
        full = log[(log["bytes"] == 1500) & (log["event"] == "enqueue")]
        assert set(full.loc[full["flow"] == 0, "queue"]) == {"l4s"}
        assert set(full.loc[full["flow"] == 1, "queue"]) == {"classic"}
        assert (log.loc[log["flow"] == 0, "event"] == "mark").any()

    @pytest.mark.parametrize("cca", ["abc", "abc_ns", "abc_accecn"])
    def test_abc(self, cca: str) -> None:
        """ABC fills a link over IPv6 with a queue as short as over IPv4."""
        encoding = (("encoding", "proxied" if cca == "abc" else "full"),)
        link = Bottleneck(bandwidth_mbps=10, queue_packets=250, qdisc="abc", qdisc_options=encoding)
        scenario = replace(
            dumbbell(duration_s=20), path=replace(dumbbell(duration_s=20).path, bottlenecks=(link,))
        )
        results = [
            run_with(cca, replace(scenario, flows=(Flow(cca=cca, ip_version=version),)))
            for version in (4, 6)
        ]
        queues = [result.occupancy().loc[5:].mean() for result in results]
        rates = [result.throughput(1.0)[0].loc[5:].mean() for result in results]
        assert rates[0] > 9
        assert rates[1] == pytest.approx(rates[0], rel=0.03)
        assert queues[0] < 30
        assert queues[1] == pytest.approx(queues[0], rel=0.3, abs=2)
