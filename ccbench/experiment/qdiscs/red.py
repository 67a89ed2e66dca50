# SPDX-License-Identifier: Apache-2.0
"""Random Early Detection, and CHOKe, which has the same structure of options."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from ccbench.base.errors import InputError
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.qdiscs._attributes import attribute, u32
from ccbench.experiment.qdiscs._descriptor import Drops, QueuedLink, StructureQdisc
from ccbench.experiment.qdiscs._option import Option, flag

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QDISCS"]

_ECN = 1
_ADAPTIVE = 4
#: Weight of a new sample in the average as a power of 1/2: 0.002, as Floyd recommends.
_WEIGHT_LOG = 9
#: The kernel has 31 bits for a threshold in bytes with at least one bit of its fraction.
_MOST_BYTES = 2**30 - 1
_MOST_PACKETS = _MOST_BYTES // MTU_BYTES


def _pack_red(link: QueuedLink, options: Mapping[str, int]) -> bytes:
    """Encode RED, whose lengths are in bytes (in packets in its options)."""
    return _pack(link, options, link.mtu_bytes)


def _pack_choke(link: QueuedLink, options: Mapping[str, int]) -> bytes:
    """Encode CHOKe, whose lengths are in packets."""
    return _pack(link, options, 1)


def _pack(link: QueuedLink, options: Mapping[str, int], unit: int) -> bytes:
    longest = options["max_packets"] or max(2, link.queue_packets // 4)
    shortest = options["min_packets"] or max(1, longest // 3)
    if shortest >= longest:
        message = (
            f"qdisc_options.min_packets = {shortest}: must be below max_packets, which is {longest}"
            ": lower it"
        )
        raise InputError(message)
    if unit > 1:
        link.bytes_of("qdisc_options.max_packets", longest, _MOST_BYTES)
        link.bytes_of("queue_packets", link.queue_packets)
    longest, shortest = unit * longest, unit * shortest
    # The average and its fraction must fit into 32 bits.
    weight_log = max(1, min(_WEIGHT_LOG, 31 - longest.bit_length()))
    # While idle, the average decays as if full packets arrived. The table holds the number of
    # halvings in 0 to 255 cells of time, each about as long as 1/weight packets.
    packet_us = link.mtu_bytes * 8 / link.mbps
    cell_log = min(31, max(0, round(math.log2(packet_us) + weight_log)))
    halvings = -math.log2(1 - 2**-weight_log) * 2**cell_log / packet_us
    table = bytes(min(31, round(cell * halvings)) for cell in range(256))
    flags = _ECN * bool(options["ecn"]) | _ADAPTIVE * bool(options.get("adaptive"))
    limit = unit * link.queue_packets
    parameters = struct.pack("=IIIBBBB", limit, shortest, longest, weight_log, 0, cell_log, flags)
    return (
        attribute(1, parameters) + attribute(2, table) + attribute(3, u32(options["probability"]))
    )


_OPTIONS = {
    "max_packets": Option(
        unit="packets",
        high=_MOST_PACKETS,
        summary="mean queue above which all packets are dropped; 0: a quarter of the limit",
        default=0,
    ),
    "min_packets": Option(
        unit="packets",
        high=_MOST_PACKETS,
        summary="mean queue above which some packets are dropped; 0: a third of max_packets",
        default=0,
    ),
    "probability": Option(
        scale=2**32, high=1, summary="drop probability just below max_packets", default=0.02
    ),
    "ecn": flag(0, "mark ECN-capable packets instead of dropping them"),
}

QDISCS = (
    StructureQdisc(
        name="red",
        summary="Random Early Detection: random drops by mean queue length",
        pack=_pack_red,
        limit="bytes",
        marks=True,
        options={
            **_OPTIONS,
            "adaptive": flag(0, "adapt the probability to centre the mean queue"),
        },
    ),
    StructureQdisc(
        name="choke",
        summary="CHOKe: RED that drops an arriving packet and another packet of its flow",
        pack=_pack_choke,
        drops=Drops.ANY,
        marks=True,
        options=_OPTIONS,
    ),
)
