# SPDX-License-Identifier: Apache-2.0
"""Samples from qlogs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ccbench.run import qlog

TIMES_NS = np.array([0, 10_000_000, 20_000_000, 30_000_000])


def event(time_ms: float, **metrics: float) -> bytes:
    """Return an event with metrics."""
    record = {"time": time_ms, "name": "recovery:metrics_updated", "data": metrics}
    return json.dumps(record).encode()


def sent(length: int) -> bytes:
    """Return the event of a packet."""
    record = {"time": 1, "name": "transport:packet_sent", "data": {"raw": {"length": length}}}
    return json.dumps(record).encode()


def header(reference: object) -> bytes:
    """Return the first record of a qlog."""
    return json.dumps({"trace": {"common_fields": {"reference_time": reference}}}).encode()


def samples(*lines: bytes, **times: int) -> dict[str, Any]:
    """Return the samples of a qlog as lists."""
    columns = qlog.samples(lines, TIMES_NS, **{"start_ns": 0, "day_ns": 0, **times})
    assert columns is not None
    return {name: list(values) for name, values in columns.items()}


class TestSamples:
    def test_hold(self) -> None:
        """A sample has the last state until its time, and none before the first event."""
        columns = samples(event(5, smoothed_rtt=40), event(20, smoothed_rtt=41))
        assert columns["srtt_us"][1:] == [40_000, 41_000, 41_000]
        assert np.isnan(columns["srtt_us"][0])
        assert np.isnan(columns["min_rtt_us"]).all()

    def test_partial_events(self) -> None:
        """A metric that an event does not mention stays as it is."""
        columns = samples(event(0, smoothed_rtt=40, min_rtt=30), event(5, smoothed_rtt=50))
        assert (columns["srtt_us"][1], columns["min_rtt_us"][1]) == (50_000, 30_000)

    def test_packets(self) -> None:
        """Windows and data in flight are in packets of the largest size sent."""
        metrics = {"congestion_window": 14_000, "bytes_in_flight": 7_100, "ssthresh": 2_800}
        columns = samples(sent(1200), sent(1400), event(0, **metrics))
        assert columns["cwnd_packets"][0] == 10
        assert columns["inflight_packets"][0] == 5
        assert columns["ssthresh_packets"][0] == 2

    def test_no_limit(self) -> None:
        """A threshold of 2^64 - 1 bytes is none."""
        assert np.isnan(samples(event(0, ssthresh=2**64 - 1))["ssthresh_packets"]).all()

    def test_unit(self) -> None:
        """RTTs may be in another unit than milliseconds."""
        columns = samples(event(0, smoothed_rtt=0.04, congestion_window=1200), rtt_ms=1000)
        assert (columns["srtt_us"][0], columns["cwnd_packets"][0]) == (40_000, 1)

    def test_start(self) -> None:
        """Relative times count from the start of the connection."""
        columns = samples(header(0), event(5, smoothed_rtt=40), start_ns=10_000_000)
        assert np.isnan(columns["srtt_us"][1])
        assert columns["srtt_us"][2] == 40_000

    @pytest.mark.parametrize(
        "lines",
        [
            (event(1_577_836_800_020, smoothed_rtt=40),),
            (header(1_577_836_800_000), event(20, smoothed_rtt=40)),
            (header({"wall_clock_time": "2020-01-01T00:00:00Z"}), event(20, smoothed_rtt=40)),
        ],
    )
    def test_day(self, lines: tuple[bytes, ...]) -> None:
        """Times of the day, of events or of their reference, are those of the experiment."""
        columns = samples(*lines, day_ns=1_577_836_800 * 10**9, start_ns=123)
        assert np.isnan(columns["srtt_us"][1])
        assert columns["srtt_us"][2] == pytest.approx(40_000)

    def test_record_separators(self) -> None:
        """Records may begin with the separator of JSON text sequences."""
        assert samples(b"\x1e" + event(0, smoothed_rtt=40))["srtt_us"][0] == 40_000

    def test_cut(self) -> None:
        """An incomplete last event, of a program that was stopped, is ignored."""
        columns = samples(event(0, smoothed_rtt=40), event(5, smoothed_rtt=50)[:-9])
        assert columns["srtt_us"] == [40_000] * 4

    def test_none(self) -> None:
        """A qlog without metrics has no samples."""
        assert qlog.samples([sent(1200)], TIMES_NS, start_ns=0, day_ns=0) is None
