# SPDX-License-Identifier: Apache-2.0
"""Heavy-Hitter Filter."""

from __future__ import annotations

from ccbench.experiment.qdiscs._descriptor import AttributeQdisc, Drops
from ccbench.experiment.qdiscs._option import Option, milliseconds, quantum

__all__ = ["QDISCS"]

#: With the largest quantum, the bytes of small flows in a turn are then below 2^31.
_LARGEST_WEIGHT = 2047

QDISCS = (
    AttributeQdisc(
        name="hhf",
        summary="Heavy-Hitter Filter: small flows first, large ones by weight",
        limit_attribute=1,
        drops=Drops.OLDEST,
        # Early versions of Linux 6.1 accept a limit of heavy hitters only as a later change.
        requests=2,
        options={
            "quantum": quantum(2, "bytes of a queue in each turn"),
            "hh_limit": Option(
                attribute=3, high=2048, summary="limit of heavy hitters", default=2048
            ),
            "reset_timeout_ms": milliseconds(4, "time between resets of the counters", default=40),
            "admit_bytes": Option(
                attribute=5,
                unit="bytes",
                summary="size from which a flow is a heavy hitter",
                default=131_072,
            ),
            "evict_timeout_ms": milliseconds(
                6, "idle time after which a heavy hitter is forgotten", default=1000
            ),
            "non_hh_weight": Option(
                attribute=7,
                low=1,
                high=_LARGEST_WEIGHT,
                summary="turns of small flows per turn of heavy hitters",
                default=2,
            ),
        },
    ),
)
