# SPDX-License-Identifier: Apache-2.0
"""Common Applications Kept Enhanced."""

from __future__ import annotations

from ccbench.experiment.qdiscs._descriptor import AttributeQdisc, Drops
from ccbench.experiment.qdiscs._option import Option, milliseconds

__all__ = ["QDISCS"]

QDISCS = (
    AttributeQdisc(
        name="cake",
        summary="CAKE: fairness between hosts and flows, with CoDel for each flow",
        limit_attribute=10,
        limit="memory",
        drops=Drops.OLDEST,
        marks=True,
        options={
            "rtt_ms": milliseconds(7, "CoDel's interval: a typical RTT", default=100),
            "target_ms": milliseconds(8, "target queueing delay", default=5),
            "flow_mode": Option(
                attribute=5,
                summary="0 one queue, 1 per source, 2 per destination, 3 per pair of hosts, "
                "4 per flow, 5 to 7 per flow with fairness between sources, destinations or both",
                high=7,
                default=7,
            ),
            "diffserv_mode": Option(
                attribute=3,
                summary="priorities: 0 three, 1 four, 2 eight, 3 none, 4 by precedence",
                high=4,
                default=0,
            ),
            "ack_filter": Option(
                attribute=16,
                summary="drop ACKs made redundant by later ACKs: 0 none, 1 some, 2 all",
                high=2,
                default=0,
                drops_acks=True,
            ),
        },
    ),
)
