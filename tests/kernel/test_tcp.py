# SPDX-License-Identifier: Apache-2.0
"""Known behaviour of Linux's congestion control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Flow
from tests.kernel.conftest import dumbbell, run

if TYPE_CHECKING:
    import pandas as pd

pytestmark = pytest.mark.kernel

OTHER_CCAS = (
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)


class TestReno:
    @pytest.fixture
    def avoidance(self) -> pd.DataFrame:
        """Give the samples of a Reno flow in congestion avoidance."""
        scenario = dumbbell(
            Flow(cca="reno"), queue_packets=33, duration_s=60, sample_interval_ms=10
        )
        samples = run(scenario).flows
        samples["cwnd_packets"] = samples["cwnd_packets"].astype(float)
        return samples[(samples["time_ns"] > 10e9) & (samples["state"] == "open")]

    def test_one_packet_per_round_trip(self, avoidance: pd.DataFrame) -> None:
        """In congestion avoidance Reno's window grows by one packet in each round trip."""
        slopes = []
        for _, rise in avoidance.groupby(avoidance["cwnd_packets"].diff().lt(-5).cumsum()):
            if len(rise) > 100:
                round_trips = np.diff(rise["time_ns"]).sum() / 1e3 / rise["srtt_us"].mean()
                growth = rise["cwnd_packets"].iloc[-1] - rise["cwnd_packets"].iloc[0]
                slopes.append(growth / round_trips)
        assert len(slopes) >= 3
        assert np.mean(slopes) == pytest.approx(1, abs=0.1)

    def test_halving(self, avoidance: pd.DataFrame) -> None:
        """A loss halves Reno's window."""
        cwnd = avoidance["cwnd_packets"].to_numpy()
        falls = np.flatnonzero(np.diff(cwnd) < -5)
        assert len(falls) >= 3
        assert cwnd[falls + 1] / cwnd[falls] == pytest.approx(0.5, abs=0.06)


class TestBbr:
    def test_probe_rtt(self) -> None:
        """Every 10 s BBR cuts its window to 4 packets for 200 ms to measure the base RTT."""
        scenario = dumbbell(
            Flow(cca="bbr"), Flow(cca="cubic"), duration_s=60, sample_interval_ms=10
        )
        samples = run(scenario).flows
        own = samples[samples["flow"] == 0]
        low = own["cwnd_packets"] <= 4
        starts = own.loc[low & ~low.shift(fill_value=False), "time_ns"].to_numpy() / 1e9
        starts = starts[np.concatenate([[True], np.diff(starts) > 1])]
        assert len(starts) >= 4
        assert np.diff(starts) == pytest.approx(10, abs=0.8)
        assert low.sum() * 0.01 / len(starts) == pytest.approx(0.25, abs=0.1)

    def test_bandwidth_estimate(self) -> None:
        """A lone BBR flow paces at about the link's rate and leaves a short queue."""
        result = run(dumbbell(Flow(cca="bbr"), queue_packets=200, duration_s=30))
        late = result.flows[result.flows["time_ns"] > 5e9]
        # The pacing rate counts payload and headers as the kernel does, and probes by 25 %.
        assert late["pacing_rate_bps"].median() / 1e6 == pytest.approx(10, rel=0.1)
        assert result.occupancy().loc[5:].mean() < 20


class TestSharing:
    @pytest.mark.parametrize("cca", ["reno", "cubic", "bbr"])
    def test_equal_flows_share_equally(self, cca: str) -> None:
        """Two flows of one CCA share equally in the long run."""
        flows = (Flow(cca=cca), Flow(cca=cca, start_s=0.5))
        result = run(dumbbell(*flows, queue_packets=66, duration_s=120, queue_log=False))
        late = result.throughput(1.0).loc[20:]
        assert late[0].mean() / late[1].mean() == pytest.approx(1, abs=0.3)
        assert late.sum(axis=1).mean() == pytest.approx(10, rel=0.02)

    def test_bbr_takes_from_cubic_in_a_small_buffer(self) -> None:
        """With a buffer of 1 BDP BBR gets far more than CUBIC; of 8 BDP, CUBIC gets more."""
        flows = (Flow(cca="bbr"), Flow(cca="cubic"))
        share = {}
        for queue_packets in (33, 267):
            scenario = dumbbell(*flows, queue_packets=queue_packets, duration_s=120)
            late = run(scenario).throughput(1.0).loc[30:]
            share[queue_packets] = late[0].mean() / late.sum(axis=1).mean()
        assert share[33] > 0.65
        assert share[267] < 0.5

    @pytest.mark.parametrize("cca", OTHER_CCAS)
    def test_every_cca_uses_the_link(self, cca: str) -> None:
        """Each of the kernel's algorithms, alone, fills most of the link."""
        result = run(dumbbell(Flow(cca=cca), duration_s=20))
        assert result.throughput(1.0)[0].iloc[5:].mean() > 8
