# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pytest

from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.topology import clos, star
from ccbench.datacenter.workload import flow_table
from tests.unit.datacenter.conftest import FULL_BYTES, SMALL, long_flows, rates_gbps


class TestBfc:
    @pytest.mark.parametrize("senders", [2, 3, 5, 9])
    def test_empty_fraction_of_appendix_c(self, senders: int) -> None:
        """Equal flows run out of packets simultaneously in a share of time of at most E_f."""
        flows = long_flows(*((i, senders) for i in range(senders)))
        rates = rates_gbps(simulate(star(servers=senders + 1), flows, scheme("bfc"), 1e-3))
        # Each arrives at the link's rate and leaves at its share of that rate: x is their number.
        empty = (senders - 1) / (senders + senders**2 - 1)
        assert rates.sum() > (1 - empty) * 95.4
        assert rates == pytest.approx([rates.mean()] * senders, rel=0.1)

    def test_buffer_is_bounded(self) -> None:
        """A queue exceeds the threshold only by the packets that arrive before the pause works."""
        result = simulate(
            star(servers=5), long_flows(*((i, 4) for i in range(4))), scheme("bfc"), 1e-3
        )
        bdp = 2e-6 * 100e9 / 8  # of a hop
        # All four start at once: four links' worth until the first pauses work.
        assert result.summary["peak_buffer_bytes"] < bdp + 4 * (bdp + 3 * FULL_BYTES)
        assert result.ports["queue_pauses"].sum() > 0

    def test_packets_wait_upstream(self) -> None:
        """Backpressure moves an incast's packets from the receiver's switch to their sources."""
        flows = flow_table((0.0, i, 15, 500_000, "incast") for i in range(12))
        free, held = (
            simulate(SMALL, flows, chosen, 1e-4, drain_s=5e-3)
            for chosen in (replace(scheme("bfc"), backpressure=False), scheme("bfc"))
        )
        assert held.summary["peak_buffer_bytes"] < 0.2 * free.summary["peak_buffer_bytes"]
        assert held.flows["fct_s"].max() < 1.05 * free.flows["fct_s"].max()

    def test_dynamic_assignment_avoids_collisions(self) -> None:
        """Fewer flows than queues do not share a queue; with hashing alone they would."""
        flows = long_flows(*((i, 20) for i in range(20)))
        shares = {}
        for name in ("bfc", "bfc-stochastic", "bfc-single"):
            ports = simulate(star(servers=21), flows, scheme(name), 2e-4).ports
            shares[name] = ports["collisions"].sum() / ports["assignments"].sum()
        assert shares["bfc"] < 0.01
        assert shares["bfc"] < shares["bfc-stochastic"] < shares["bfc-single"]

    def test_head_of_line_blocking(self) -> None:
        """A single queue delays a flow to another destination; separate queues do not."""
        crowd = [(0.0, i, 12, 1_500_000, "background") for i in range(8)]
        bystander = (2e-5, 8, 13, 100_000, "background")
        # All leave the first rack over the same spine.
        network = clos(racks=2, servers_per_rack=10, spines=1, spine_gbps=400)
        slowdown = {}
        for name in ("bfc", "bfc-single"):
            result = simulate(network, flow_table([*crowd, bystander]), scheme(name), 1e-3)
            slowdown[name] = float(result.flows["slowdown"].iloc[-1])
        assert slowdown["bfc-single"] > 1.1 * slowdown["bfc"]

    def test_algorithm_2(self) -> None:
        """End-to-end control holds the RTT of many long flows near 2.5 base RTTs."""
        flows = long_flows(*((i % 8, 8) for i in range(64)))
        network = star(servers=9)
        alone, controlled = (
            simulate(network, flows, scheme(name), 2e-3) for name in ("bfc", "bfc-cc")
        )
        assert controlled.buffers.iloc[-50:, 0].mean() <= alone.buffers.iloc[-50:, 0].mean()
        assert rates_gbps(controlled).sum() == pytest.approx(95.4, rel=0.03)

    def test_incast_label(self) -> None:
        """With labelled incast flows the other flows wait less."""
        crowd = [(0.0, i % 60, 60, 100_000, "incast") for i in range(120)]
        short = [(5e-5 + i * 1e-6, i, 60, 1000, "background") for i in range(50)]
        flows = flow_table([*crowd, *short])
        p99 = {}
        for name in ("bfc", "bfc-incast-label"):
            result = simulate(star(servers=61), flows, scheme(name), 1e-3)
            p99[name] = result.slowdowns()["p99"].iloc[0]
        assert p99["bfc-incast-label"] < p99["bfc"]

    @pytest.mark.parametrize("skip_paused", [True, False])
    def test_skip_paused(self, *, skip_paused: bool) -> None:
        """With `skip_paused` no flow waits in an empty paused queue; without it some do."""
        two = replace(scheme("bfc"), queues=3, skip_paused=skip_paused)
        network = clos(racks=2, servers_per_rack=4, spines=1)
        busy = [(0.0, sender, 4, 0, "long") for sender in (5, 6, 7)]
        # The first waits at the busy receiver's switch and pauses its upstream queue, which is
        # empty then. No other flow may get that queue.
        others = [(5.25e-5 + i * 4e-7, 1 + i % 3, 5 + i % 3, 500, "background") for i in range(6)]
        flows = flow_table([*busy, (5e-5, 0, 4, 1000, "background"), *others])
        result = simulate(network, flows, two, 1e-4, drain_s=1e-4)
        assert result.ports["queue_pauses"].sum() > 0
        assert skip_paused == (result.flows["slowdown"].iloc[4:].max() < 1.2)

    @pytest.mark.parametrize(("pause_packets", "pauses"), [(1, True), (2, False)])
    def test_pause_packets(self, pause_packets: int, *, pauses: bool) -> None:
        """Flows of one packet cause no pauses if a pause requires two packets of a flow."""
        chosen = replace(scheme("bfc"), pause_packets=pause_packets, queues=3)
        flows = flow_table((0.0, i, 39, 1000, "background") for i in range(39))
        result = simulate(star(servers=40), flows, chosen, 1e-4)
        assert pauses == (result.ports["queue_pauses"].sum() > 0)
        assert 0 == result.summary["unfinished_flows"]
