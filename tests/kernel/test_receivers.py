# SPDX-License-Identifier: Apache-2.0
"""Receivers with a limited window, slow ones, those that send few ACKs, and dishonest ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Change, Flow, Run, Scenario, When
from ccbench.experiment.receiver import Receiver
from tests.kernel.conftest import run, run_with
from tests.scenarios import flat

if TYPE_CHECKING:
    import numpy.typing as npt

pytestmark = pytest.mark.kernel

HEADER_BYTES = 52
MSS_BYTES = 1448
#: Headers of IPv6 have 20 bytes more than those of IPv4.
IPV6_BYTES = 20
VERSIONS = (4, 6)
RTT_S = 0.04
#: A reverse path that only shows the ACKs.
FAST = Bottleneck(bandwidth_mbps=100_000, queue_packets=100_000)
CCAS = ("reno", "cubic", "bbr")
MARKING: dict[str, Any] = {"qdisc": "codel", "qdisc_options": (("ecn", True),)}


def path(
    *flows: Flow, bandwidth_mbps: float = 20, queue_packets: int = 100, **settings: Any
) -> Scenario:
    """Return a scenario of 40 ms whose ACKs are logged; settings of the link are in `link`."""
    link = settings.pop("link", {})
    forward = Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_packets=queue_packets, **link)
    return flat(
        **{
            "flows": flows,
            "bottlenecks": (forward,),
            "reverse_bottlenecks": (FAST,),
            "rtt_ms": RTT_S * 1e3,
            "duration_s": 10,
            **settings,
        }
    )


def received(**settings: Any) -> Receiver:
    """Return a receiver."""
    return Receiver(**settings)


def packets(result: Run, number: int, flow: int = 0, event: str = "enqueue") -> pd.DataFrame:
    """Return the packets of a flow with an event at a bottleneck."""
    log = result.queue_events(number)
    return log[(log["flow"] == flow) & (log["event"] == event)]


def times_s(of_packets: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the times of events in seconds."""
    return of_packets["time_ns"].to_numpy() / 1e9


def header_bytes(version: int) -> int:
    """Return the size of the headers of a data packet, or of a pure ACK."""
    return HEADER_BYTES + (IPV6_BYTES if version == 6 else 0)


def payload_bytes(of_packets: pd.DataFrame, version: int = 4) -> npt.NDArray[np.int64]:
    """Return the payload of a flow's packets, the first of which is the SYN."""
    payload = of_packets["bytes"].to_numpy().astype(np.int64) - header_bytes(version)
    payload[0] = 0
    return np.maximum(payload, 0)


def offered_mbps(result: Run, flow: int, start_s: float = 2) -> float:
    """Return the rate at which a flow has sent, before drops."""
    log = result.queue_events(0)
    sent = log[(log["flow"] == flow) & log["event"].isin(["enqueue", "loss"])]
    sent = sent[times_s(sent) >= start_s]
    return float(sent["bytes"].sum() * 8e-6 / (10 - start_s))


class TestWindow:
    @pytest.mark.parametrize("cca", ["cubic", "bbr"])
    @pytest.mark.parametrize("window_bytes", [1500, 10_000, 30_000, 100_000, 400_000])
    @pytest.mark.parametrize("version", VERSIONS)
    def test_limit(self, cca: str, window_bytes: int, version: int) -> None:
        """From the first packet on, no more than the window is sent in any round trip."""
        flow = Flow(cca=cca, ip_version=version, receiver=received(window_bytes=window_bytes))
        result = run(path(flow, bandwidth_mbps=100))
        sent = packets(result, 0)
        total = np.r_[0, np.cumsum(payload_bytes(sent, version))]
        start = np.searchsorted(times_s(sent), times_s(sent) - RTT_S, side="right")
        assert (total[1:] - total[start]).max() <= window_bytes
        # Linux splits no packet to fill a window, but limits packets to half of a small one.
        least_bytes = max(window_bytes - MSS_BYTES, window_bytes / 2)
        goodput_mbps = result.goodput(1.0)[0].iloc[5:].mean()
        # The RTT includes the transmission of a burst, here within a tenth.
        assert 0.9 * least_bytes <= goodput_mbps * RTT_S * 1e6 / 8 <= window_bytes

    @pytest.mark.parametrize("version", VERSIONS)
    def test_throughput(self, version: int) -> None:
        """Below the link's rate, throughput is the window per round trip."""
        flow = Flow(ip_version=version, receiver=received(window_bytes=100_000))
        result = run(path(flow, bandwidth_mbps=1000))
        assert result.goodput(1.0)[0].iloc[5:].mean() == pytest.approx(20, rel=0.02)

    def test_reverse(self) -> None:
        """The receiver of a flow in the other direction is the sending host."""
        flow = Flow(direction="reverse", receiver=received(window_bytes=50_000))
        result = run(path(flow))
        assert result.goodput(1.0)[0].iloc[5:].mean() == pytest.approx(10, rel=0.04)

    def test_large(self) -> None:
        """A window above the flow's needs does not limit it."""
        limited = path(Flow(receiver=received(window_bytes=10_000_000)), duration_s=20)
        plain = path(Flow(), duration_s=20)
        one, other = (
            run(scenario).goodput(1.0)[0].iloc[2:].mean() for scenario in (limited, plain)
        )
        assert one == pytest.approx(other, rel=0.005)


class TestWindowThatChanges:
    """The limit of the window is set by changes; the flow starts without one, or with one."""

    @staticmethod
    def in_flight_bytes(result: Run, from_s: float, to_s: float) -> float:
        """Return the most payload that is sent in any round trip between two times."""
        sent = packets(result, 0)
        at_s = times_s(sent)
        total = np.r_[0, np.cumsum(payload_bytes(sent))]
        start = np.searchsorted(at_s, at_s - RTT_S, side="right")
        within = (at_s >= from_s) & (at_s < to_s)
        return float((total[1:] - total[start])[within].max())

    @pytest.mark.parametrize("receiver", [None, Receiver(window_bytes=400_000)])
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_rates(self, receiver: Receiver | None, direction: str) -> None:
        """Throughput is the window of the time per round trip, lower and higher than before."""
        windows = (50_000, 200_000, 20_000)
        changes = tuple(
            Change(at_s=at_s, flow=0, window_bytes=window)
            for at_s, window in zip((3, 5, 7), windows, strict=True)
        )
        flow = Flow(receiver=receiver, direction=direction)
        fast = Bottleneck(bandwidth_mbps=200, queue_packets=10_000)
        links: dict[str, Any] = {"bottlenecks": (fast,), "reverse_bottlenecks": (fast,)}
        result = run(path(flow, changes=changes, duration_s=9, **links))
        goodput_mbps = result.goodput(0.5)[0]
        for at_s, window in zip((3, 5, 7), windows, strict=True):
            settled = goodput_mbps.loc[at_s + 1 : at_s + 2].mean()
            # Without a limit at first, the unit of the window is up to a 16th of the smallest.
            assert 0.9 * window <= settled * 1e6 / 8 * RTT_S <= window

    def test_limit(self) -> None:
        """Once the data that had been allowed have left, a round trip has at most the window."""
        changes = (
            Change(at_s=3, flow=0, window_bytes=30_000),
            Change(when=When(flow=0, packet=12_000), flow=0, window_bytes=100_000),
        )
        flow = Flow(receiver=Receiver(window_bytes=200_000))
        result = run(path(flow, bandwidth_mbps=1000, changes=changes))
        again_s = result.changes["time_ns"].iloc[0] / 1e9
        assert 3.5 < again_s < 9
        assert self.in_flight_bytes(result, 0, 3) <= 200_000
        assert self.in_flight_bytes(result, 3 + 2.5 * RTT_S, again_s) <= 30_000
        assert 30_000 < self.in_flight_bytes(result, again_s + 2.5 * RTT_S, 10) <= 100_000

    def test_kept(self) -> None:
        """The end of the window never moves back, so that nothing has to be sent again."""
        changes = tuple(
            Change(at_s=2 + 0.5 * i, flow=0, window_bytes=300_000 if i % 2 else 3000)
            for i in range(14)
        )
        flow = Flow(receiver=Receiver(window_bytes=300_000))
        result = run(path(flow, bandwidth_mbps=100, queue_packets=1000, changes=changes))
        assert result.summary()["retransmits"].iloc[0] == 0
        assert set(result.flows["state"]) == {"open"}

    def test_one_flow(self) -> None:
        """Only the named flow of a group changes."""
        change = Change(at_s=2, flow=1, window_bytes=20_000)
        result = run(path(Flow(count=2), bandwidth_mbps=100, changes=(change,)))
        goodput_mbps = result.goodput(1.0).iloc[5:].mean()
        assert goodput_mbps[1] == pytest.approx(20_000 * 8e-6 / RTT_S, rel=0.1)
        assert goodput_mbps[0] > 80


class TestReading:
    @pytest.mark.parametrize("interval_ms", [None, 100])
    def test_rate(self, interval_ms: float | None) -> None:
        """In the long run, a flow is as fast as its application reads."""
        receiver = received(read_mbps=5, read_interval_ms=interval_ms, window_bytes=100_000)
        result = run(path(Flow(receiver=receiver), duration_s=20))
        assert result.goodput(1.0)[0].iloc[2:].mean() == pytest.approx(5, rel=0.01)
        assert payload_bytes(packets(result, 0)).sum() * 8e-6 / 20 == pytest.approx(5, rel=0.02)
        assert result.summary()["retransmits"].iloc[0] == 0

    @pytest.mark.parametrize("window_bytes", [None, 100_000, 400_000])
    def test_window(self, window_bytes: int | None) -> None:
        """A fast application is limited by its window only, not by the first window of Linux."""
        receiver = received(read_mbps=50, window_bytes=window_bytes)
        given: dict[str, Any] = {"bandwidth_mbps": 100, "queue_packets": 1000, "rtt_ms": 100}
        result = run(path(Flow(receiver=receiver), **given))
        expected_mbps = 50 if window_bytes is None else window_bytes * 8e-6 / 0.1
        assert result.goodput(1.0)[0].iloc[5:].mean() == pytest.approx(expected_mbps, rel=0.05)

    def test_buffer(self) -> None:
        """Data fill the receive buffer at the rate of the link, then arrive as they are read."""
        result = run(path(Flow(receiver=received(read_mbps=2)), duration_s=20))
        sent = packets(result, 0)
        unread = payload_bytes(sent).sum() - result.completions["delivered_bytes"].iloc[0]
        assert 3e6 <= unread <= 6e6
        rates = result.throughput(1.0)[0]
        assert rates.iloc[1] > 10
        assert rates.iloc[10:].mean() < 2.4

    def test_zero_window(self) -> None:
        """While the application pauses, the window closes, and the sender probes it (RFC 9293)."""
        receiver = received(read_mbps=1, read_interval_ms=1000, window_bytes=60_000)
        sent = packets(run(path(Flow(receiver=receiver), duration_s=20)), 0)
        late = sent[times_s(sent) > 5]
        probes = times_s(late[late["bytes"] == HEADER_BYTES])
        assert len(probes) >= 15
        data = times_s(late[late["bytes"] > HEADER_BYTES])
        # Data arrive in a burst after each read.
        assert np.sum(np.diff(data) > 0.5) == pytest.approx(15, abs=1)

    def test_end(self) -> None:
        """The application reads what was sent before the end of the flow."""
        receiver = received(read_mbps=2)
        flow = Flow(kind="bytes", size_bytes=1_000_000, receiver=receiver)
        result = run(path(flow))
        assert result.completions["delivered_bytes"].iloc[0] == 1_000_000
        assert result.completion_times()["fct_s"].iloc[0] == pytest.approx(4, abs=2 * RTT_S)


class TestFewAcks:
    @pytest.mark.parametrize("packets_per_ack", [2, 3, 8, 32])
    @pytest.mark.parametrize("version", VERSIONS)
    def test_number(self, packets_per_ack: int, version: int) -> None:
        """Without loss, there is one ACK for so many packets."""
        receiver = received(packets_per_ack=packets_per_ack, window_bytes=200_000)
        flow = Flow(ip_version=version, receiver=receiver)
        result = run(path(flow, queue_packets=1000))
        data = packets(result, 0, event="dequeue")
        acks = packets(result, 1)
        counts = [np.sum(times_s(part) > 2) for part in (data, acks)]
        assert counts[0] / counts[1] == pytest.approx(packets_per_ack, abs=0.05)

    def test_every(self) -> None:
        """One ACK for one packet is the policy "every"."""
        sparse = run(path(Flow(receiver=received(packets_per_ack=1))))
        every = run(path(Flow(acks="every")))
        for number in (0, 1):
            pd.testing.assert_frame_equal(sparse.queue_events(number), every.queue_events(number))

    @pytest.mark.parametrize("packets_per_ack", [8, 32])
    def test_utilisation(self, packets_per_ack: int) -> None:
        """CUBIC fills a link with few ACKs, as it counts bytes."""
        receiver = received(packets_per_ack=packets_per_ack)
        assert run(path(Flow(receiver=receiver))).utilisation(0) > 0.95

    @pytest.mark.parametrize("ack_delay_ms", [None, 25, 200])
    def test_delay(self, ack_delay_ms: float | None) -> None:
        """A packet without successors is acknowledged after the delay, by default 40 ms."""
        receiver = received(packets_per_ack=8, ack_delay_ms=ack_delay_ms)
        result = run(path(Flow(kind="rate", rate_mbps=0.02, receiver=receiver)))
        data, acks = packets(result, 0, event="dequeue"), times_s(packets(result, 1))
        arrivals = times_s(data)[data["bytes"].to_numpy() > 500] + 1500 * 8e-6 / 20
        waits = [acks[acks > arrival][0] - arrival for arrival in arrivals[arrivals < 9.5]]
        assert len(waits) > 10
        assert np.array(waits) == pytest.approx((ack_delay_ms or 40) / 1e3, abs=1e-6)

    def test_gap(self) -> None:
        """Packets after a gap are acknowledged at once (RFC 5681), so that recovery is fast."""
        receiver = received(packets_per_ack=32, window_bytes=90_000)
        lossy = {"loss_packets": (300,)}
        result = run(path(Flow(receiver=receiver), queue_packets=1000, link=lossy))
        assert result.summary()["retransmits"].iloc[0] == 1
        (lost_s,) = times_s(packets(result, 0, event="loss"))
        acks = times_s(packets(result, 1))
        arrivals = packets(result, 0, event="dequeue")
        near = [np.sum((t > lost_s) & (t < lost_s + RTT_S)) for t in (times_s(arrivals), acks)]
        assert near[1] > near[0] / 2


class TestDivision:
    def growth(self, cca: str, **settings: Any) -> float:
        """Return the growth of a window in congestion avoidance, after one loss, in packets."""
        flow = Flow(cca=cca, receiver=received(packets_per_ack=8, **settings))
        scenario = path(flow, bandwidth_mbps=100, queue_packets=5000, duration_s=6,
                        sample_interval_ms=10, link={"loss_packets": (200,)})  # fmt: skip
        cwnd = run(scenario).samples("cwnd_packets")[0]
        return float(cwnd.iloc[-1]) - float(cwnd.loc[1.0:].iloc[0])

    @pytest.mark.parametrize("version", VERSIONS)
    def test_number(self, version: int) -> None:
        """Each ACK of new data is divided into the given number of ACKs."""
        receivers = (received(packets_per_ack=4), received(packets_per_ack=4, ack_parts=10))
        given: dict[str, Any] = {"kind": "rate", "rate_mbps": 5, "ip_version": version}
        flows = [Flow(**given, receiver=receiver) for receiver in receivers]
        plain, divided = (len(packets(run(path(flow)), 1)) for flow in flows)
        assert divided == pytest.approx(10 * plain, rel=0.01)

    @pytest.mark.parametrize("cca", ["reno", "cubic"])
    def test_byte_counting(self, cca: str) -> None:
        """CCAs that count acknowledged bytes (RFC 3465) do not grow faster."""
        assert self.growth(cca, ack_parts=8) == pytest.approx(self.growth(cca), rel=0.1)

    @pytest.mark.parametrize("cca", ["highspeed", "scalable_5_6"])
    def test_ack_counting(self, cca: str) -> None:
        """CCAs that count ACKs grow several times as fast."""
        assert self.growth(cca, ack_parts=8) > 3 * self.growth(cca)

    @pytest.mark.parametrize("cca", [*CCAS, "highspeed"])
    def test_parts_of_packets(self, cca: str) -> None:
        """Linux ignores ACKs for parts of a packet, so that more parts than packets add nothing."""
        receivers = [received(packets_per_ack=8, ack_parts=parts) for parts in (8, 80)]
        scenarios = [
            path(Flow(cca=cca, receiver=receiver), bandwidth_mbps=100, queue_packets=5000)
            for receiver in receivers
        ]
        one, other = (run(scenario).samples("cwnd_packets")[0] for scenario in scenarios)
        # The transmission of ACKs moves packets by microseconds.
        assert other.loc[:1.0].to_numpy() == pytest.approx(one.loc[:1.0].to_numpy(), rel=0.02)


class TestDuplicates:
    @pytest.mark.parametrize("cca", ["reno", "cubic"])
    @pytest.mark.parametrize("version", VERSIONS)
    def test_sack(self, cca: str, version: int) -> None:
        """With SACK, duplicate ACKs that report nothing change no packet's time or fate."""
        flow = Flow(cca=cca, acks="every", ip_version=version)
        plain = run(path(flow))
        spoofed = run(path(replace(flow, receiver=received(duplicate_acks=3))))
        for event in ("enqueue", "drop"):
            sent = [packets(r, 0, event=event) for r in (plain, spoofed)]
            assert sent[0]["bytes"].tolist() == sent[1]["bytes"].tolist()
            # Copies delay the next ACK by their transmission.
            assert times_s(sent[0]) == pytest.approx(times_s(sent[1]), abs=1e-6)
        acks = [len(packets(r, 1)) for r in (plain, spoofed)]
        assert acks[1] == pytest.approx(4 * acks[0], rel=0.001)

    def test_bbr(self) -> None:
        """BBR, which looks at every ACK, gains nothing."""
        receivers = (None, received(duplicate_acks=3))
        plain, spoofed = (
            run(path(Flow(cca="bbr", receiver=receiver))).summary().iloc[0]
            for receiver in receivers
        )
        for column in ("goodput_mbps", "retransmits", "drops"):
            assert spoofed[column] == pytest.approx(plain[column], rel=0.01)

    def test_without_sack(self) -> None:
        """Without SACK, a sender takes them for losses and repeats data that have arrived."""
        sysctls = {"net.ipv4.tcp_sack": 0}
        receivers = (received(window_bytes=50_000), received(window_bytes=50_000, duplicate_acks=3))
        runs = [run(path(Flow(receiver=receiver), sysctls=sysctls)) for receiver in receivers]
        honest, spoofed = (r.summary().iloc[0] for r in runs)
        assert honest["retransmits"] == honest["drops"] == 0
        assert spoofed["drops"] == 0
        assert spoofed["retransmits"] >= 10


class TestOptimism:
    def pair(self, cca: str, mbps: float, **settings: Any) -> Run:
        """Return a run of a dishonest and an honest flow over 20 Mbit/s."""
        receiver = received(optimistic_mbps=mbps, window_bytes=200_000)
        return run(path(Flow(cca=cca, receiver=receiver), Flow(cca=cca), **settings))

    @pytest.mark.parametrize("cca", CCAS)
    @pytest.mark.parametrize("mbps", [15, 30])
    def test_rate(self, cca: str, mbps: float) -> None:
        """A sender with any CCA follows the pace of the ACKs, up to above the link's rate."""
        result = self.pair(cca, mbps)
        assert offered_mbps(result, 0) == pytest.approx(mbps, rel=0.03)
        assert result.summary()["retransmits"].iloc[0] == 0
        # The honest flow has at most what is left, and what BBR's overload gains.
        honest_mbps = result.summary()["goodput_mbps"].iloc[1]
        fair_mbps = run(path(Flow(cca=cca), Flow(cca=cca))).summary()["goodput_mbps"].min()
        assert honest_mbps < (0.8 if mbps == 15 else 0.25) * fair_mbps

    def test_pace(self) -> None:
        """ACKs are a full packet apart at the given rate, and at most as many as packets sent."""
        result = self.pair("cubic", 15)
        acks = packets(result, 1)
        gaps_ns = np.diff(acks["time_ns"].to_numpy())[5:]
        assert gaps_ns.min() == pytest.approx(1500 * 8e3 / 15, abs=1)
        assert len(acks) <= len(packets(result, 0))

    def test_conservation(self) -> None:
        """Dropped data are missing in the goodput: all others reach the application, once."""
        result = self.pair("cubic", 30)
        arrived = packets(result, 0, event="dequeue")
        bytes_ = arrived["bytes"].to_numpy()[:-1].astype(int)
        delivered = result.completions["delivered_bytes"].iloc[0]
        payload = np.maximum(bytes_[2:] - HEADER_BYTES, 0).sum()
        assert delivered == pytest.approx(payload, abs=3 * MSS_BYTES)
        assert result.summary()["drops"].iloc[0] > 1000

    def test_losses_are_concealed(self) -> None:
        """On a lossy path, an honest flow is slow, and a dishonest one loses only what is lost."""
        lossy = {"loss": 0.02}
        flows = (Flow(cca="reno"), Flow(cca="reno", receiver=received(optimistic_mbps=10)))
        honest, other = (run(path(flow, link=lossy)).summary().iloc[0] for flow in flows)
        assert honest["goodput_mbps"] < 5
        expected_mbps = 10 * 0.98 * MSS_BYTES / 1500
        assert other["goodput_mbps"] == pytest.approx(expected_mbps, rel=0.05)

    def test_lost_acks(self) -> None:
        """The flow survives losses and reordering in both directions."""
        late = {"loss": 0.1}
        scenario = path(Flow(receiver=received(optimistic_mbps=10)), link=late)
        scenario = replace(
            scenario, path=replace(scenario.path, reverse_bottlenecks=(replace(FAST, loss=0.3),))
        )
        assert offered_mbps(run(scenario), 0) == pytest.approx(10, rel=0.05)

    @pytest.mark.parametrize(
        "kind",
        [
            {"kind": "rate", "rate_mbps": 2},
            {"kind": "onoff", "on_s": 0.5, "off_s": 0.7},
            {"direction": "reverse"},
            {"stop_s": 5},
        ],
    )
    def test_kinds(self, kind: dict[str, Any]) -> None:
        """Flows that pause, stop or go the other way are acknowledged at the rate, too."""
        result = run(path(Flow(**kind, receiver=received(optimistic_mbps=5)), Flow()))
        acks = packets(result, 0 if kind.get("direction") else 1)
        gaps_ns = np.diff(acks["time_ns"].to_numpy())[5:]
        assert np.quantile(gaps_ns, 0.01) >= 1e6
        assert result.completions["delivered_bytes"].iloc[0] > 500_000


class TestHiddenMarks:
    @pytest.mark.parametrize("cca", ["cubic", "reno", "dctcp"])
    @pytest.mark.parametrize("version", VERSIONS)
    def test_share(self, cca: str, version: int) -> None:
        """With marks as the only signal, a flow that hides them takes most of the link."""
        honest_flow = Flow(cca=cca, ip_version=version)
        flows = replace(honest_flow, receiver=received(hides_ecn=True)), honest_flow
        result = run(path(*flows, queue_packets=20_000, ecn=True, link=MARKING))
        liar, honest = result.goodput(1.0).iloc[5:].mean()
        assert liar > 5 * honest
        assert len(packets(result, 0, 0, event="mark")) > 100
        assert result.summary()["drops"].sum() == 0

    @pytest.mark.parametrize("version", VERSIONS)
    def test_no_trace(self, version: int) -> None:
        """Marks that are hidden change no packet, also among retransmissions, which lack ECT."""
        flow = Flow(ip_version=version, receiver=received(hides_ecn=True))
        never_ms = 60_000
        logs = []
        for threshold_ms in (1, never_ms):
            options = (("ecn", True), ("ce_threshold_ms", threshold_ms), ("target_ms", 10_000),
                       ("interval_ms", 10_000))  # fmt: skip
            link = {"qdisc": "codel", "qdisc_options": options, "loss": 0.002}
            logs.append(run(path(flow, queue_packets=60, ecn=True, link=link)).queue)
        marks = [(log["event"] == "mark").sum() for log in logs]
        assert marks[0] > 1000
        assert marks[1] == 0
        unmarked = logs[0][logs[0]["event"] != "mark"].reset_index(drop=True)
        pd.testing.assert_frame_equal(unmarked, logs[1])

    @pytest.mark.parametrize("cca", ["cubic", "dctcp"])
    def test_accurate_ecn(self, cca: str) -> None:
        """Accurate ECN does not report hidden marks either, and both ends keep using it."""
        flow = Flow(cca=cca, receiver=received(hides_ecn=True))
        scenario = path(flow, queue_packets=20_000, ecn="accecn", link=MARKING)
        result = run_with("accecn", scenario)
        assert len(packets(result, 0, event="mark")) > 100
        counts = result.ecn.iloc[0]
        assert (counts["sender"], counts["receiver"]) == ("accecn", "accecn")
        assert counts["delivered_ce_packets"] == counts["received_ce_packets"] == 0
        assert counts["sender_failures"] == counts["receiver_failures"] == 0


class TestTogether:
    FLOWS = (
        Flow(receiver=received(window_bytes=90_000, packets_per_ack=4, hides_ecn=True)),
        Flow(cca="bbr", direction="reverse", receiver=received(ack_parts=3)),
        Flow(kind="bytes", arrivals=((0.5, 50_000), (1.0, 50_000)), connections=1,
             receiver=received(read_mbps=1, duplicate_acks=2)),
        Flow(kind="video", bitrates_mbps=(1, 2), segment_s=1, buffer_s=2,
             receiver=received(window_bytes=60_000, packets_per_ack=4, ack_parts=3)),
        Flow(kind="onoff", on_s=1, off_s=1, receiver=received(read_mbps=1), stop_s=8),
        Flow(cca="reno", count=2),
    )  # fmt: skip

    def scenario(self, duration_s: float) -> Scenario:
        """Return a scenario of all flows."""
        back = Bottleneck(bandwidth_mbps=10, queue_packets=100)
        scenario = path(*self.FLOWS, ecn=True, duration_s=duration_s)
        return replace(scenario, path=replace(scenario.path, reverse_bottlenecks=(back,)))

    def test_kinds(self) -> None:
        """Receivers of all kinds of flows can be combined, and short flows complete."""
        result = run(self.scenario(duration_s=10))
        assert (result.summary()["goodput_mbps"] > 0.05).all()
        assert (result.completion_times()["fct_s"] > 0).all()
        read_bytes = result.completions["delivered_bytes"].iloc[4]
        assert read_bytes <= 8 * 1e6 / 8

    def test_repeatable(self) -> None:
        """The same scenario gives the same run."""
        scenario = self.scenario(duration_s=9)
        assert 1 == len({run.__wrapped__(scenario).digest() for _ in range(2)})
