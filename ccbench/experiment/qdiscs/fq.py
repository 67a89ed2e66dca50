# SPDX-License-Identifier: Apache-2.0
"""Fair queueing with pacing."""

from __future__ import annotations

from ccbench.experiment.qdiscs._descriptor import AttributeQdisc
from ccbench.experiment.qdiscs._option import (
    Option,
    flag,
    mark_threshold,
    milliseconds,
    quantum,
)

__all__ = ["QDISCS"]

QDISCS = (
    AttributeQdisc(
        name="fq",
        summary="fair queueing: a queue for each flow, served in turn, with pacing",
        limit_attribute=1,
        marks=True,
        options={
            "flow_limit": Option(
                attribute=2, unit="packets", summary="limit of each flow", default=100
            ),
            "quantum": quantum(3),
            "initial_quantum": quantum(4, "bytes of a new flow in its first turn"),
            "pacing": flag(5, "limit each flow to its pacing rate", default=1),
            "flow_max_rate_mbps": Option(
                attribute=7, unit="Mbit/s", scale=1e6 / 8, summary="highest rate of each flow"
            ),
            "horizon_ms": milliseconds(
                14, "longest time that pacing may delay a packet", default=10_000
            ),
            "ce_threshold_ms": mark_threshold(12),
        },
    ),
)
