# SPDX-License-Identifier: Apache-2.0
"""ExpressPass and Homa against the claims of their papers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.topology import clos, star
from ccbench.datacenter.workload import flow_table
from tests.unit.datacenter.conftest import (
    BURSTY,
    BYTE_PS,
    FULL_BYTES,
    SMALL,
    long_flows,
    rates_gbps,
)

_CREDIT_BYTES = 84
#: Goodput of a link whose opposite direction carries credits at the largest rate.
_MOST_GBPS = 100 * 1000 / (FULL_BYTES + _CREDIT_BYTES)


class TestExpressPass:
    def test_first_packet_needs_a_credit(self) -> None:
        """A packet arrives after a request, a credit, and its own way: one and a half RTTs."""
        flows = flow_table([(0.0, 0, 1, 1000, "background")])
        result = simulate(star(servers=2), flows, scheme("expresspass"), 1e-4)
        control_ps = 2 * (1_000_000 + _CREDIT_BYTES * BYTE_PS)
        data_ps = 2 * (1_000_000 + FULL_BYTES * BYTE_PS)
        # The stop leaves before the only packet.
        expected_ps = 2 * control_ps + data_ps + _CREDIT_BYTES * BYTE_PS
        assert expected_ps == pytest.approx(1e12 * result.flows["fct_s"].iloc[0], abs=1)

    def test_rate_of_a_lone_flow(self) -> None:
        """Credits take 84 bytes for each full packet; a lone flow gets all others."""
        result = simulate(star(servers=2), long_flows((0, 1)), scheme("expresspass"), 2e-3)
        assert rates_gbps(result).sum() == pytest.approx(_MOST_GBPS, rel=0.02)

    @pytest.mark.parametrize("senders", [2, 8, 32])
    def test_no_queue_and_fair_shares(self, senders: int) -> None:
        """Flows to one receiver share its link, and data wait for a few others at most."""
        flows = long_flows(*((i, senders) for i in range(senders)))
        result = simulate(star(servers=senders + 1), flows, scheme("expresspass"), 8e-3)
        rates = rates_gbps(result)
        assert rates.sum() == pytest.approx(_MOST_GBPS, rel=0.03)
        assert rates.sum() ** 2 / (senders * (rates**2).sum()) > 0.9
        assert result.ports["peak_queue_bytes"].max() <= 8 * FULL_BYTES
        assert result.summary["dropped_credits"] > 0

    def test_wasted_credits(self) -> None:
        """Credits on their way when a flow ends are wasted, at most those of two RTTs."""
        flows = flow_table([(0.0, 0, 1, 200_000, "background")])
        result = simulate(star(servers=2), flows, scheme("expresspass"), 1e-3)
        credit_s = (FULL_BYTES + _CREDIT_BYTES) * BYTE_PS / 1e12
        most = 2 * result.summary["base_rtt_s"] / credit_s
        assert 0 < result.summary["wasted_credits"] <= most

    def test_every_flow_completes(self) -> None:
        """Bursty traffic with incast completes without a loss of data."""
        result = simulate(SMALL, BURSTY, scheme("expresspass"), 1e-3, drain_s=0.05)
        assert 0 == result.summary["unfinished_flows"]
        assert 0 == result.summary["dropped_packets"]


class TestHoma:
    @pytest.mark.parametrize("size", [1, 1000, 20_000, 1_000_000])
    def test_lone_message(self, size: int) -> None:
        """A message alone takes no longer than its bytes: grants keep its sender busy."""
        flows = flow_table([(0.0, 0, 1, size, "background")])
        result = simulate(star(servers=2), flows, scheme("homa"), 1e-3)
        assert result.flows["slowdown"].iloc[0] == pytest.approx(1, abs=1e-3)

    @pytest.mark.parametrize("name", ["homa", "homa-ecmp"])
    def test_shortest_first(self, name: str) -> None:
        """A shorter message to the same receiver overtakes a longer one that began before."""
        flows = flow_table(
            [(0.0, 0, 2, 10_000_000, "background"), (1e-4, 1, 2, 1_000_000, "background")]
        )
        result = simulate(star(servers=3), flows, scheme(name), 5e-3)
        long, short = result.flows["slowdown"]
        assert short < 1.1
        # The longer message loses the time of the shorter.
        assert long == pytest.approx(1.1, abs=0.03)

    def test_queue_is_limited_by_overcommitment(self) -> None:
        """Beyond their first RTTbytes, as many messages send as there are granted levels."""
        senders, levels = 24, 4
        chosen = replace(scheme("homa"), classes=levels)
        size = 3_000_000
        flows = flow_table((0.0, i, senders, size, "background") for i in range(senders))
        result = simulate(star(servers=senders + 1), flows, chosen, 1e-2, sample_interval_s=1e-5)
        rtt_bytes = result.summary["base_rtt_s"] * 100e9 / 8 + FULL_BYTES
        later = result.buffers.iloc[100:, 0]
        assert later.max() <= levels * rtt_bytes
        assert 0 == result.summary["unfinished_flows"]

    def test_spraying_uses_all_paths(self) -> None:
        """Two flows between two racks use both spines; with a path each they may share one."""
        network = clos(racks=2, servers_per_rack=2, spines=2)
        flows = long_flows((0, 2), (1, 3))
        rates = rates_gbps(simulate(network, flows, scheme("homa"), 2e-3))
        # Random paths are not even at every moment.
        assert rates.sum() > 0.9 * 2 * 100 * 1000 / FULL_BYTES
        ecmp = [
            rates_gbps(simulate(network, flows, scheme("homa-ecmp"), 2e-3, seed)).sum()
            for seed in range(8)
        ]
        assert min(ecmp) == pytest.approx(100 * 1000 / FULL_BYTES, rel=0.02)

    def test_every_flow_completes(self) -> None:
        """Bursty traffic with incast completes, in whatever order sprayed packets arrive."""
        result = simulate(SMALL, BURSTY, scheme("homa"), 1e-3, drain_s=0.05)
        assert 0 == result.summary["unfinished_flows"]
        assert np.all(result.flows["delivered_bytes"] == result.flows["bytes"])

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"classes": 1}, "^classes is 1; it must be at least 2"),
            ({"endless_buffer": False}, "^endless_buffer is False; it must be true"),
            ({"control": "dctcp", "packets_per_ack": 1}, "^spray is True; it must be false"),
        ],
    )
    def test_settings_that_contradict(self, changes: dict[str, Any], message: str) -> None:
        """Homa needs levels and buffers, and spraying a receiver that accepts any order."""
        with pytest.raises(InputError, match=message):
            replace(scheme("homa"), **changes)
