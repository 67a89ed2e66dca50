# SPDX-License-Identifier: Apache-2.0
"""Token Bucket Filter, a common traffic shaper of Internet providers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.qdiscs._attributes import attribute, u32
from ccbench.experiment.qdiscs._descriptor import QueuedLink, StructureQdisc
from ccbench.experiment.qdiscs._option import LARGEST_U32, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QDISCS"]


def _pack(link: QueuedLink, options: Mapping[str, int]) -> bytes:
    # Cell log, link layer (1: no table of transmission times), overhead, alignment, MPU, rate.
    rate = struct.pack("=BBHhHI", 0, 1, 0, 0, 0, options["rate_mbps"])
    no_peak = bytes(len(rate))
    parameters = struct.pack("=III", link.bytes_of("queue_packets", link.queue_packets), 0, 0)
    burst = u32(link.bytes_of("qdisc_options.burst_packets", options["burst_packets"]))
    return attribute(1, rate + no_peak + parameters) + attribute(6, burst)


QDISCS = (
    StructureQdisc(
        name="tbf",
        summary="token bucket: a rate below that of the link, with bursts",
        pack=_pack,
        limit="bytes",
        options={
            "rate_mbps": Option(
                unit="Mbit/s",
                scale=1e6 / 8,
                low=0.001,
                summary="rate of tokens",
                is_required=True,
            ),
            "burst_packets": Option(
                unit="packets",
                low=1,
                high=LARGEST_U32 // MTU_BYTES,
                summary="size of the bucket",
                default=10,
            ),
        },
    ),
)
