# SPDX-License-Identifier: Apache-2.0
"""What host and guest say to each other: the twins of ``kernel_modules/include/ccbench.h``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.flow import MAX_BITRATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.scenario import Bottleneck, Scenario

__all__ = [
    "BATCH_RECORD",
    "COMPLETION_RECORD",
    "FLOW_RECORD",
    "QUEUE_RECORD",
    "SUMMARY_RECORDS",
    "describe_flows",
    "describe_link",
]

_PROTOCOL = 2

#: One event of one packet at one bottleneck.
QUEUE_RECORD = np.dtype(
    [
        ("time_ns", "u8"),
        ("flow", "u4"),
        ("bytes", "u2"),
        ("event", "u1"),
        ("bottleneck", "u1"),
    ]
)

#: The tables of a queue's summary.
SUMMARY_RECORDS = {
    "occupancy": np.dtype(
        [("time_ns", "u8"), ("arrivals", "u8"), ("packets", "u4"), ("bottleneck", "u4")]
    ),
    "waits": np.dtype(
        [("from_ns", "u8"), ("to_ns", "u8"), ("packets", "u8"), ("bottleneck", "u8")]
    ),
    "counts": np.dtype(
        [("packets", "u8"), ("bytes", "u8"), ("flow", "u4"), ("event", "u2"), ("bottleneck", "u2")]
    ),
    "samples": np.dtype(
        [
            ("time_ns", "u8"),
            ("backlog_packets", "u4"),
            ("backlog_bytes", "u4"),
            ("bottleneck", "u8"),
        ]
    ),
}

#: One sample of one flow.
FLOW_RECORD = np.dtype(
    [
        ("time_ns", "u8"),
        ("delivered_bytes", "u8"),
        ("throughput_bytes", "u8"),
        ("pacing_rate_bps", "u8"),
        ("flow", "u4"),
        ("cwnd_packets", "u4"),
        ("ssthresh_packets", "u4"),
        ("inflight_packets", "u4"),
        ("srtt_us", "u4"),
        ("min_rtt_us", "u4"),
        ("retransmits", "u4"),
        ("lost", "u4"),
        ("drops", "u4"),
        ("state", "u4"),
        ("cca_attribute", "u4"),
        ("cca_info", "u4", 5),
    ]
)

#: One batch of frames that a Wi-Fi link has sent.
BATCH_RECORD = np.dtype(
    [
        ("start_ns", "u8"),
        ("acked_ns", "u8"),
        ("bitrate_bps", "u8"),
        ("estimate_bps", "u8"),
        ("bytes", "u4"),
        ("frames", "u2"),
        ("station", "u1"),
        ("bottleneck", "u1"),
    ]
)

#: What became of one flow.
COMPLETION_RECORD = np.dtype(
    [
        ("start_ns", "i8"),
        ("end_ns", "i8"),
        ("delivered_bytes", "u8"),
        ("sent_bytes", "u8"),
        ("retransmits", "u4"),
        ("error", "i4"),
    ]
)

_LINK_HEADER = np.dtype(
    [
        ("protocol", "u4"),
        ("bottlenecks", "u4"),
        ("flows", "u4"),
        ("queue_log", "u4"),
        ("rtt_ns", "u8"),
        ("jitter_ns", "u8"),
        ("ack_batch_ns", "u8"),
        ("seed", "u8"),
        ("duration_ns", "u8"),
        ("sample_interval_ns", "u8"),
        ("occupancy_rows", "u8"),
    ]
)
_BOTTLENECK = np.dtype(
    [
        ("rate_bps", "u8"),
        ("trace_length", "u4"),
        ("loss", "u4"),
        ("wifi_frames", "u4"),
        ("wifi_stations", "u4"),
        ("wifi_step_ns", "u8"),
        ("wifi_overhead_ns", "u8", 2),
    ]
)
_FLOWS_HEADER = np.dtype(
    [
        ("protocol", "u4"),
        ("flows", "u4"),
        ("duration_ns", "u8"),
        ("sample_interval_ns", "u8"),
        ("seed", "u8"),
    ]
)
_FLOW_SPEC = np.dtype(
    [
        ("start_ns", "u8"),
        ("stop_ns", "u8"),
        ("size_bytes", "u8"),
        ("rate_bps", "u8"),
        ("on_ns", "u8"),
        ("off_ns", "u8"),
        ("kind", "u2"),
        ("delayed_acks", "u2"),
        ("packet_bytes", "u4"),
        ("cca", "S16"),
        ("segment_ns", "u8"),
        ("buffer_ns", "u8"),
        ("ladder_kbps", "u4", MAX_BITRATES),
    ]
)
_QUEUE_LOGS = (False, True, "summary")
_FLOW_KINDS = ("bulk", "bytes", "rate", "onoff", "cbr", "poisson", "served", "video")


def describe_link(scenario: Scenario) -> bytes:
    """Return the description of the path: header, bottlenecks, traces, what flows differ in.

    That is, of each its extra delay and the bottleneck at which it joins.
    """
    header = np.array(
        (
            _PROTOCOL,
            len(scenario.bottlenecks),
            scenario.flow_count,
            _QUEUE_LOGS.index(scenario.queue_log),
            round(scenario.rtt_ms * 1e6),
            round(scenario.jitter_ms * 1e6),
            round(scenario.ack_batch_ms * 1e6),
            scenario.seed,
            round(scenario.duration_s * 1e9),
            round(scenario.sample_interval_ms * 1e6),
            # A queue of n packets, n + 1 numbers, and one for more.
            2 + max(bottleneck.queue_packets or 0 for bottleneck in scenario.bottlenecks),
        ),
        dtype=_LINK_HEADER,
    )
    bottlenecks = np.array([_bottleneck(b) for b in scenario.bottlenecks], dtype=_BOTTLENECK)
    traces = [np.array(_steps(b), dtype="u4") for b in scenario.bottlenecks]
    table = scenario.flow_table()
    extra_us = np.round(table["extra_rtt_ms"].to_numpy() * 1e3).astype("u4")
    ends = (table[f"{end}_bottleneck"].to_numpy().astype("u4") for end in ("first", "last"))
    return b"".join(part.tobytes() for part in (header, bottlenecks, *traces, extra_us, *ends))


def _bottleneck(bottleneck: Bottleneck) -> tuple[object, ...]:
    rate_bps = round((bottleneck.bandwidth_mbps or 0) * 1e6)
    loss = min(round(bottleneck.loss * 2**32), 2**32 - 1)
    wifi = bottleneck.wifi
    if wifi is None:
        batches: tuple[object, ...] = (0, 0, 0, (0, 0))
    else:
        overhead_ns = tuple(round(part * 1e6) for part in wifi.overhead_ms)
        batches = (wifi.max_frames, wifi.stations, round(wifi.step_s * 1e9), overhead_ns)
    return rate_bps, len(_steps(bottleneck)), loss, *batches


def _steps(bottleneck: Bottleneck) -> Sequence[int]:
    """Return opportunities in ms, or bitrates in kbit/s, by which a link's rate varies."""
    if bottleneck.trace is not None:
        return bottleneck.trace.opportunities_ms
    if bottleneck.wifi is not None:
        return [round(mbps * 1e3) for mbps in bottleneck.wifi.bitrates_mbps]
    return ()


def describe_flows(scenario: Scenario, *, served: bool = False) -> bytes:
    """Return the description of the traffic: header, one specification per flow.

    With `served`, programs of the guest carry the bulk flows.
    """
    header = np.array(
        (
            _PROTOCOL,
            scenario.flow_count,
            round(scenario.duration_s * 1e9),
            round(scenario.sample_interval_ms * 1e6),
            scenario.seed,
        ),
        dtype=_FLOWS_HEADER,
    )
    table = scenario.flow_table()
    groups = [scenario.flows[group] for group in table["group"]]
    specs = np.zeros(len(table), dtype=_FLOW_SPEC)
    specs["start_ns"] = _nanoseconds(table["start_s"])
    specs["stop_ns"] = _nanoseconds(table["stop_s"])
    specs["size_bytes"] = table["size_bytes"].fillna(0)
    specs["rate_bps"] = np.round(table["rate_mbps"].fillna(0) * 1e6)
    specs["on_ns"] = _nanoseconds([group.on_s or 0 for group in groups])
    specs["off_ns"] = _nanoseconds([group.off_s or 0 for group in groups])
    kinds = ["served" if served and group.kind == "bulk" else group.kind for group in groups]
    specs["kind"] = [_FLOW_KINDS.index(kind) for kind in kinds]
    specs["delayed_acks"] = [group.delayed_acks for group in groups]
    specs["packet_bytes"] = [group.packet_bytes for group in groups]
    specs["cca"] = [group.cca.encode() for group in groups]
    specs["segment_ns"] = _nanoseconds([group.segment_s or 0 for group in groups])
    specs["buffer_ns"] = _nanoseconds([group.buffer_s or 0 for group in groups])
    for spec, group in zip(specs, groups, strict=True):
        if group.bitrates_mbps:
            ladder = np.round(np.array(group.bitrates_mbps) * 1e3)
            spec["ladder_kbps"][: len(ladder)] = ladder
    return header.tobytes() + specs.tobytes()


def _nanoseconds(seconds: object) -> npt.NDArray[np.uint64]:
    return np.round(np.asarray(seconds, dtype=float) * 1e9).astype("u8")
