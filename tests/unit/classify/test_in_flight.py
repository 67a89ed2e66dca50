# SPDX-License-Identifier: Apache-2.0
"""Packets in flight, of a sender with a known window."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ccbench.classify.in_flight import in_flight
from ccbench.classify.setting import SETTINGS, Setting


def queue_of(window: int, setting: Setting, packets: int = 2000) -> pd.DataFrame:
    """Return the events at the queue of a sender with this window in packets, always full."""
    service_s = 1 / setting.packets_per_s
    arrivals, departures = np.zeros(packets), np.zeros(packets)
    for i in range(packets):
        arrivals[i] = departures[i - window] + setting.rtt_ms / 1e3 if i >= window else 0.0
        departures[i] = max(arrivals[i], departures[i - 1] + service_s if i else 0.0)
    events = pd.DataFrame(
        {
            "time_ns": np.concatenate([arrivals, departures]) * 1e9,
            "event": ["enqueue"] * packets + ["dequeue"] * packets,
            "change": [1] * packets + [-1] * packets,
        }
    ).sort_values("time_ns", kind="stable")
    events["backlog_packets"] = events["change"].cumsum()
    return events.astype({"time_ns": "int64"}).reset_index(drop=True)


class TestWindow:
    @pytest.mark.parametrize("window", [5, 35, 60])
    @pytest.mark.parametrize("setting", SETTINGS[:2])
    def test_constant(self, window: int, setting: Setting) -> None:
        """The packets in flight are the window, whether it fills the link or not."""
        actual = in_flight(queue_of(window, setting), setting, from_s=0.5, duration_s=2)
        assert np.abs(actual - window).max() <= 1

    def test_queue_only(self) -> None:
        """Without the events' kinds, they are the window as long as packets wait."""
        setting, window = SETTINGS[0], 60
        events = queue_of(window, setting).drop(columns="event")
        actual = in_flight(events, setting, from_s=0.5, duration_s=2)
        assert np.abs(actual - window).max() <= 2

    def test_queue_only_idle(self) -> None:
        """Without the events' kinds and without waiting packets, nothing is in flight."""
        events = pd.DataFrame({"time_ns": [0, 10**10], "backlog_packets": [0, 0]})
        assert not in_flight(events, SETTINGS[0], duration_s=2).any()

    def test_drops(self) -> None:
        """Packets that the queue drops are not in flight."""
        events = queue_of(60, SETTINGS[0])
        drops = events.iloc[::10].assign(event="drop")
        both = pd.concat([events, drops]).sort_index(kind="stable")
        settings = {"from_s": 0.5, "duration_s": 2.0}
        expected = in_flight(events, SETTINGS[0], **settings)
        np.testing.assert_array_equal(expected, in_flight(both, SETTINGS[0], **settings))
