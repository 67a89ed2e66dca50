# SPDX-License-Identifier: Apache-2.0
"""Proportional Integral controller Enhanced (RFC 8033)."""

from __future__ import annotations

from ccbench.experiment.qdiscs._descriptor import AttributeQdisc
from ccbench.experiment.qdiscs._option import Option, flag, milliseconds

__all__ = ["QDISCS"]

QDISCS = (
    AttributeQdisc(
        name="pie",
        summary="PIE: random drops of arriving packets by delay and its trend (RFC 8033)",
        limit_attribute=2,
        marks=True,
        options={
            "target_ms": milliseconds(1, "target queueing delay", default=15),
            "tupdate_ms": milliseconds(
                3, "time between updates of the drop probability", default=15
            ),
            "alpha": Option(attribute=4, summary="weight of the delay, in 1/16", default=2),
            "beta": Option(attribute=5, summary="weight of the delay's trend, in 1/16", default=20),
            "ecn": flag(6, "mark ECN-capable packets instead of dropping them"),
            "bytemode": flag(7, "scale the drop probability with the packet's size"),
            "dq_rate_estimator": flag(
                8, "derive the delay from the departure rate, not from timestamps"
            ),
        },
    ),
)
