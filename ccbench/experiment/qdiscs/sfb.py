# SPDX-License-Identifier: Apache-2.0
"""Stochastic Fair Blue."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs._attributes import attribute
from ccbench.experiment.qdiscs._descriptor import QueuedLink, StructureQdisc
from ccbench.experiment.qdiscs._option import Option

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QDISCS"]

_PROBABILITY = 2**16 - 1


def _pack(link: QueuedLink, options: Mapping[str, int]) -> bytes:
    values = (options[name] for name in ("rehash_ms", "warmup_ms", "max_packets", "bin_packets"))
    steps = (options[name] for name in ("increment", "decrement"))
    penalty = (options[name] for name in ("penalty_rate", "penalty_burst"))
    return attribute(1, struct.pack("=9I", *values, *steps, link.queue_packets, *penalty))


QDISCS = (
    StructureQdisc(
        name="sfb",
        summary="Stochastic Fair Blue: a drop probability for each hashed flow",
        pack=_pack,
        marks=True,
        options={
            "max_packets": Option(unit="packets", summary="limit of a bin", default=25),
            "bin_packets": Option(
                unit="packets",
                summary="queue of a bin above which its probability increases",
                default=20,
            ),
            "increment": Option(
                scale=_PROBABILITY, high=1, summary="increment of the probability", default=0.001
            ),
            "decrement": Option(
                scale=_PROBABILITY,
                high=1,
                summary="decrement of the probability",
                default=0.000_17,
            ),
            "rehash_ms": Option(
                unit="ms", summary="time between changes of the hash", default=600_000
            ),
            "warmup_ms": Option(
                unit="ms", summary="time before a change to fill the next bins", default=60_000
            ),
            "penalty_rate": Option(
                unit="packets/s", summary="rate of unresponsive flows", default=10
            ),
            "penalty_burst": Option(
                unit="packets", summary="burst of unresponsive flows", default=20
            ),
        },
    ),
)
