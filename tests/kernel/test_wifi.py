# SPDX-License-Identifier: Apache-2.0
"""Wi-Fi links send batches as 802.11n does, and estimate their capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.experiment.wifi import Wifi
from ccbench.models.abc_wifi import smoothed_link_rate_mbps
from tests.kernel.conftest import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kernel

SLOW = Wifi(bitrates_mbps=(13,), overhead_ms=(0.5, 4), max_frames=20)
FAST = Wifi(bitrates_mbps=(65,))


def over(wifi: Wifi, *flows: Flow, duration_s: float = 12.0) -> Run:
    """Run flows over a Wi-Fi link."""
    link = Bottleneck(wifi=wifi, queue_packets=250)
    return run(
        Scenario(
            flows=flows, path=NetworkPath(bottlenecks=(link,), rtt_ms=20), duration_s=duration_s
        )
    )


def cbr(rate_mbps: float) -> Flow:
    """Return a flow that sends at a constant rate."""
    return Flow(kind="cbr", rate_mbps=rate_mbps)


class TestBatches:
    def test_airtime(self) -> None:
        """A batch takes its bits by the bitrate, and an overhead within its limits (7)."""
        batches = over(SLOW, cbr(8)).batches
        took_ms = (batches["acked_ns"] - batches["start_ns"]) / 1e6
        overhead_ms = took_ms - batches["bytes"] * 8 / 13e3
        assert overhead_ms.between(0.5 - 1e-6, 4 + 1e-6).all()
        assert overhead_ms.mean() == pytest.approx(2.25, rel=0.05)
        assert overhead_ms.corr(batches["frames"]) == pytest.approx(0, abs=0.1)

    def test_one_at_a_time(self) -> None:
        """No batch is sent before the block ACK of the previous one."""
        batches = over(FAST, Flow(cca="cubic")).batches
        assert (batches["start_ns"].to_numpy()[1:] >= batches["acked_ns"].to_numpy()[:-1]).all()
        assert batches["frames"].max() == FAST.max_frames

    def test_conservation(self) -> None:
        """Batches carry exactly the packets that leave the link."""
        result = over(FAST, Flow(cca="cubic"), cbr(5))
        carried = result.flows.groupby("flow")["throughput_bytes"].last().sum()
        assert result.batches["bytes"].sum() == carried

    def test_capacity(self) -> None:
        """With a backlog, the link carries the capacity of full batches."""
        result = over(FAST, cbr(80))
        assert result.utilisation() == pytest.approx(1, abs=0.01)
        batches = result.batches[result.batches["start_ns"] > 1e9]
        assert batches["frames"].eq(FAST.max_frames).all()

    def test_bitrates_take_turns(self) -> None:
        """Each bitrate lasts for its step, and then the list repeats."""
        wifi = Wifi(bitrates_mbps=(13, 65, 26), step_s=0.5)
        batches = over(wifi, cbr(30), duration_s=3).batches
        step = batches["start_ns"] // 500_000_000 % 3
        assert (batches["bitrate_bps"] / 1e6 == np.array([13, 65, 26])[step]).all()

    def test_one_station_each(self) -> None:
        """Each batch belongs to one station, and backlogged stations take turns."""
        wifi = Wifi(bitrates_mbps=(65,), stations=2)
        result = over(wifi, cbr(60), cbr(60))
        batches = result.batches[result.batches["start_ns"] > 1e9]
        assert (batches["station"].diff().iloc[1:] != 0).all()
        own = result.batches.groupby("station")["bytes"].sum()
        carried = result.flows.groupby("flow")["throughput_bytes"].last()
        assert own.tolist() == carried.tolist()

    def test_saved(self, tmp_path: Path) -> None:
        """A saved run includes its batches."""
        result = over(FAST, cbr(5), duration_s=1)
        result.save(tmp_path / "run")
        assert Run.load(tmp_path / "run").batches.equals(result.batches)


class TestEstimate:
    @pytest.mark.parametrize("wifi", [SLOW, FAST, Wifi(bitrates_mbps=(130,), max_frames=64)])
    @pytest.mark.parametrize("share", [0.2, 0.4, 0.7, 0.9, 1.5])
    def test_one_user(self, wifi: Wifi, share: float) -> None:
        """The estimate is within 5 % of the capacity, or of twice the rate if that is less."""
        rate_mbps = share * wifi.mean_mbps
        batches = over(wifi, cbr(rate_mbps)).batches
        estimate = batches.loc[batches["start_ns"] > 1e9, "estimate_bps"].mean() / 1e6
        assert estimate == pytest.approx(min(wifi.mean_mbps, 2 * rate_mbps), rel=0.05)

    @pytest.mark.parametrize("shares", [(0.1, 0.1), (0.5, 0.2), (0.8, 0.8)])
    def test_two_users(self, shares: tuple[float, float]) -> None:
        """The estimate is within 5 % for a link that two users share."""
        wifi = Wifi(bitrates_mbps=(65,), stations=2)
        flows = [cbr(share * wifi.mean_mbps) for share in shares]
        batches = over(wifi, *flows).batches
        estimate = batches.loc[batches["start_ns"] > 1e9, "estimate_bps"].mean() / 1e6
        assert estimate == pytest.approx(wifi.mean_mbps * min(1, 2 * sum(shares)), rel=0.05)

    @pytest.mark.parametrize("share", [0.7, 1.5])
    def test_library(self, share: float) -> None:
        """From the times of block ACKs alone, `ccbench.models.abc_wifi` gives the same estimate."""
        batches = over(FAST, cbr(share * FAST.mean_mbps)).batches
        estimates = smoothed_link_rate_mbps(
            batches["acked_ns"] / 1e6,
            batches["frames"],
            frame_bytes=1500,
            bitrate_mbps=65,
            max_frames=FAST.max_frames,
        )
        steady = batches["start_ns"] > 1e9
        kernel_mbps = batches.loc[steady, "estimate_bps"].mean() / 1e6
        assert estimates[steady].mean() == pytest.approx(kernel_mbps, rel=0.03)

    def test_strawmen(self) -> None:
        """Neither the bitrate nor the throughput is an estimate of the capacity."""
        batches = over(FAST, cbr(0.6 * FAST.mean_mbps)).batches
        estimate = batches.loc[batches["start_ns"] > 1e9, "estimate_bps"].mean() / 1e6
        assert estimate < 0.9 * 65
        assert estimate > 1.5 * 0.6 * FAST.mean_mbps
