# SPDX-License-Identifier: Apache-2.0
"""Wi-Fi links as data."""

from __future__ import annotations

from typing import Any

import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.base.errors import InputError
from ccbench.emulate.realtime.host import check_scenario
from ccbench.experiment.wifi import Wifi


class TestWifi:
    def test_document(self) -> None:
        """A link written as TOML values is read back equal."""
        link = Bottleneck(wifi=Wifi(bitrates_mbps=(13, 65), stations=2), queue_packets=9)
        assert Bottleneck.from_dict(link.to_dict()) == link

    @pytest.mark.parametrize("duration_s", [0.5, 2, 3, 5, 6.5, 60])
    def test_capacity(self, duration_s: float) -> None:
        """The bytes of an interval are the capacity of each bitrate while it lasts."""
        wifi = Wifi(bitrates_mbps=(13, 65, 26), step_s=2)
        steps = int(duration_s * 1000)
        rates = [wifi.capacity_mbps(wifi.bitrates_mbps[i // 2000 % 3]) for i in range(steps)]
        assert wifi.capacity_bytes(duration_s) == pytest.approx(sum(rates) * 125, rel=1e-6)

    def test_overhead(self) -> None:
        """The fewer frames share the overhead, the more it costs."""
        rates = [
            Wifi(bitrates_mbps=(65,), max_frames=frames).mean_mbps for frames in (1, 8, 32, 256)
        ]
        assert rates == sorted(rates)
        assert rates[-1] < 65
        assert Wifi(bitrates_mbps=(65,), overhead_ms=(0, 0)).mean_mbps == pytest.approx(65)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"bitrates_mbps": ()}, "bitrates_mbps is .*one or more numbers"),
            ({"bitrates_mbps": 65}, "bitrates_mbps is 65; it must be a list of numbers"),
            ({"bitrates_mbps": "65"}, "bitrates_mbps is '65'; it must be a list of numbers"),
            ({"bitrates_mbps": (65, 0)}, r"bitrates_mbps\[1\] is 0"),
            ({"overhead_ms": (1,)}, "overhead_ms is .*two numbers, the smaller first"),
            ({"overhead_ms": (2, 1)}, "overhead_ms is .*two numbers, the smaller first"),
            ({"overhead_ms": (-1, 1)}, r"overhead_ms\[0\] is -1"),
            ({"max_frames": 0}, "max_frames is 0"),
            ({"stations": 257}, "stations is 257"),
            ({"step_s": 0}, "step_s is 0"),
        ],
    )
    def test_bad_settings(self, settings: dict[str, Any], message: str) -> None:
        """A setting out of range is an error that names it."""
        with pytest.raises(InputError, match=message):
            Wifi(**{"bitrates_mbps": (65,), **settings})


class TestBottleneck:
    def test_one_kind(self) -> None:
        """A link has one of rate, trace and Wi-Fi."""
        with pytest.raises(InputError, match="bandwidth_mbps and wifi exclude each other"):
            Bottleneck(bandwidth_mbps=5, wifi=Wifi(bitrates_mbps=(65,)), queue_packets=5)
        with pytest.raises(InputError, match="bandwidth_mbps or trace or wifi is missing"):
            Bottleneck(queue_packets=5)

    @pytest.mark.parametrize("wifi", [65, {"bitrate": 65}, {"bitrates_mbps": [0]}])
    def test_bad_tables(self, wifi: object) -> None:
        """A table that is not a Wi-Fi link is an error with its position."""
        with pytest.raises(InputError, match="wifi"):
            Bottleneck.from_dict({"wifi": wifi, "queue_packets": 5})

    def test_real_time(self) -> None:
        """Real-time engines refuse Wi-Fi."""
        link = Bottleneck(wifi=Wifi(bitrates_mbps=(65,)), queue_packets=50)
        scenario = Scenario(
            flows=(Flow(),), path=NetworkPath(bottlenecks=(link,), rtt_ms=20), duration_s=1
        )
        with pytest.raises(InputError, match=r"bottlenecks\[0\]\.wifi"):
            check_scenario(scenario, "mahimahi")
