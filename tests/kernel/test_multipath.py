# SPDX-License-Identifier: Apache-2.0
"""Connections of Multipath TCP: capacity, conservation, paths, failures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ccbench import Bottleneck, Change, Flow, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.experiment.noise import Noise
from ccbench.experiment.subflow import Subflow
from tests.kernel.conftest import run, run_with
from tests.scenarios import flat

pytestmark = pytest.mark.kernel

UPPER, LOWER = Subflow(last_bottleneck=0), Subflow(first_bottleneck=1)
BOTH = Flow(subflows=(UPPER, LOWER))

#: Payload of a full packet: the option DSS, with 4 bytes of data ACK and 8 of sequence number,
#: takes 24 bytes in addition to TCP's timestamps (RFC 8684, section 3.3).
DSS_BYTES = 24
MSS_BYTES = 1500 - 52 - DSS_BYTES


def paths(*flows: Flow, mbps: tuple[float, ...] = (20, 10), **settings: Any) -> Scenario:
    """Return a scenario with one bottleneck on each path."""
    links = tuple(Bottleneck(bandwidth_mbps=rate, queue_bdp=1) for rate in mbps)
    given: dict[str, Any] = {"bottlenecks": links, "rtt_ms": 40, "duration_s": 20, **settings}
    return flat(flows=flows or (BOTH,), **given)


def payload_mbps(result: Run, start_s: float, end_s: float, flow: int = 0) -> float:
    """Return the goodput of a connection between two times."""
    own = result.connections[result.connections["flow"] == flow]
    times_s, total = own["time_ns"] / 1e9, own["delivered_bytes"].astype(float)
    first, last = np.interp([start_s, end_s], times_s, total)
    return float((last - first) * 8e-6 / (end_s - start_s))


class TestCapacity:
    def test_sum_of_links(self) -> None:
        """A connection fills two disjoint links: its goodput is the payload of both rates."""
        result = run(paths())
        assert payload_mbps(result, 5, 20) == pytest.approx(30 * MSS_BYTES / 1500, rel=0.01)
        assert result.utilisation(0) == pytest.approx(1, abs=0.02)
        assert result.utilisation(1) == pytest.approx(1, abs=0.03)

    @pytest.mark.parametrize("cca", ["reno", "bbr"])
    def test_different_delays(self, cca: str) -> None:
        """Paths whose RTTs differ by a factor of three are both full."""
        slow = replace(LOWER, extra_rtt_ms=80)
        result = run(paths(Flow(cca=cca, subflows=(UPPER, slow)), duration_s=30))
        assert payload_mbps(result, 10, 30) == pytest.approx(30 * MSS_BYTES / 1500, rel=0.05)
        srtt_ms = result.summary()["srtt_ms"]
        assert srtt_ms[1] > srtt_ms[0] + 60

    def test_one_subflow(self) -> None:
        """With one subflow it is TCP whose packets carry 24 bytes more of options."""
        scenario = paths(Flow(subflows=(Subflow(),)), mbps=(10,))
        result = run(scenario)
        tcp = run(replace(scenario, flows=(Flow(),)))
        shares = [float(r.summary()["goodput_mbps"].iloc[0]) for r in (result, tcp)]
        assert shares[0] / shares[1] == pytest.approx(MSS_BYTES / (MSS_BYTES + DSS_BYTES), rel=1e-3)

    def test_eight_subflows(self) -> None:
        """Eight subflows over eight links have the rate of all of them, with enough buffer."""
        each = tuple(Subflow(first_bottleneck=i, last_bottleneck=i) for i in range(8))
        large = {"net.ipv4.tcp_wmem": "4096 4194304 16777216"}  # Linux 6.1 does not enlarge it
        result = run(paths(Flow(subflows=each), mbps=(4,) * 8, duration_s=15, sysctls=large))
        assert payload_mbps(result, 5, 15) == pytest.approx(32 * MSS_BYTES / 1500, rel=0.03)


class TestConservation:
    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_bytes(self, direction: str) -> None:
        """A transfer arrives completely and once, in parts over each subflow."""
        links = paths().path.bottlenecks
        flow = replace(BOTH, kind="bytes", size_bytes=10_000_000, direction=direction)
        result = run(paths(flow, reverse_bottlenecks=links))
        connection = result.connection_summary()
        parts = result.completions["delivered_bytes"]
        assert connection["delivered_bytes"].to_list() == [10_000_000]
        assert parts.min() > 2_000_000
        assert parts.sum() == 10_000_000
        assert result.completion_times().index.to_list() == [0]
        assert result.completion_times()["fct_s"].iloc[0] > 10_000_000 * 8 / 30e6

    def test_links(self) -> None:
        """Each subflow crosses its own links only, and what it sent crossed them or was dropped."""
        result = run(paths())
        for number, other in ((0, 1), (1, 0)):
            log = result.queue_events(number)
            data = log[log["bytes"] > 100]
            assert other not in set(data["flow"])
            arrived = data[(data["event"] == "enqueue") & (data["flow"] == number)]
            headers = 1500 - MSS_BYTES
            payload = arrived["bytes"].astype(int).sum() - headers * len(arrived)
            sent = result.completions["sent_bytes"][number]
            assert payload == pytest.approx(sent, rel=1e-3)

    def test_duplicates(self) -> None:
        """Without losses of whole paths, no data cross both: parts differ by what waits only."""
        result = run(paths())
        parts = int(result.completions["delivered_bytes"].sum())
        connection = int(result.connection_summary()["delivered_bytes"].iloc[0])
        assert 0 <= parts - connection < 0.01 * parts

    @pytest.mark.parametrize("mbps", [5, 15])
    def test_rate(self, mbps: float) -> None:
        """An application's rate below that of both links arrives in full."""
        result = run(paths(replace(BOTH, kind="rate", rate_mbps=mbps)))
        assert payload_mbps(result, 1, 20) == pytest.approx(mbps, rel=0.01)

    def test_tiny(self) -> None:
        """A transfer that ends before the other subflows open succeeds over the first one."""
        result = run(paths(replace(BOTH, kind="bytes", size_bytes=100), duration_s=2))
        assert result.completions["delivered_bytes"].to_list() == [100, 0]

    def test_stop(self) -> None:
        """At its end, a connection resets all subflows and sends nothing more."""
        result = run(paths(replace(BOTH, stop_s=5), duration_s=8))
        data = result.queue[(result.queue["event"] == "enqueue") & (result.queue["bytes"] > 100)]
        assert data["time_ns"].max() == pytest.approx(5e9, abs=1e7)

    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_counters_of_stopped(self, direction: str) -> None:
        """A stopped connection reports what each subflow sent, repeated and delivered."""
        links = tuple(replace(link, loss=0.002) for link in paths().path.bottlenecks)
        flow = replace(BOTH, stop_s=5, direction=direction)
        result = run(paths(flow, bottlenecks=links, reverse_bottlenecks=links, duration_s=8))
        first = 0 if direction == "forward" else len(links)
        for number in (0, 1):
            done = result.completions.loc[number]
            log = result.queue_events(first + number)
            log = log[(log["flow"] == number) & (log["bytes"] > 100)]
            sent = log[log["event"].isin(["enqueue", "loss"])]
            payload = sent["bytes"].astype(int).sum() - (1500 - MSS_BYTES) * len(sent)
            assert done["sent_bytes"] == pytest.approx(payload, rel=1e-3)
            sampled = result.samples("retransmits")[number]
            assert done["retransmits"] == sampled.iloc[-1] >= sampled.loc[4.9] > 0
            assert 0 < done["delivered_bytes"] <= done["sent_bytes"]

    def test_marks_of_stopped(self) -> None:
        """Both ends of a stopped connection report the marks of each of its subflows."""
        links = tuple(
            replace(link, qdisc="codel", qdisc_options=(("ecn", True),), queue_packets=1000)
            for link in paths().path.bottlenecks
        )
        scenario = paths(replace(BOTH, stop_s=5), bottlenecks=links, ecn="accecn", duration_s=8)
        result = run_with("accecn", scenario)
        marks = [(result.queue_events(i)["event"] == "mark").sum() for i in (0, 1)]
        assert min(marks) > 0
        for end in ("delivered", "received"):
            assert result.ecn[f"{end}_ce_packets"].to_list() == marks


class TestSubflows:
    def test_congestion_controls(self) -> None:
        """Each subflow runs its own congestion control: losses limit Reno's, but not BBR's."""
        subflows = (replace(UPPER, cca="reno"), replace(LOWER, cca="bbr"))
        links = tuple(replace(link, loss=0.01) for link in paths(mbps=(20, 20)).path.bottlenecks)
        result = run(paths(Flow(subflows=subflows), bottlenecks=links, duration_s=40))
        assert result.summary()["cca"].to_list() == ["reno", "bbr"]
        assert not result.cca_info(1).dropna().empty
        reno_mbps, bbr_mbps = result.summary()["goodput_mbps"]
        # Mathis et al. (1997), with an ACK for every second packet.
        assert reno_mbps == pytest.approx(MSS_BYTES * 8e-6 / 0.04 * 0.87 / 0.1, rel=0.4)
        assert bbr_mbps > 15

    def test_pace_of_bbr(self) -> None:
        """While BBR cruises, TCP's queue shrinks, and that of a subflow grows to two BDP."""
        bdp_packets = 10e6 * 0.04 / 8 / 1500
        link = Bottleneck(bandwidth_mbps=10, queue_bdp=4)
        inflight = []
        for subflows in ((), (Subflow(),)):
            flow = Flow(cca="bbr", subflows=subflows)
            result = run(paths(flow, bottlenecks=(link,), duration_s=9))
            inflight.append(result.samples("inflight_packets")[0].loc[3:].mean())
            # BBR paces 1 % below its estimate, in packets with the payload of TCP.
            state = result.cca_info(0).loc[3:]
            pacing_bps = result.samples("pacing_rate_bps")[0].loc[3:]
            cruises = state["pacing_gain"] == 256
            expected_bps = 0.99 * 8 * state["rate_low"]
            assert (pacing_bps / expected_bps)[cruises].median() == pytest.approx(1, rel=1e-3)
        assert inflight[0] < 1.4 * bdp_packets
        assert inflight[1] > 1.8 * bdp_packets

    def test_second_is_like_the_first(self) -> None:
        """A subflow behaves the same whether its CCA is the flow's or its own."""
        own = Flow(cca="cubic", subflows=(replace(UPPER, cca="bbr"), replace(LOWER, cca="bbr")))
        given = Flow(cca="bbr", subflows=(UPPER, LOWER))
        assert run(paths(own)).digest() == run(paths(given)).digest()

    def test_several_connections(self) -> None:
        """Connections with different numbers of subflows share links with TCP."""
        flows = (
            replace(BOTH, count=2),
            Flow(last_bottleneck=0),
            Flow(subflows=(UPPER, UPPER, LOWER), direction="forward"),
        )
        result = run(paths(*flows, duration_s=30, noise=Noise(start_spread_ms=100)))
        assert sorted(result.connections["flow"].unique()) == [0, 2, 5]
        table = result.scenario.flow_table()
        assert table["group"].to_list() == [0, 0, 0, 0, 1, 2, 2, 2]
        assert table["first_bottleneck"].to_list() == [0, 1, 0, 1, 0, 0, 0, 1]
        rates = result.summary()["throughput_mbps"]
        assert rates[[0, 2, 4, 5, 6]].sum() == pytest.approx(20, rel=0.03)
        assert rates[[1, 3, 7]].sum() == pytest.approx(10, rel=0.03)
        assert (rates > 1).all()
        starts = result.completions["start_ns"]
        assert starts[0] == starts[1] != starts[2] == starts[3]

    def test_many_at_once(self) -> None:
        """All subflows open, however many connections are established at the same time."""
        links = tuple(Bottleneck(bandwidth_mbps=10_000, queue_packets=100_000) for _ in range(2))
        flow = replace(BOTH, count=500)
        # SYN-ACKs arrive together.
        result = run(paths(flow, bottlenecks=links, ack_batch_ms=20, duration_s=0.5))
        assert len(result.completions) == 1000
        assert (result.completions["sent_bytes"] > 0).all()

    def test_deterministic(self) -> None:
        """The same scenario gives the same run, byte for byte."""
        scenario = paths(Flow(cca="bbr", subflows=(UPPER, LOWER)), duration_s=5)
        first, second = (KernelEngine().run(scenario) for _ in range(2))
        assert first.digest() == second.digest()


class TestFailures:
    def test_lost_path(self) -> None:
        """When a path loses everything, the connection goes on at the rate of the other."""
        change = Change(at_s=8, bottleneck=0, loss=1)
        result = run(paths(changes=(change,)))
        assert payload_mbps(result, 4, 8) == pytest.approx(30 * MSS_BYTES / 1500, rel=0.02)
        assert payload_mbps(result, 12, 20) == pytest.approx(10 * MSS_BYTES / 1500, rel=0.05)

    def test_outage(self) -> None:
        """After an outage the path carries data again, and none are missing or delivered twice."""
        change = Change(at_s=5, bottleneck=0, outage_s=3)
        flow = replace(BOTH, kind="bytes", size_bytes=40_000_000)
        result = run(paths(flow, changes=(change,)))
        assert payload_mbps(result, 6, 8) == pytest.approx(10 * MSS_BYTES / 1500, rel=0.15)
        connection = result.connection_summary()
        assert connection["delivered_bytes"].to_list() == [40_000_000]
        assert result.completions["delivered_bytes"].sum() >= 40_000_000
        carried = result.throughput()[0]
        assert carried.loc[7] < 1
        assert carried.loc[11] > 10

    def test_mixed_receivers(self) -> None:
        """DCTCP needs its receiver, which has one congestion control per connection."""
        mixed = Flow(subflows=(replace(UPPER, cca="dctcp"), LOWER))
        with pytest.raises(InputError, match=r"^flows\[0\]\.subflows\[0\]\.cca is 'dctcp'"):
            KernelEngine().check(paths(mixed))
        KernelEngine().check(paths(Flow(cca="dctcp", subflows=(UPPER, LOWER))))
