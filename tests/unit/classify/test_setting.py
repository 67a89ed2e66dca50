# SPDX-License-Identifier: Apache-2.0
"""The network settings of CCAnalyzer."""

from __future__ import annotations

import pytest

from ccbench.base.errors import InputError
from ccbench.classify.setting import LOW_RATE, SETTINGS, Setting


class TestSettings:
    def test_names(self) -> None:
        """The settings are the thesis's four, with its names (Table 2.3), and its low-rate one."""
        assert {setting.name for setting in SETTINGS} == {
            "10bw-130rtt-128q",
            "10bw-85rtt-128q",
            "5bw-130rtt-64q",
            "5bw-85rtt-64q",
        }
        assert "0.3bw-275rtt-16q" == LOW_RATE.name

    @pytest.mark.parametrize("setting", [*SETTINGS, LOW_RATE])
    def test_queue(self, setting: Setting) -> None:
        """Each queue holds a power of two packets, about a BDP (section 2.3.3.2)."""
        bdp_packets = setting.bandwidth_mbps * 1e3 * setting.rtt_ms / 8 / 1500
        assert 0.7 < setting.queue_packets / bdp_packets < 2.4

    @pytest.mark.parametrize("name", ["bandwidth_mbps", "rtt_ms", "queue_packets"])
    def test_bad_input(self, name: str) -> None:
        """A value that is not above 0 is an input error that names it."""
        values = {"bandwidth_mbps": 5, "rtt_ms": 85, "queue_packets": 64, name: 0}
        with pytest.raises(InputError, match=f"{name} is 0"):
            Setting(**values)
