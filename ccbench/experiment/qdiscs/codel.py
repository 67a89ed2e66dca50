# SPDX-License-Identifier: Apache-2.0
"""CoDel (RFC 8289)."""

from __future__ import annotations

from ccbench.experiment.qdiscs._descriptor import AttributeQdisc
from ccbench.experiment.qdiscs._option import flag, mark_threshold, milliseconds

__all__ = ["QDISCS"]

QDISCS = (
    AttributeQdisc(
        name="codel",
        summary="CoDel: drops at the head while the delay stays above a target (RFC 8289)",
        limit_attribute=2,
        marks=True,
        options={
            "target_ms": milliseconds(1, "target queueing delay", default=5),
            "interval_ms": milliseconds(3, "time above the target before a drop", default=100),
            "ecn": flag(4, "mark ECN-capable packets instead of dropping them"),
            "ce_threshold_ms": mark_threshold(5),
        },
    ),
)
