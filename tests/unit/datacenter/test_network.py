# SPDX-License-Identifier: Apache-2.0
"""Properties of every scheme: times, links, conservation and paths."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.datacenter.scheme import Scheme
from ccbench.datacenter.schemes import scheme, schemes
from ccbench.datacenter.simulation import Simulation, simulate
from ccbench.datacenter.topology import Link, Topology, clos, dumbbell, star
from ccbench.datacenter.workload import HEADER_BYTES, flow_table
from tests.unit.datacenter.conftest import (
    BURSTY,
    BYTE_PS,
    FULL_BYTES,
    SMALL,
    long_flows,
    rates_gbps,
)


@pytest.fixture(scope="module", params=sorted(schemes()))
def bursty(request: pytest.FixtureRequest) -> Simulation:
    """Return bursts, including incast, under each of the schemes."""
    chosen = schemes()[request.param]
    return simulate(SMALL, BURSTY, chosen, duration_s=3e-4, seed=3, drain_s=5e-3)


class TestOneFlow:
    @pytest.mark.parametrize("name", ["bfc", "dctcp", "ideal-fq"])
    @pytest.mark.parametrize(("size", "packets"), [(1, 1), (1000, 1), (1001, 2), (5_300, 6)])
    def test_completion(self, name: str, size: int, packets: int) -> None:
        """A lone flow takes the pipeline's time: all packets once, the last on each further hop."""
        flows = flow_table([(1e-6, 0, 15, size, "background")])
        result = simulate(SMALL, flows, scheme(name), duration_s=1e-4)
        last = (size - 1) % 1000 + 1 + HEADER_BYTES
        full = (packets - 1) * FULL_BYTES
        # Before it reaches a link, the last packet may wait for the full one ahead of it.
        hops = 3 * (FULL_BYTES if packets > 1 else last) + last
        expected_ps = 4 * 1_000_000 + (full + hops) * BYTE_PS
        assert expected_ps == round(result.flows["fct_s"].iloc[0] * 1e12)
        assert 1.0 == result.flows["slowdown"].iloc[0]

    def test_slower_link(self) -> None:
        """A slow link in the middle limits the flow, and also its ideal."""
        network = dumbbell(pairs=1, gbps=100, bottleneck_gbps=25)
        flows = flow_table([(0.0, 0, 1, 50_000, "background")])
        result = simulate(network, flows, scheme("ideal-fq"), duration_s=1e-3)
        packet_ps = FULL_BYTES * BYTE_PS
        expected_ps = packet_ps + 50 * 4 * packet_ps + packet_ps + 3 * 1_000_000
        assert expected_ps == round(result.flows["fct_s"].iloc[0] * 1e12)
        assert 1.0 == result.flows["slowdown"].iloc[0]

    @pytest.mark.parametrize("name", ["bfc", "dctcp", "dcqcn", "ideal-fq"])
    def test_fills_the_link(self, name: str) -> None:
        """A lone long flow gets the whole link except for headers."""
        result = simulate(SMALL, long_flows((0, 15)), scheme(name), duration_s=5e-4)
        assert rates_gbps(result)[0] == pytest.approx(100 * 1000 / FULL_BYTES, rel=0.02)


class TestAcks:
    @pytest.mark.parametrize("packets_per_ack", [1, 4, 256])
    def test_last_one(self, packets_per_ack: int) -> None:
        """The sender of a lone flow has the last ACK once it has crossed each link."""
        flows = flow_table([(1e-6, 0, 15, 5_300, "background")])
        chosen = replace(scheme("bfc"), packets_per_ack=packets_per_ack)
        result = simulate(SMALL, flows, chosen, duration_s=1e-4)
        flow = result.flows.iloc[0]
        back_s = 4 * (1e-6 + 64 * BYTE_PS * 1e-12)
        assert flow["acked_s"] == pytest.approx(flow["fct_s"] + back_s, abs=1e-12)
        assert flow["acked_s"] == flow["ideal_acked_s"]

    @pytest.mark.parametrize(("packets_per_ack", "acks"), [(1, 10), (4, 3), (256, 1)])
    def test_number(self, packets_per_ack: int, acks: int) -> None:
        """One ACK stands for this many packets, and the last packet always has one."""
        flows = flow_table([(0.0, 0, 1, 10_000, "background")])
        chosen = replace(scheme("bfc"), packets_per_ack=packets_per_ack)
        ports = simulate(star(servers=2), flows, chosen, 1e-4).ports.set_index(["node", "to"])
        assert 64 * acks == ports["sent_bytes"][1, 2]

    @pytest.mark.parametrize("queued_acks", [False, True])
    def test_behind_data(self, *, queued_acks: bool) -> None:
        """ACKs queued with data wait where data wait; other ACKs do not."""
        flows = flow_table(
            [
                *((0.0, sender, 0, 0, "long") for sender in (2, 3, 4)),
                (5e-5, 0, 1, 1000, "background"),
            ]
        )
        chosen = Scheme(name="greedy", queued_acks=queued_acks, endless_buffer=True)
        flow = simulate(star(servers=5), flows, chosen, 1e-4, drain_s=1e-3).flows.iloc[-1]
        waited_s = flow["acked_s"] - flow["ideal_acked_s"] - (flow["fct_s"] - flow["ideal_s"])
        # In 50 μs, two links' worth of data has arrived for a third link that is already busy.
        assert (waited_s > 8e-5) == queued_acks

    def test_counts_of_data(self) -> None:
        """Queued ACKs count in buffers, not among data packets."""
        flows = flow_table([(0.0, 0, 1, 10_000, "background")])
        chosen = replace(scheme("hpcc"), queued_acks=True)
        result = simulate(star(servers=2), flows, chosen, 1e-4)
        assert 20 == result.ports["data_packets"].sum()

    @pytest.mark.parametrize(
        ("name", "changes"),
        [("hpcc", {"packets_per_ack": 2}), ("bfc", {"queued_acks": True})],
    )
    def test_refused(self, name: str, changes: dict[str, Any]) -> None:
        """ACK-driven senders need all ACKs; BFC's queues are for flows only."""
        (field,) = changes
        with pytest.raises(InputError, match=field):
            replace(scheme(name), **changes)


class TestEveryScheme:
    def test_slowdown(self, bursty: Simulation) -> None:
        """No flow is faster than in an empty network, nor is its last ACK.

        With spraying, a flow's short last packet can overtake the one before.
        """
        gained_s = FULL_BYTES * BYTE_PS / 1e12 if bursty.provenance["scheme"]["spray"] else 1e-15
        flows = bursty.flows
        assert flows["slowdown"].notna().sum() > 50
        assert (flows["fct_s"] - flows["ideal_s"]).min() >= -gained_s
        assert flows["acked_s"].notna().all()
        assert (flows["acked_s"] - flows["ideal_acked_s"]).min() >= -gained_s

    def test_completes(self, bursty: Simulation) -> None:
        """All flows complete once no new ones arrive, and deliver exactly their bytes."""
        assert 0 == bursty.summary["unfinished_flows"]
        assert (bursty.flows["bytes"] == bursty.flows["delivered_bytes"]).all()

    def test_conservation(self, bursty: Simulation) -> None:
        """Every created packet is consumed, dropped or left."""
        summary = bursty.summary
        ended = sum(summary[f"{fate}_packets"] for fate in ("consumed", "dropped", "left"))
        assert summary["created_packets"] == ended

    def test_no_drops(self, bursty: Simulation) -> None:
        """PFC, backpressure and infinite buffers lose nothing."""
        assert 0 == bursty.summary["dropped_packets"]
        assert 0 == bursty.ports["dropped_packets"].sum()

    def test_link_capacity(self, bursty: Simulation) -> None:
        """No port sends faster than its rate."""
        most = bursty.ports["gbps"] * 1e9 / 8 * bursty.summary["end_s"]
        assert (bursty.ports["sent_bytes"] <= most).all()


class TestDeterminism:
    @staticmethod
    def _digest(result: Simulation) -> str:
        tables = (result.flows, result.samples, result.buffers, result.ports)
        return hashlib.sha256("".join(t.to_csv() for t in tables).encode()).hexdigest()

    @pytest.mark.parametrize("name", ["bfc-sampling", "dcqcn", "hpcc"])
    def test_same_seed(self, name: str) -> None:
        """The same seed gives the same result; another seed a different one."""
        runs = [simulate(SMALL, BURSTY, scheme(name), 1e-4, seed) for seed in (5, 5, 6)]
        first, second, third = map(self._digest, runs)
        assert first == second
        assert first != third


class TestFairness:
    def test_round_robin(self) -> None:
        """Flows with separate queues share a link evenly."""
        flows = long_flows(*((i, 5) for i in range(5)))
        rates = rates_gbps(simulate(star(servers=6), flows, scheme("ideal-fq"), 1e-3))
        assert rates == pytest.approx([rates.mean()] * 5, rel=0.02)
        assert rates.sum() == pytest.approx(95.4, rel=0.02)

    def test_max_min(self) -> None:
        """Fair queueing gives a flow limited elsewhere its rate, and the rest to others."""
        network = Topology(
            servers=3,
            switches=1,
            links=(Link(0, 3, 10, 1), Link(1, 3, 100, 1), Link(2, 3, 100, 1)),
            capacity_gbps=100,
        )
        # Two BDPs: with one, a flow that also waits its turn cannot fill its own link.
        wide = replace(scheme("ideal-fq"), window_bdp=2)
        slow, fast = rates_gbps(
            simulate(network, long_flows((0, 2), (1, 2)), wide, duration_s=1e-3)
        )
        assert slow == pytest.approx(10 * 1000 / FULL_BYTES, rel=0.03)
        assert fast == pytest.approx(90 * 1000 / FULL_BYTES, rel=0.03)

    def test_shortest_first(self) -> None:
        """With SRF a late short flow overtakes long ones; with round robin it does not."""
        flows = flow_table(
            [
                *((0.0, i, 4, 400_000, "background") for i in range(3)),
                (1e-5, 3, 4, 30_000, "background"),
            ]
        )
        fct_s = {
            name: simulate(star(servers=5), flows, scheme(name), 1e-3).flows["fct_s"].iloc[3]
            for name in ("ideal-srf", "ideal-fq")
        }
        assert fct_s["ideal-srf"] < 0.6 * fct_s["ideal-fq"]

    def test_queue_of_poisson_arrivals(self) -> None:
        """Equal packets at random times wait as long as in an M/D/1 queue."""
        load, count = 0.7, 60_000
        draws = np.random.default_rng(1)
        packet_s = FULL_BYTES * BYTE_PS * 1e-12
        start_s = np.cumsum(draws.exponential(packet_s / load, count))
        # With many senders, each sends so little that nothing waits before the switch.
        source = 1 + draws.integers(200, size=count)
        rows = zip(start_s, source, strict=True)
        flows = flow_table((t, int(s), 0, 1000, "background") for t, s in rows)
        result = simulate(star(servers=201), flows, scheme("ideal-fq"), float(start_s[-1]) + 1e-6)
        waited_s = (result.flows["fct_s"] - result.flows["ideal_s"]).mean()
        assert waited_s == pytest.approx(load / (2 * (1 - load)) * packet_s, rel=0.1)


class TestPfc:
    def test_never_drops(self) -> None:
        """A burst of many flows without control loses nothing in a small buffer with PFC."""
        network = star(servers=40, buffer_mb=2)
        flows = flow_table((0.0, i, 39, 200_000, "incast") for i in range(39))
        greedy = Scheme(name="greedy", pfc=True)
        result = simulate(network, flows, greedy, duration_s=1e-4, drain_s=1e-2)
        assert 0 == result.summary["dropped_packets"]
        assert result.ports["pauses"].sum() > 0
        assert 0 < result.paused_share() < 1
        assert result.summary["peak_buffer_bytes"] <= 2_000_000

    def test_time_so_far(self) -> None:
        """The time of pauses so far grows by at most the time that passes at each port."""
        network = star(servers=40, buffer_mb=2)
        flows = flow_table((0.0, i, 39, 200_000, "incast") for i in range(39))
        result = simulate(network, flows, Scheme(name="greedy", pfc=True), 1e-4, drain_s=1e-2)
        so_far = result.samples["paused_s"]
        grown = np.diff(so_far, prepend=0.0)
        passed = np.diff(so_far.index, prepend=0.0) * len(result.ports)
        assert (grown >= 0).all()
        assert (grown <= passed).all()
        assert so_far.iloc[-1] <= result.ports["paused_s"].sum()
        half_s = so_far.index[len(so_far) // 2]
        assert result.paused_share(half_s) == pytest.approx(
            so_far[half_s] / (half_s * len(result.ports))
        )
        with pytest.raises(InputError, match=r"until_s is 1e-09; it must be at least 1e-05"):
            result.paused_share(1e-9)

    def test_every_switch_port_is_counted(self) -> None:
        """At each sample the ports with any number of active flows are all ports of switches."""
        network = star(servers=40, buffer_mb=2)
        flows = flow_table((0.0, i, 39, 200_000, "incast") for i in range(39))
        result = simulate(network, flows, Scheme(name="greedy", pfc=True), 1e-4, drain_s=1e-2)
        ports = result.active_flows.groupby("time_s")["ports"].sum()
        assert ports.index.equals(result.samples.index)
        assert (ports == 40).all()
        assert result.active_flows["flows"].max() == 39

    def test_go_back_n(self) -> None:
        """Without PFC the same burst loses packets, and all flows complete nevertheless."""
        network = star(servers=40, buffer_mb=2)
        flows = flow_table((0.0, i, 39, 200_000, "incast") for i in range(39))
        result = simulate(network, flows, Scheme(name="greedy"), 1e-4, drain_s=0.2)
        assert result.summary["dropped_packets"] > 0
        assert result.summary["resent_data_packets"] > 0
        assert 0 == result.summary["unfinished_flows"]

    def test_too_small_a_buffer(self) -> None:
        """A buffer without headroom for packets in flight at a pause is refused."""
        with pytest.raises(InputError, match="headroom"):
            simulate(star(servers=40, buffer_mb=0.5), long_flows((0, 1)), scheme("dctcp"), 1e-4)


class TestEcmp:
    def test_spreads(self) -> None:
        """Many flows use all spines about evenly."""
        network = clos(racks=2, servers_per_rack=8, spines=4)
        rows = ((1e-9 * i, i % 8, 8 + i % 8, 1000, "background") for i in range(4000))
        ports = simulate(network, flow_table(rows), scheme("ideal-fq"), 1e-4).ports
        up = ports[(ports["node"] == 16) & (ports["to"] > 17)]["data_packets"]
        assert 4000 == up.sum()
        # A binomial draw with p = 1/4; five standard deviations.
        assert up.to_numpy() == pytest.approx(1000, abs=5 * np.sqrt(4000 * 3 / 16))

    def test_flow_keeps_its_path(self) -> None:
        """All packets of a flow take the same path, so none is reordered."""
        network = clos(racks=2, servers_per_rack=2, spines=4)
        ports = simulate(network, long_flows((0, 3)), scheme("bfc"), 1e-4).ports
        used = ports[(ports["node"] == 4) & (ports["data_packets"] > 0)]
        assert 1 == len(used)
