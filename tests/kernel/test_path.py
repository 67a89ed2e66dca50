# SPDX-License-Identifier: Apache-2.0
"""The emulated path obeys the laws of links and queues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario, Trace
from ccbench.experiment import qdiscs
from ccbench.experiment.noise import Noise
from ccbench.run.packets import delivered
from tests.kernel.conftest import dumbbell, events, run

pytestmark = pytest.mark.kernel

MIXED = (Flow(cca="bbr"), Flow(cca="cubic"), Flow(kind="cbr", rate_mbps=1))

#: All qdiscs except tbf, whose rate has no default; tests/kernel/test_qdiscs.py tests it.
QDISCS = [
    name
    for name, qdisc in qdiscs.QDISCS.items()
    if not any(option.is_required for option in qdisc.options.values())
]


class TestConservation:
    @pytest.mark.parametrize("qdisc", QDISCS)
    def test_packets(self, qdisc: str) -> None:
        """For each flow, enqueued = dequeued + dropped + left over, whenever the qdisc drops."""
        result = run(dumbbell(*MIXED, qdisc=qdisc))
        counts = pd.crosstab(result.queue["flow"], result.queue["event"])
        left = counts["enqueue"] - counts["dequeue"] - counts["drop"]
        assert (left >= 0).all()
        assert left.sum() == result.queue["backlog_packets"].iloc[-1]
        assert (counts["dequeue"] > 0).all()

    def test_backlog(self) -> None:
        """The backlog is never negative, and is 0 in packets when it is 0 in bytes."""
        queue = run(dumbbell(*MIXED)).queue
        packets, size = queue["backlog_packets"], queue["backlog_bytes"]
        assert packets.max() <= 65  # 64 and one that is being refused
        assert ((packets == 0) == (size == 0)).all()
        assert (size <= 1500 * packets).all()

    def test_order(self) -> None:
        """Events are recorded in order of time, and none after the end."""
        queue = run(dumbbell(*MIXED)).queue
        assert queue["time_ns"].is_monotonic_increasing
        assert queue["time_ns"].between(0, 10_000_000_000).all()

    def test_samples_equal_the_log(self) -> None:
        """The running totals of the samples equal those of the queue log at the same instant."""
        result = run(dumbbell(*MIXED))
        for flow in range(3):
            samples = result.flows[result.flows["flow"] == flow]
            own = result.queue[result.queue["flow"] == flow]
            drops = np.sort(own.loc[own["event"] == "drop", "time_ns"])
            # A sample at the very instant of a drop may have been taken before it.
            before, after = (
                np.searchsorted(drops, samples["time_ns"], side=side) for side in ("left", "right")
            )
            assert ((before <= samples["drops"]) & (samples["drops"] <= after)).all()
            departed = own.loc[own["event"] == "dequeue", "bytes"].sum()
            # All packets taken from the queue have left the link, except the last one.
            assert 0 <= departed - samples["throughput_bytes"].iloc[-1] <= 1500

    def test_every_drop_is_retransmitted_or_still_missing(self) -> None:
        """A bulk flow retransmits the packets dropped by the queue, and few others."""
        summary = run(dumbbell(Flow(cca="reno"), duration_s=30)).summary()
        assert summary["drops"].iloc[0] > 0
        assert summary["drops"].iloc[0] == pytest.approx(summary["retransmits"].iloc[0], abs=3)


class TestLink:
    @pytest.mark.parametrize("bandwidth_mbps", [0.5, 10, 123.4])
    def test_rate(self, bandwidth_mbps: float) -> None:
        """Between any two departures the link has sent no more than its rate allows."""
        result = run(dumbbell(*MIXED, bandwidth_mbps=bandwidth_mbps, duration_s=5))
        departures = events(result, "dequeue")
        # A packet is taken when the previous one has been sent, so the gap is its time on the link.
        gaps_ns = np.diff(departures["time_ns"])
        needed_ns = departures["bytes"].to_numpy()[:-1] * 8e3 / bandwidth_mbps
        assert (gaps_ns >= needed_ns - 1).all()

    def test_busy_link_is_exact(self) -> None:
        """A busy link sends at exactly its rate, without rounding errors."""
        result = run(dumbbell(Flow(kind="cbr", rate_mbps=20), bandwidth_mbps=9.9))
        departures = events(result, "dequeue")
        busy = departures[departures["time_ns"] > 1_000_000_000]
        bits = busy["bytes"].iloc[:-1].sum() * 8
        elapsed_ns = busy["time_ns"].iloc[-1] - busy["time_ns"].iloc[0]
        assert bits / elapsed_ns * 1e3 == pytest.approx(9.9, rel=1e-8)

    @pytest.mark.parametrize(
        ("overhead_bytes", "cells", "link_bytes"), [(38, None, 938), (10, True, 19 * 53)]
    )
    def test_link_layer(self, *, overhead_bytes: int, cells: bool | None, link_bytes: int) -> None:
        """A packet takes the time of its bytes on the link: with overhead, or in ATM cells."""
        link = Bottleneck(
            bandwidth_mbps=10, queue_packets=50, overhead_bytes=overhead_bytes, cells=cells
        )
        scenario = Scenario(
            flows=(Flow(kind="cbr", rate_mbps=20, packet_bytes=900),),
            path=NetworkPath(bottlenecks=(link,), rtt_ms=40),
            duration_s=3,
        )
        left = events(run(scenario), "dequeue")["time_ns"].to_numpy()
        assert np.diff(left)[100:] == pytest.approx(link_bytes * 800, abs=1)
        packets = delivered(run(scenario))
        passed_ms = packets["one_way_ms"] - packets["queueing_ms"] - 20
        assert passed_ms.iloc[100:].to_numpy() == pytest.approx(link_bytes * 8e-4, abs=1e-5)

    def test_utilisation(self) -> None:
        """CUBIC with a queue of a BDP keeps the link full."""
        result = run(dumbbell(queue_packets=34, duration_s=30))
        assert result.throughput(1.0).iloc[5:].to_numpy().mean() == pytest.approx(10, rel=0.01)

    def test_packets_are_no_larger_than_the_mtu(self) -> None:
        """Senders use GSO, yet no packet at the bottleneck is above 1500 bytes."""
        result = run(dumbbell(bandwidth_mbps=400, queue_packets=1000, duration_s=2))
        arrivals = events(result, "enqueue")
        assert arrivals["bytes"].max() == 1500
        # With GSO, packets arrive in bursts at one instant.
        assert (np.diff(arrivals["time_ns"]) == 0).mean() > 0.5

    @pytest.mark.parametrize(
        "opportunities",
        [
            (3, 3, 4, 10, 11, 11, 11, 25, 40),
            (1,),
            (0, 5),
            (0, 0, 0, 1),
            (5,) * 30,
            (1, 400),
        ],
    )
    def test_trace(self, opportunities: tuple[int, ...]) -> None:
        """A trace-driven link sends 1500 bytes at each of its opportunities and nothing between."""
        trace = Trace(name="t", opportunities_ms=opportunities)
        scenario = Scenario(
            flows=(Flow(kind="cbr", rate_mbps=1.5 * trace.mean_mbps + 20),),
            path=NetworkPath(bottlenecks=(Bottleneck(trace=trace, queue_packets=50),), rtt_ms=20),
            duration_s=2,
        )
        departures = events(run(scenario), "dequeue")
        # A full packet takes a whole opportunity: it leaves the queue when the previous one has
        # been sent, so departures are at opportunities, from the second on.
        actual_ms = departures["time_ns"].to_numpy()[1:] / 1e6
        period = opportunities[-1]
        rounds = np.arange(2000 // period + 1)[:, None] * period
        expected_ms = (rounds + np.array(opportunities)).ravel()
        # Nothing waits yet at 0 ms.
        expected_ms = expected_ms[expected_ms > 0]
        assert np.array_equal(expected_ms[expected_ms <= 2000][: len(actual_ms)], actual_ms)
        assert len(actual_ms) >= (expected_ms < 2000).sum() - 1

    def test_trace_serves_small_packets_together(self) -> None:
        """Several small packets share one opportunity of 1500 bytes."""
        scenario = Scenario(
            flows=(Flow(kind="cbr", rate_mbps=10, packet_bytes=500),),
            path=NetworkPath(
                bottlenecks=(
                    Bottleneck(trace=Trace(name="t", opportunities_ms=(10,)), queue_packets=100),
                ),
                rtt_ms=20,
            ),
            duration_s=2,
        )
        per_opportunity = events(run(scenario), "dequeue").groupby("time_ns")["bytes"].sum()
        assert (per_opportunity.iloc[10:-1] == 1500).all()

    def test_several_bottlenecks(self) -> None:
        """Packets that leave one bottleneck arrive at the next after their time on the link."""
        links = tuple(Bottleneck(bandwidth_mbps=rate, queue_packets=100) for rate in (20, 10, 15))
        scenario = Scenario(
            flows=MIXED, path=NetworkPath(bottlenecks=links, rtt_ms=30), duration_s=5
        )
        result = run(scenario)
        for i in (0, 1):
            taken = events(result, "dequeue", i)
            arrived = events(result, "enqueue", i + 1)
            count = len(arrived)
            assert len(taken) - count in (0, 1)
            on_link_ns = taken["bytes"].to_numpy()[:count] * 8e3 / links[i].mean_mbps
            due_ns = taken["time_ns"].to_numpy()[:count] + on_link_ns
            assert np.allclose(arrived["time_ns"], due_ns, rtol=0, atol=1)
        # One more packet may leave within a second than fits into it from its start on.
        assert result.throughput(1.0).iloc[2:].sum(axis=1).max() <= 10 + 0.012

    def test_joining_later(self) -> None:
        """Cross traffic of the second link is not seen at the first, and shares the second."""
        links = (
            Bottleneck(bandwidth_mbps=6, queue_packets=100),
            Bottleneck(bandwidth_mbps=10, queue_packets=100),
        )
        cross = Flow(kind="cbr", rate_mbps=7, first_bottleneck=1)
        scenario = Scenario(
            flows=(Flow(), cross), path=NetworkPath(bottlenecks=links, rtt_ms=30), duration_s=5
        )
        result = run(scenario)
        assert {0} == set(events(result, "enqueue", 0)["flow"])
        assert {0, 1} == set(events(result, "enqueue", 1)["flow"])
        mbps = result.throughput(1.0).iloc[1:]
        assert (mbps.sum(axis=1) > 9.9).all()
        assert (mbps[1] > 5.5).all()

    def test_leaving_early(self) -> None:
        """Cross traffic of the first link is not seen at the second, and is delivered."""
        links = tuple(Bottleneck(bandwidth_mbps=rate, queue_packets=100) for rate in (10, 8))
        cross = (
            Flow(kind="cbr", rate_mbps=6, last_bottleneck=0),
            Flow(cca="reno", last_bottleneck=0, start_s=3),
        )
        scenario = Scenario(
            flows=(Flow(), *cross), path=NetworkPath(bottlenecks=links, rtt_ms=30), duration_s=6
        )
        result = run(scenario)
        assert {0, 1, 2} == set(events(result, "enqueue", 0)["flow"])
        assert {0} == set(events(result, "enqueue", 1)["flow"])
        left = events(result, "dequeue", 0).groupby("flow")["bytes"].sum()
        reached = result.flows.groupby("flow")["throughput_bytes"].last()
        assert reached[[1, 2]].tolist() == pytest.approx(left[[1, 2]].tolist(), abs=1500)
        assert reached[0] <= left[0]
        # Their packets wait only in the first queue, which the 8 Mbit/s behind it do not slow.
        passed = delivered(result)
        assert np.bincount(passed["flow"]).tolist() == [
            len(events(result, "dequeue", 1)),
            *events(result, "dequeue", 0).groupby("flow").size()[[1, 2]],
        ]
        waited = passed.loc[passed["flow"] > 0, "queueing_ms"]
        assert waited.max() <= 101 * 1500 * 8 / 10e3
        mbps = result.throughput(1.0).iloc[1:]
        assert (mbps.sum(axis=1) > 9.8).all()

    @pytest.mark.parametrize("queue_log", [True, "summary", False])
    def test_conservation(self, *, queue_log: bool | str) -> None:
        """Each link's utilisation is the traffic that left its queue, within one packet."""
        # A parking lot: one flow through both links, one that leaves after the first, one that
        # joins at the second.
        scenario = Scenario(
            flows=(Flow(), Flow(last_bottleneck=0), Flow(first_bottleneck=1)),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=50),) * 2, rtt_ms=30
            ),
            duration_s=6,
        )
        whole = run(scenario)
        result = run(replace(scenario, queue_log=queue_log))
        for number in (0, 1):
            dequeued = int(events(whole, "dequeue", number)["bytes"].sum())
            capacity = 10e6 / 8 * 6
            assert dequeued - 1500 <= result.utilisation(number) * capacity <= dequeued
            assert 0.9 < result.utilisation(number) <= 1

    @pytest.mark.parametrize("queue_log", [True, "summary", False])
    def test_background_is_carried(self, *, queue_log: bool | str) -> None:
        """Background traffic uses the link, too."""
        scenario = replace(
            dumbbell(duration_s=3),
            path=replace(dumbbell(duration_s=3).path, noise=Noise(background_share=0.1)),
        )
        whole, result = (run(replace(scenario, queue_log=log)) for log in (True, queue_log))
        dequeued = int(events(whole, "dequeue")["bytes"].sum())
        of_flows = int(whole.flows["throughput_bytes"].max())
        assert dequeued - 1500 <= result.carried_bytes() <= dequeued
        assert dequeued - of_flows == pytest.approx(0.1 * 10e6 / 8 * 3, rel=0.3)

    @pytest.mark.parametrize("mbps", [0.016, 0.064, 0.3])
    def test_never_above_capacity(self, mbps: float) -> None:
        """A slow link that ACKs and background traffic cross is never used for more than its rate.

        A packet in transmission at the end is a large part of what such a link carries.
        """
        link = Bottleneck(bandwidth_mbps=mbps, queue_packets=5)
        varying = Trace(name="slow", opportunities_ms=(round(12 / mbps),))
        for forward in (link, Bottleneck(trace=varying, queue_packets=5)):
            for duration_s in (4, 5.7, 7.3):
                scenario = Scenario(
                    flows=(Flow(), Flow(direction="reverse"), Flow(kind="cbr", rate_mbps=1)),
                    path=NetworkPath(
                        bottlenecks=(forward,),
                        reverse_bottlenecks=(link,),
                        rtt_ms=20,
                        noise=Noise(background_share=0.1),
                    ),
                    duration_s=duration_s,
                )
                used = run(scenario).bottleneck_summary()["utilisation"]
                assert 0.5 < used[0] <= 1
                assert 0 < used[1] <= 1


class TestDelay:
    def test_base_rtt(self) -> None:
        """The smallest RTT is the base RTT and the time of a packet on the link, within 0.1 ms."""
        result = run(dumbbell(Flow(kind="rate", rate_mbps=1), rtt_ms=73, duration_s=5))
        min_rtt_ms = result.flows["min_rtt_us"].iloc[-1] / 1e3
        # The first packets are small (a SYN has 60 bytes), so they are on the link for less.
        assert 73 <= min_rtt_ms <= 73 + 0.1

    def test_extra_rtt(self) -> None:
        """A flow's extra delay is added for this flow alone."""
        flows = (
            Flow(kind="rate", rate_mbps=1),
            Flow(kind="rate", rate_mbps=1, extra_rtt_ms=35.5, start_s=0.1),
            Flow(kind="rate", rate_mbps=1, extra_rtt_ms=10, start_s=0.2),
        )
        result = run(dumbbell(*flows, duration_s=5))
        min_rtt_ms = result.flows.groupby("flow")["min_rtt_us"].last() / 1e3
        assert np.allclose(min_rtt_ms, [40, 75.5, 50], rtol=0, atol=0.1)

    def test_full_queue(self) -> None:
        """With a full queue, the RTT is base RTT + transmission time of the waiting packets."""
        result = run(dumbbell(Flow(kind="cbr", rate_mbps=11), Flow(cca="cubic"), duration_s=10))
        tcp = result.flows[(result.flows["flow"] == 1) & (result.flows["time_ns"] > 5e9)]
        full_ms = 40 + 65 * 1.2
        assert tcp["srtt_us"].max() / 1e3 <= full_ms + 0.1


class TestQueue:
    @pytest.mark.parametrize("limit", [1, 2, 63, 64, 500])
    def test_pfifo_limit(self, limit: int) -> None:
        """A drop-tail queue holds exactly its limit, and drops only at its limit."""
        result = run(dumbbell(Flow(kind="cbr", rate_mbps=20), queue_packets=limit, duration_s=3))
        queue = result.queue
        held = queue.loc[queue["event"] != "enqueue", "backlog_packets"]
        assert held.max() == limit
        assert (queue.loc[queue["event"] == "drop", "backlog_packets"] == limit).all()

    def test_fifo(self) -> None:
        """Drop-tail serves packets in the order of their arrival."""
        queue = run(dumbbell(*MIXED)).queue
        dropped = queue["event"].eq("drop")
        # The drop of a refused packet follows its enqueue at once.
        refused = dropped.shift(-1, fill_value=False)
        arrived = queue.loc[queue["event"].eq("enqueue") & ~refused, "flow"].to_numpy()
        served = queue.loc[queue["event"].eq("dequeue"), "flow"].to_numpy()
        assert np.array_equal(arrived[: len(served)], served)

    def test_codel_controls_delay(self) -> None:
        """CoDel keeps the standing queue near its target, while drop-tail fills the buffer."""
        delay = {
            qdisc: run(dumbbell(qdisc=qdisc, queue_packets=500, duration_s=30)).occupancy().mean()
            for qdisc in ("codel", "droptail")
        }
        assert delay["codel"] < delay["droptail"] / 3

    def test_fq_codel_isolates(self) -> None:
        """FQ-CoDel gives a CUBIC flow its half beside an unresponsive one; drop-tail does not."""
        flows = (Flow(cca="cubic"), Flow(kind="cbr", rate_mbps=10))
        share = {
            qdisc: run(dumbbell(*flows, qdisc=qdisc, duration_s=20)).throughput(1.0)[0].mean()
            for qdisc in ("fq_codel", "droptail")
        }
        assert share["fq_codel"] == pytest.approx(5, rel=0.05)
        assert share["droptail"] < 2

    def test_ecn_marks(self) -> None:
        """With ECN, CoDel marks instead of dropping, and nothing is retransmitted."""
        bottleneck = Bottleneck(
            bandwidth_mbps=10, queue_packets=500, qdisc="codel", qdisc_options=(("ecn", 1),)
        )
        scenario = replace(
            dumbbell(duration_s=20),
            path=replace(dumbbell(duration_s=20).path, bottlenecks=(bottleneck,), ecn=True),
        )
        result = run(scenario)
        marks = events(result, "mark")
        assert len(marks) > 10
        assert result.summary()["retransmits"].iloc[0] == 0
        following = result.queue["event"].shift(-1)[marks.index]
        assert (following == "dequeue").all()

    def test_options_reach_the_qdisc(self) -> None:
        """CoDel's target option is its queueing delay."""
        occupancy = {}
        for target_ms in (5, 40):
            bottleneck = Bottleneck(
                bandwidth_mbps=10,
                queue_packets=500,
                qdisc="codel",
                qdisc_options=(("target_ms", target_ms), ("interval_ms", 100)),
            )
            scenario = replace(
                dumbbell(duration_s=30),
                path=replace(dumbbell(duration_s=30).path, bottlenecks=(bottleneck,)),
            )
            occupancy[target_ms] = run(scenario).occupancy().loc[5:].mean()
        assert occupancy[40] > 2 * occupancy[5]


class TestRandomLoss:
    def test_rate(self) -> None:
        """Packets are lost at the given probability, within four standard deviations."""
        probability = 0.02
        flow = Flow(kind="cbr", rate_mbps=8)
        result = run(dumbbell(flow, loss=probability, duration_s=60))
        lost, arrived = len(events(result, "loss")), len(events(result, "enqueue"))
        count = lost + arrived
        deviation = (count * probability * (1 - probability)) ** 0.5
        assert abs(lost - count * probability) < 4 * deviation

    def test_losses_are_independent(self) -> None:
        """After a loss the next packet is lost no more often than any other."""
        probability = 0.2
        flow = Flow(kind="cbr", rate_mbps=8)
        result = run(dumbbell(flow, loss=probability, duration_s=60))
        fate = result.queue[result.queue["event"].isin(["loss", "enqueue"])]
        lost = fate["event"].eq("loss").to_numpy()
        after_a_loss = lost[1:][lost[:-1]]
        deviation = (probability * (1 - probability) / len(after_a_loss)) ** 0.5
        assert abs(after_a_loss.mean() - probability) < 4 * deviation


class TestPeriodicLoss:
    def test_period(self) -> None:
        """Exactly every 50th packet that reaches the bottleneck is lost, of whichever flow."""
        flows = Flow(kind="cbr", rate_mbps=3), Flow(kind="poisson", rate_mbps=3)
        link = Bottleneck(bandwidth_mbps=10, queue_packets=64, loss_every_packets=50)
        result = run(
            replace(dumbbell(*flows), path=replace(dumbbell(*flows).path, bottlenecks=(link,)))
        )
        fate = result.queue[result.queue["event"].isin(["loss", "enqueue"])]
        lost = np.flatnonzero(fate["event"] == "loss")
        assert np.arange(49, len(fate), 50).tolist() == lost.tolist()
        assert set(fate["flow"].iloc[lost]) == {0, 1}
