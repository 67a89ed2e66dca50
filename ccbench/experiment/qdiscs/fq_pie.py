# SPDX-License-Identifier: Apache-2.0
"""Fair queueing with PIE."""

from __future__ import annotations

from ccbench.experiment.qdiscs._descriptor import AttributeQdisc
from ccbench.experiment.qdiscs._option import (
    Option,
    flag,
    milliseconds,
    number_of_queues,
    quantum,
)

__all__ = ["QDISCS"]

QDISCS = (
    AttributeQdisc(
        name="fq_pie",
        summary="fair queueing, with PIE in the queue of each flow",
        limit_attribute=1,
        memory_option="memory_limit",
        marks=True,
        options={
            "flows": number_of_queues(2, default=1024),
            "target_ms": milliseconds(3, "target queueing delay", default=15),
            "tupdate_ms": milliseconds(
                4, "time between updates of the drop probability", default=15
            ),
            "alpha": Option(attribute=5, summary="weight of the delay, in 1/16", default=2),
            "beta": Option(attribute=6, summary="weight of the delay's trend, in 1/16", default=20),
            "quantum": quantum(7),
            "memory_limit": Option(
                attribute=8,
                unit="bytes",
                summary="memory limit of all packets; at least that of the limit by default",
                default=2**25,
            ),
            "ecn_prob": Option(
                attribute=9,
                unit="%",
                summary="drop probability above which packets are dropped, not marked",
                default=10,
            ),
            "ecn": flag(10, "mark ECN-capable packets instead of dropping them"),
            "bytemode": flag(11, "scale the drop probability with the packet's size"),
        },
    ),
)
