# SPDX-License-Identifier: Apache-2.0
"""Qdiscs that take all their options in one structure."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from ccbench.base.errors import InputError
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.qdiscs.attributes import attribute, u32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.experiment.qdiscs.kinds import Link

__all__ = ["choke", "red", "sfb", "tbf"]

_RED_ECN = 1
_RED_ADAPTIVE = 4
#: Weight of a new sample in RED's average as a power of 1/2: 0.002, as Floyd recommends.
_RED_WEIGHT_LOG = 9


def red(link: Link, options: Mapping[str, int]) -> bytes:
    """Encode RED, whose lengths are in bytes; in its options they are in packets."""
    return _early_drops(link, options, MTU_BYTES)


def choke(link: Link, options: Mapping[str, int]) -> bytes:
    """Encode CHOKe, whose lengths are in packets."""
    return _early_drops(link, options, 1)


def sfb(link: Link, options: Mapping[str, int]) -> bytes:
    """Encode Stochastic Fair Blue."""
    values = (options[name] for name in ("rehash_ms", "warmup_ms", "max_packets", "bin_packets"))
    steps = (options[name] for name in ("increment", "decrement"))
    penalty = (options[name] for name in ("penalty_rate", "penalty_burst"))
    return attribute(1, struct.pack("=9I", *values, *steps, link.queue_packets, *penalty))


def tbf(link: Link, options: Mapping[str, int]) -> bytes:
    """Encode a token bucket filter."""
    # Cell log, link layer (1: no table of transmission times), overhead, alignment, MPU, rate.
    rate = struct.pack("=BBHhHI", 0, 1, 0, 0, 0, options["rate_mbps"])
    no_peak = bytes(len(rate))
    parameters = struct.pack("=III", link.queue_packets * MTU_BYTES, 0, 0)
    burst = u32(options["burst_packets"] * MTU_BYTES)
    return attribute(1, rate + no_peak + parameters) + attribute(6, burst)


def _early_drops(link: Link, options: Mapping[str, int], unit: int) -> bytes:
    """Encode RED or CHOKe, which are alike but for the unit of lengths."""
    longest = options["max_packets"] or max(2, link.queue_packets // 4)
    shortest = options["min_packets"] or max(1, longest // 3)
    if shortest >= longest:
        message = (
            f"qdisc_options.min_packets = {shortest}: must be below max_packets, which is {longest}"
            ": lower it"
        )
        raise InputError(message)
    longest, shortest = unit * longest, unit * shortest
    # The average has to fit into 32 bits with its fraction.
    weight_log = max(1, min(_RED_WEIGHT_LOG, 31 - longest.bit_length()))
    # After an idle time the average decays as if small packets had come all the while: a table has
    # how often it halves in 0 to 255 cells of time, each about as long as 1/weight packets.
    packet_us = MTU_BYTES * 8 / link.mbps
    cell_log = min(31, max(0, round(math.log2(packet_us) + weight_log)))
    halvings = -math.log2(1 - 2**-weight_log) * 2**cell_log / packet_us
    table = bytes(min(31, round(cell * halvings)) for cell in range(256))
    flags = _RED_ECN * bool(options["ecn"]) | _RED_ADAPTIVE * bool(options.get("adaptive"))
    limit = unit * link.queue_packets
    parameters = struct.pack("=IIIBBBB", limit, shortest, longest, weight_log, 0, cell_log, flags)
    return (
        attribute(1, parameters) + attribute(2, table) + attribute(3, u32(options["probability"]))
    )
