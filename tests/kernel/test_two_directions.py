# SPDX-License-Identifier: Apache-2.0
"""Paths with queues in both directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.experiment.noise import Noise
from ccbench.run.packets import delivered, fates
from tests.kernel.conftest import run
from tests.scenarios import flat

pytestmark = pytest.mark.kernel

ACK_BYTES = 52
FAST = Bottleneck(bandwidth_mbps=100_000, queue_packets=100_000)
#: Every kind of flow, and a paced CCA.
KINDS = (
    Flow(),
    Flow(cca="bbr"),
    Flow(kind="bytes", size_bytes=200_000),
    Flow(kind="bytes", arrivals=((0.5, 30_000), (1.5, 50_000)), connections=1),
    Flow(kind="rate", rate_mbps=1),
    Flow(kind="onoff", on_s=1, off_s=0.5),
    Flow(kind="video", bitrates_mbps=(1, 2), segment_s=1, buffer_s=2),
    Flow(kind="cbr", rate_mbps=1),
    Flow(kind="poisson", rate_mbps=1),
)


def link(bandwidth_mbps: float, queue_packets: int = 64, **settings: Any) -> Bottleneck:
    """Return a bottleneck."""
    return Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_packets=queue_packets, **settings)


def path(*flows: Flow, forward: Bottleneck, back: Bottleneck | None, **settings: Any) -> Scenario:
    """Return a scenario with one bottleneck in each direction."""
    return flat(
        **{
            "flows": flows or (Flow(),),
            "bottlenecks": (forward,),
            "reverse_bottlenecks": (back,) if back else (),
            "rtt_ms": 40,
            "duration_s": 10,
            **settings,
        }
    )


def reverse(flow: Flow) -> Flow:
    """Return a flow in the other direction."""
    return replace(flow, direction="reverse")


class TestConservation:
    @pytest.mark.parametrize("qdisc", ["droptail", "fq_codel", "cake"])
    def test_packets(self, qdisc: str) -> None:
        """In each direction, packets of each flow are sent, dropped or left over."""
        flows = (Flow(), reverse(Flow(cca="bbr")), Flow(cca="reno"))
        result = run(path(*flows, forward=link(10), back=link(1, 20, qdisc=qdisc)))
        for number in (0, 1):
            log = result.queue_events(number)
            counts = pd.crosstab(log["flow"], log["event"])
            left = counts["enqueue"] - counts["dequeue"] - counts["drop"]
            assert (left >= 0).all()
            assert left.sum() == log["backlog_packets"].iloc[-1]
            assert {0, 1, 2} == set(counts.index)

    def test_throughput(self) -> None:
        """A flow's throughput is that of its data: what leaves the bottleneck of its direction."""
        result = run(path(Flow(), reverse(Flow()), forward=link(10), back=link(5)))
        last = result.flows.groupby("flow")["throughput_bytes"].last()
        for flow in (0, 1):
            log = result.queue_events(flow)
            own = log[(log["flow"] == flow) & (log["event"] == "dequeue")]
            assert 0 <= own["bytes"].sum() - last[flow] <= 1500

    def test_drops_and_losses_are_of_data(self) -> None:
        """Drops of a flow count its data packets, not its ACKs on the reverse path."""
        result = run(path(Flow(), forward=link(10), back=link(0.1, 5)))
        acks = result.queue_events(1)
        dropped = (acks["event"] == "drop").sum()
        data = result.queue_events(0)
        assert dropped > 100
        assert (data["event"] == "drop").sum() == result.summary()["drops"].iloc[0]
        assert fates(result)["lost"].iloc[0] == result.summary()["drops"].iloc[0]

    def test_kinds(self) -> None:
        """Every kind of flow can send in the reverse direction, and its data cross its queue."""
        result = run(path(*map(reverse, KINDS), forward=link(20), back=link(20)))
        summary, packets = result.summary(), delivered(result)
        assert (summary["goodput_mbps"] > 0.05).all()
        assert set(range(len(summary))) == set(packets["flow"])
        assert (result.completion_times()["fct_s"] > 0).all()

    def test_utilisation(self) -> None:
        """The utilisation of a link counts the data of one direction and the ACKs of the other."""
        result = run(path(Flow(), reverse(Flow()), forward=link(10), back=link(10)))
        for number in (0, 1):
            log = result.queue_events(number)
            carried = log.loc[log["event"] == "dequeue", "bytes"].sum()
            assert result.utilisation(number) == pytest.approx(carried * 8 / 10e6 / 10, abs=2e-3)

    def test_summary_equals_the_log(self) -> None:
        """A queue summary has the numbers of the full log in both directions."""
        scenario = path(Flow(), reverse(Flow(cca="reno")), forward=link(10), back=link(5))
        full, short = run(scenario), run(replace(scenario, queue_log="summary"))
        for number in (0, 1):
            shares = [r.occupancy_distribution(number) for r in (full, short)]
            pd.testing.assert_series_equal(shares[0], shares[1], check_index_type=False)
            delays = [r.queueing_delay_ms(number) for r in (full, short)]
            assert delays[0] == pytest.approx(delays[1], rel=1e-6)


class TestSymmetry:
    @pytest.mark.parametrize("cca", ["cubic", "bbr"])
    def test_mirror(self, cca: str) -> None:
        """A path and its mirror image give the same queues."""
        scenario = path(
            Flow(cca=cca), reverse(Flow(cca="reno")), forward=link(10), back=link(4, 30),
            forward_delay_ms=20,
        )  # fmt: skip
        mirror = path(
            reverse(Flow(cca=cca)), Flow(cca="reno"), forward=link(4, 30), back=link(10),
            forward_delay_ms=20,
        )  # fmt: skip
        one, other = run(scenario), run(mirror)
        for number in (0, 1):
            pair = (one.queue_events(number), other.queue_events(1 - number))
            logs = [log.drop(columns="bottleneck").reset_index(drop=True) for log in pair]
            pd.testing.assert_frame_equal(logs[0], logs[1])

    @pytest.mark.parametrize(("cca", "tolerance"), [("bbr", 0), ("cubic", 0.01)])
    def test_sum_of_the_delay(self, cca: str, tolerance: float) -> None:
        """A flow and its queue depend on the sum of the delays of both directions only.

        Times in TCP headers have a resolution of a millisecond, so losses may be detected a little
        earlier or later.
        """
        runs = [
            run(path(Flow(cca=cca), forward=link(10), back=None, forward_delay_ms=ms))
            for ms in (None, 10, 40)
        ]
        for measure in (
            lambda result: result.occupancy(0.001).mean(),
            lambda result: result.flows["throughput_bytes"].iloc[-1],
        ):
            plain, *others = map(measure, runs)
            assert others == pytest.approx([plain, plain], rel=tolerance, abs=0)


class TestDelay:
    @pytest.mark.parametrize("forward_delay_ms", [None, 30])
    def test_round_trip(self, forward_delay_ms: float | None) -> None:
        """The shortest RTT is the base RTT and the transmission of a packet in each direction."""
        scenario = path(
            Flow(extra_rtt_ms=5), forward=link(2), back=link(0.5), forward_delay_ms=forward_delay_ms
        )
        shortest_ms = run(scenario).flows["min_rtt_us"].replace(0, np.nan).min() / 1e3
        handshake_bytes = 60
        on_links_ms = handshake_bytes * 8e-3 * (1 / 2 + 1 / 0.5)
        assert shortest_ms == pytest.approx(45 + on_links_ms, abs=0.01)

    def test_fast_link(self) -> None:
        """A fast link with a long queue on the reverse path changes throughput by less than 1 %."""
        flows = (Flow(cca="bbr"), Flow(cca="cubic"))
        rates = [
            run(path(*flows, forward=link(10), back=back, duration_s=30)).goodput().sum().sum()
            for back in (None, FAST)
        ]
        assert rates[0] == pytest.approx(rates[1], rel=0.01)

    def test_jitter_and_batches(self) -> None:
        """ACKs arrive at the bottleneck of the reverse path in batches, after jitter."""
        scenario = path(
            forward=link(10), back=link(10), ack_batch_ms=5, noise=Noise(reverse_jitter_ms=1)
        )
        log = run(scenario).queue_events(1)
        arrivals_ns = log.loc[log["event"] == "enqueue", "time_ns"].to_numpy()
        # Batches are at multiples of the interval since the start of the guest's clock.
        assert len(np.unique(arrivals_ns % 5_000_000)) == 1


class TestAcks:
    @pytest.mark.parametrize(("send_buffer_bytes", "packets_per_ack"), [(10**9, 2), (60_000, 1)])
    def test_rate_of_the_way_back(self, send_buffer_bytes: int, packets_per_ack: int) -> None:
        """A slow reverse path limits data to its rate of ACKs.

        If each packet is acknowledged, an ACK releases two packets in slow start, which does not
        end without losses, and one packet when the window is constant.
        """
        scenario = path(
            Flow(cca="reno", acks="every"),
            forward=link(100, 1000),
            back=link(0.2, 100_000),
            duration_s=30,
            sysctls={"net.ipv4.tcp_wmem": f"4096 16384 {send_buffer_bytes}"},
        )
        result = run(scenario)
        expected_mbps = packets_per_ack * 0.2 * 1500 / ACK_BYTES
        assert result.throughput(10.0).iloc[-1].item() == pytest.approx(expected_mbps, rel=0.02)
        assert result.utilisation(1) == pytest.approx(1, abs=0.02)

    def test_dropped_acks(self) -> None:
        """ACKs are cumulative: a short queue that drops most of them costs no data."""
        back = link(0.2, 3)
        result = run(path(Flow(acks="every"), forward=link(20, 200), back=back, duration_s=20))
        acks = result.queue_events(1)
        assert (acks["event"] == "drop").mean() > 0.2
        assert result.throughput(1.0).iloc[5:].to_numpy().mean() == pytest.approx(20, rel=0.05)
        data = result.summary().iloc[0]
        assert data["retransmits"] <= data["drops"] + 3

    def test_lost_acks(self) -> None:
        """Random loss on the reverse path takes this share of the ACKs, and no data."""
        result = run(path(forward=link(10), back=link(10, loss=0.2), duration_s=20))
        events = result.queue_events(1)["event"].value_counts()
        share = events["loss"] / (events["loss"] + events["enqueue"])
        assert share == pytest.approx(
            0.2, abs=4 * np.sqrt(0.16 / events[["loss", "enqueue"]].sum())
        )
        assert (result.queue_events(0)["event"] != "loss").all()

    def test_compression(self) -> None:
        """Data of the other direction compress ACKs, which then cause bursts (Zhang 1991).

        Without them, ACKs are as far apart as data packets. With them, ACKs wait between data and
        leave the queue back to back: as far apart as ACKs on the link.
        """
        both = (Flow(cca="reno", acks="every"), reverse(Flow(cca="reno", acks="every")))
        shares = []
        for flows in (both[:1], both):
            result = run(path(*flows, forward=link(5, 20), back=link(5, 20), duration_s=30))
            log = result.queue_events(1)
            sent = log[log["event"] == "dequeue"]
            is_ack = (sent["flow"] == 0).to_numpy()
            gaps_ns = np.diff(sent["time_ns"])[is_ack[1:] & is_ack[:-1]]
            shares.append(np.mean(gaps_ns <= ACK_BYTES * 8e3 / 5 + 1))
        assert shares[0] == 0
        assert shares[1] > 0.3

    def test_two_way_traffic_wastes_capacity(self) -> None:
        """With data in both directions and short queues, neither link is full (Zhang 1991)."""
        one_way = path(Flow(cca="reno"), forward=link(5, 20), back=link(5, 20), duration_s=60)
        both = replace(one_way, flows=(*one_way.flows, reverse(Flow(cca="reno"))))
        assert run(one_way).utilisation(0) > 0.95
        result = run(both)
        assert max(result.utilisation(0), result.utilisation(1)) < 0.95


class TestSeveral:
    def test_order(self) -> None:
        """Packets of the reverse path cross its bottlenecks in order, or those of their flow."""
        scenario = Scenario(
            flows=(
                Flow(),
                reverse(Flow(cca="reno")),
                reverse(Flow(kind="cbr", rate_mbps=1, last_bottleneck=0)),
                reverse(Flow(kind="cbr", rate_mbps=1, first_bottleneck=1)),
            ),
            path=NetworkPath(
                bottlenecks=(link(10), link(8)), reverse_bottlenecks=(link(6), link(5)), rtt_ms=40
            ),
            duration_s=5,
        )
        result = run(scenario)
        flows = [set(result.queue_events(number)["flow"]) for number in range(4)]
        assert flows == [{0, 1}, {0, 1}, {0, 1, 2}, {0, 1, 3}]
        for flow in (0, 1):
            left, arrived = (
                log.loc[(log["flow"] == flow) & (log["event"] == event), "time_ns"].to_numpy()
                for log, event in (
                    (result.queue_events(2), "dequeue"),
                    (result.queue_events(3), "enqueue"),
                )
            )
            assert (arrived >= left[: len(arrived)]).all()
        packets = delivered(result)
        assert {0, 1, 2, 3} == set(packets["flow"])
        assert (packets["queueing_ms"] >= 0).all()

    def test_repeatable(self) -> None:
        """The same seed gives the same run; another seed other losses of ACKs."""
        back = link(5, loss=0.1)
        scenario = path(Flow(), reverse(Flow()), forward=link(10), back=back, duration_s=3)
        same, again, other = (run.__wrapped__(replace(scenario, seed=seed)) for seed in (1, 1, 2))
        assert same.digest() == again.digest()
        losses = [r.queue_events(1).query("event == 'loss'")["time_ns"] for r in (same, other)]
        assert set(losses[0]) != set(losses[1])
