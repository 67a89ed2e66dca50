# SPDX-License-Identifier: Apache-2.0
"""Priority classes, drops reported to senders, locality of traffic, two data centres."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.topology import Link, Topology, clos, star, two_data_centres
from ccbench.datacenter.workload import Workload, flow_table
from tests.unit.datacenter.conftest import FULL_BYTES, SMALL, long_flows, rates_gbps


class TestClasses:
    @pytest.mark.parametrize("name", ["bfc", "dctcp"])
    def test_strict_priority(self, name: str) -> None:
        """A flow of the first class takes the link, and others nearly nothing."""
        flows = long_flows((0, 3), (1, 3), (2, 3)).assign(
            priority=np.array([2, 0, 1], dtype=np.uint8)
        )
        result = simulate(star(servers=4), flows, replace(scheme(name), classes=4), 2e-3)
        rates = rates_gbps(result)
        assert rates[1] > 90
        assert rates[0] + rates[2] < 5

    def test_single_class_changes_nothing(self) -> None:
        """Flows of one class have the same results in four classes as in one with 7 queues."""
        flows = Workload(sizes="facebook", load=0.6).flows(SMALL, 1e-3, seed=1)
        few = replace(scheme("bfc"), queues=8, table_per_queue=31)
        four = replace(scheme("bfc"), queues=29, classes=4, table_per_queue=4 * 31 * 8 // 29)
        alone, divided = (
            simulate(SMALL, flows, chosen, 1e-3, drain_s=0.01) for chosen in (few, four)
        )
        # The tables of flows differ in size by rounding, which matters for few flows only.
        same = np.isclose(alone.flows["fct_s"], divided.flows["fct_s"], rtol=1e-9)
        assert same.mean() > 0.9

    def test_shares(self) -> None:
        """Background flows belong to each class in equal shares."""
        flows = Workload(sizes="google", classes=4).flows(clos(), 5e-4, seed=1)
        counts = flows["priority"].value_counts(normalize=True)
        assert [0, 1, 2, 3] == sorted(counts.index)
        assert counts.to_numpy() == pytest.approx(0.25, abs=0.02)

    def test_queues_per_flow(self) -> None:
        """Classes and a queue for each flow exclude each other."""
        with pytest.raises(InputError, match=r"^classes is 4; it must be 1 here"):
            replace(scheme("ideal-fq"), classes=4)


class TestDropNotices:
    @pytest.mark.parametrize("name", ["hpcc-pfc", "hpcc-pfc-sfq", "hpcc-pfc-dqa"])
    def test_exactly_the_dropped_packets_are_resent(self, name: str) -> None:
        """An incast that overflows the buffer completes, with one more packet for each drop."""
        senders, size = 16, 200_000
        network = star(servers=senders + 1, buffer_mb=0.2)
        flows = flow_table((0.0, i, senders, size, "incast") for i in range(senders))
        result = simulate(network, flows, scheme(name), 1e-3, drain_s=0.1)
        dropped = result.summary["dropped_packets"]
        assert dropped > 0
        assert dropped == result.summary["resent_data_packets"]
        assert senders * size // 1000 + dropped == result.summary["sent_data_packets"]
        assert 0 == result.summary["unfinished_flows"]

    def test_no_timeout(self) -> None:
        """A dropped packet arrives within a few RTTs, not after a retransmission timeout."""
        network = star(servers=9, buffer_mb=0.05)
        flows = flow_table((0.0, i, 8, 10_000, "incast") for i in range(8))
        result = simulate(network, flows, scheme("hpcc-pfc"), 1e-3)
        assert result.summary["dropped_packets"] > 0
        assert result.flows["fct_s"].max() < 1e-4

    def test_pfc(self) -> None:
        """PFC and reported drops exclude each other."""
        with pytest.raises(InputError, match=r"^pfc is True; it must be false"):
            replace(scheme("hpcc-pfc"), pfc=True)


class TestLocality:
    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    def test_share_within_racks(self, share: float) -> None:
        """The given share of flows stays in a rack, and both ends are uniformly drawn."""
        network = clos(racks=4, servers_per_rack=4, spines=2)
        flows = Workload(sizes="google", local_share=share).flows(network, 5e-3, seed=1)
        racks = network.racks()
        local = racks[flows["source"]] == racks[flows["destination"]]
        assert local.mean() == pytest.approx(share, abs=0.02)
        for end in ("source", "destination"):
            counts = np.bincount(flows[end], minlength=16) / len(flows)
            assert counts == pytest.approx(1 / 16, abs=0.01)
        assert not (flows["source"] == flows["destination"]).any()

    def test_impossible(self) -> None:
        """A single rack has no flows between racks."""
        with pytest.raises(InputError, match=r"^local_share below 1 needs at least 2 racks"):
            Workload(local_share=0.5).flows(star(servers=4), 1e-4, seed=1)

    def test_islands(self) -> None:
        """Flows do not leave their half of the servers."""
        flows = Workload(sizes="google", islands=2).flows(clos(), 5e-4, seed=1)
        assert (flows["source"] // 64 == flows["destination"] // 64).all()
        assert 128 == len(np.unique(flows["source"]))

    def test_uneven_islands(self) -> None:
        """Islands have equal numbers of servers."""
        with pytest.raises(InputError, match=r"^islands is 3; it must be a divisor of 128"):
            Workload(islands=3).flows(clos(), 1e-4, seed=1)


class TestTwoDataCentres:
    _BOTH = two_data_centres(one=clos(racks=2, servers_per_rack=2, spines=2), spines=2)

    def test_paths(self) -> None:
        """Six links of 1 μs and one of 200 μs lie between servers of the two."""
        flows = flow_table([(0.0, 0, 4, 1, "background"), (0.0, 1, 3, 1, "background")])
        result = simulate(self._BOTH, flows, scheme("ideal-fq"), 1e-3)
        header_us = 49 * 80e-6
        far, near = 1e6 * result.flows["ideal_s"]
        assert far == pytest.approx(206 + 6 * header_us + header_us / 2, abs=1e-4)
        assert near == pytest.approx(4 + 4 * header_us, abs=1e-4)

    def test_windows_of_pairs(self) -> None:
        """With windows of their own paths, a far flow fills its link and a near one has no more."""
        chosen = replace(scheme("ideal-fq"), pair_rtt=True)
        far = simulate(self._BOTH, long_flows((0, 4)), chosen, 1e-2)
        sent_gbps = rates_gbps(far)[0] * far.summary["end_s"] / (far.summary["end_s"] - 206e-6)
        assert sent_gbps == pytest.approx(100 * 1000 / FULL_BYTES, rel=0.01)
        near = simulate(self._BOTH, long_flows((0, 2), (1, 2)), chosen, 1e-3)
        window = 8.5e-6 * 100e9 / 8
        assert near.ports["peak_queue_bytes"].max() <= 2 * window

    def test_bfc_follows_the_link_of_the_packet(self) -> None:
        """The pause threshold is the BDP of the link that packets come from, not the longest."""
        links = (Link(0, 3, 100, 1), Link(1, 3, 100, 1), Link(2, 3, 100, 50))
        network = Topology(servers=3, switches=1, links=links, capacity_gbps=100)
        result = simulate(network, long_flows((0, 2), (1, 2)), scheme("bfc"), 2e-3)
        hop_bdp = 2e-6 * 100e9 / 8
        # Each flow grows by at most a BDP of its link after its pause.
        assert result.ports["peak_queue_bytes"].max() < 4 * hop_bdp
        # Flows run dry for at most 20 % of the time (appendix C), and the first packets are late.
        under_way = 54e-6 / result.summary["end_s"]
        assert rates_gbps(result).sum() > 0.8 * (1 - under_way) * 100 * 1000 / FULL_BYTES
