# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.topology import star
from ccbench.datacenter.workload import flow_table
from tests.unit.datacenter.conftest import FULL_BYTES, long_flows, rates_gbps


class TestDctcp:
    def test_queue_stays_near_the_threshold(self) -> None:
        """Two long flows keep the queue around K and the link busy (SIGCOMM 2010, section 3.3)."""
        chosen = replace(scheme("dctcp"), ecn_kb=(65, 65), pfc=False)
        result = simulate(
            star(servers=3), long_flows((0, 2), (1, 2)), chosen, 4e-3, sample_interval_s=1e-6
        )
        queue = result.buffers.iloc[1000:, 0]
        # Flows overshoot by a packet each, and oscillate by half of sqrt(2 N K (C RTT + K)) / 2 or
        # so.
        assert 30_000 < queue.mean() < 75_000
        assert queue.max() < 120_000
        assert rates_gbps(result).sum() == pytest.approx(95.4, rel=0.02)

    @pytest.mark.parametrize("senders", [2, 4])
    def test_one_cut_in_a_round_trip(self, senders: int) -> None:
        """The queue falls no deeper than by one cut of each flow (SIGCOMM 2010, section 3.3)."""
        threshold = 40
        chosen = replace(
            scheme("dctcp"),
            ecn_kb=(threshold * FULL_BYTES / 1e3,) * 2,
            ecn_probability=1.0,
            pfc=False,
        )
        network = star(servers=senders + 1, gbps=10, delay_us=10)
        flows = long_flows(*((i, senders) for i in range(senders)))
        result = simulate(network, flows, chosen, 2e-2, sample_interval_s=1e-6)
        queue = result.buffers.iloc[10_000:, 0] / FULL_BYTES
        window = (result.summary["base_rtt_s"] * 1e10 / 8 / FULL_BYTES + threshold) / senders
        share = (2 * window + 1) / (window + 1) ** 2
        alpha = np.sqrt(share)
        for _ in range(20):  # equation 6: alpha² (1 - alpha / 4)
            alpha = np.sqrt(share / (1 - alpha / 4))
        swing = senders * (window + 1) * alpha / 2
        assert queue.min() > threshold + senders - swing - 2
        assert queue.max() < threshold + 3 * senders

    def test_marks_need_a_queue(self) -> None:
        """A lone flow at the rate of its link builds no queue, so nothing is marked."""
        result = simulate(star(servers=2), long_flows((0, 1)), scheme("dctcp"), 1e-3)
        assert 0 == result.ports["marked_packets"].sum()

    @pytest.mark.parametrize(("packets", "rounds"), [(10, 1), (30, 2), (70, 3), (150, 4)])
    def test_slow_start(self, packets: int, rounds: int) -> None:
        """From ten packets on, the window doubles per round trip: 10, 30, 70, 150 in 1 to 4."""
        network = star(servers=2, delay_us=100)
        flows = flow_table([(0.0, 0, 1, 1000 * packets, "background")])
        chosen = scheme("dctcp-slow-start")
        result = simulate(network, flows, chosen, 1e-3, drain_s=1e-2)
        later_s = result.flows["fct_s"].iloc[0] - result.flows["ideal_s"].iloc[0]
        assert later_s / result.summary["base_rtt_s"] == pytest.approx(rounds - 1, abs=0.1)

    def test_slow_start_ends_at_a_mark(self) -> None:
        """After the first mark, the window grows by a packet per round trip."""
        chosen = replace(scheme("dctcp-slow-start"), ecn_kb=(65, 65), pfc=False)
        result = simulate(
            star(servers=3), long_flows((0, 2), (1, 2)), chosen, 4e-3, sample_interval_s=1e-6
        )
        assert result.buffers.iloc[1000:, 0].max() < 120_000
        assert rates_gbps(result).sum() == pytest.approx(95.4, rel=0.02)


class TestDcqcn:
    def test_shares(self) -> None:
        """Marked flows slow down, then share most of the link, and PFC prevents losses."""
        result = simulate(
            star(servers=5), long_flows(*((i, 4) for i in range(4))), scheme("dcqcn"), 5e-2
        )
        rates = rates_gbps(result)
        assert rates.sum() > 60
        assert rates.max() < 2 * rates.min()
        assert 0 == result.summary["dropped_packets"]


class TestHpcc:
    @pytest.mark.parametrize("senders", [1, 2, 8])
    def test_keeps_utilisation_at_its_target(self, senders: int) -> None:
        """Long flows use about eta of the link, with almost no queue."""
        network = star(servers=senders + 1)
        flows = long_flows(*((i, senders) for i in range(senders)))
        result = simulate(network, flows, scheme("hpcc"), 3e-3, sample_interval_s=1e-6)
        late = result.samples["long_bytes"].iloc[[999, -1]]
        goodput = (late.iloc[1] - late.iloc[0]) * 8 / (late.index[1] - late.index[0]) / 1e9
        on_the_wire = goodput * (FULL_BYTES + 80) / 1000
        assert on_the_wire == pytest.approx(95, abs=4)
        assert result.buffers.iloc[1000:, 0].mean() < 15_000
