# SPDX-License-Identifier: Apache-2.0
"""Formats of the guest's records, equal to structs in ``kernel_modules/include/ccbench.h``."""

from __future__ import annotations

import numpy as np

__all__ = [
    "BATCH_RECORD",
    "CHANGE_RECORD",
    "COMPLETION_RECORD",
    "DRAWS_RECORD",
    "ECN_RECORD",
    "FIRST_RECORD",
    "FLOW_RECORD",
    "LINK_RECORD",
    "MESSAGE_RECORD",
    "QDISC_RECORD",
    "QUEUE_RECORD",
    "SEGMENT_RECORD",
    "SUMMARY_RECORDS",
]

#: One event of one packet at one bottleneck.
QUEUE_RECORD = np.dtype(
    [
        ("time_ns", "u8"),
        ("flow", "u4"),
        ("bytes", "u2"),
        ("event", "u1"),  # and the queue, in the higher four bits
        ("bottleneck", "u1"),
    ]
)

#: The tables of a queue's summary.
SUMMARY_RECORDS = {
    "occupancy": np.dtype(
        [
            ("time_ns", "u8"),
            ("arrivals", "u8"),
            ("packets", "u4"),
            ("bottleneck", "u2"),
            ("queue", "u2"),
        ]
    ),
    "waits": np.dtype(
        [
            ("from_ns", "u8"),
            ("to_ns", "u8"),
            ("packets", "u8"),
            ("bottleneck", "u4"),
            ("queue", "u4"),
        ]
    ),
    "counts": np.dtype(
        [
            ("packets", "u8"),
            ("bytes", "u8"),
            ("waited_ns", "u8"),
            ("flow", "u4"),
            ("event", "u2"),
            ("bottleneck", "u1"),
            ("queue", "u1"),
        ]
    ),
    "samples": np.dtype(
        [
            ("time_ns", "u8"),
            ("backlog_packets", "u4"),
            ("backlog_bytes", "u4"),
            ("bottleneck", "u4"),
            ("queue", "u4"),
        ]
    ),
}

#: What one link has carried, and what has left its queue: all packets, and those of its classic and
#: its L4S queue.
LINK_RECORD = np.dtype(
    [
        ("carried_packets", "u8"),
        ("carried_bytes", "u8"),
        ("left_packets", "u8"),
        ("waited_ns", "u8"),
        ("classic_left_packets", "u8"),
        ("classic_waited_ns", "u8"),
        ("l4s_left_packets", "u8"),
        ("l4s_waited_ns", "u8"),
    ]
)

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

#: The statistics of one qdisc.
QDISC_RECORD = np.dtype([("time_ns", "u8"), ("bottleneck", "u4"), ("statistics", "u1", 60)])

#: Draws of random numbers by one function of the guest's kernel.
DRAWS_RECORD = np.dtype([("function", "S64"), ("draws", "u8")])

#: One occurrence of a change after an event.
CHANGE_RECORD = np.dtype([("time_ns", "u8"), ("change", "u8")])

#: One batch of frames sent by a Wi-Fi link.
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

#: The first captured packet of one flow at one point.
FIRST_RECORD = np.dtype([("position", "u8"), ("flow", "u8")])

#: One completed short flow over an open connection.
MESSAGE_RECORD = np.dtype([("end_ns", "u8"), ("flow", "u4"), ("message", "u4")])

#: One segment of a video that has arrived.
SEGMENT_RECORD = np.dtype([("start_ns", "u8"), ("end_ns", "u8"), ("bytes", "u8"), ("flow", "u8")])

#: One sample of a connection of Multipath TCP.
CONNECTION_RECORD = np.dtype(
    [("time_ns", "u8"), ("delivered_bytes", "u8"), ("flow", "u4"), ("subflows", "u4")]
)

#: The completion of one flow.
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

#: ECN of one flow; bytes are those of ECT(1), ECT(0) and CE.
ECN_RECORD = np.dtype(
    [
        ("delivered_bytes", "u8", 3),
        ("received_bytes", "u8", 3),
        ("delivered_ce", "u4"),
        ("received_ce", "u4"),
        ("sender_mode", "u2"),
        ("receiver_mode", "u2"),
        ("sender_failures", "u2"),
        ("receiver_failures", "u2"),
    ]
)
