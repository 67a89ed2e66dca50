# SPDX-License-Identifier: Apache-2.0
"""Flow queueing with CoDel (RFC 8290)."""

from __future__ import annotations

from ccbench.experiment.qdiscs._descriptor import AttributeQdisc, Drops
from ccbench.experiment.qdiscs._option import (
    Option,
    flag,
    mark_threshold,
    milliseconds,
    number_of_queues,
    quantum,
)

__all__ = ["QDISCS"]

QDISCS = (
    AttributeQdisc(
        name="fq_codel",
        summary="flow queueing, with CoDel in the queue of each flow (RFC 8290)",
        limit_attribute=2,
        memory_option="memory_limit",
        drops=Drops.OLDEST,
        marks=True,
        options={
            "target_ms": milliseconds(1, "target queueing delay", default=5),
            "interval_ms": milliseconds(3, "time above the target before a drop", default=100),
            "ecn": flag(4, "mark ECN-capable packets instead of dropping them", default=1),
            "flows": number_of_queues(5, default=1024),
            "quantum": quantum(6),
            "ce_threshold_ms": mark_threshold(7),
            "drop_batch": Option(
                attribute=8,
                unit="packets",
                summary="packets to drop at once from a full queue",
                default=64,
            ),
            "memory_limit": Option(
                attribute=9,
                unit="bytes",
                summary="memory limit of all packets; at least that of the limit by default",
                default=2**25,
            ),
        },
    ),
)
