# SPDX-License-Identifier: Apache-2.0
"""Stochastic Fairness Queueing."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs._descriptor import Drops, QueuedLink, StructureQdisc

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QDISCS"]


def _pack(link: QueuedLink, _: Mapping[str, int]) -> bytes:
    # Quantum, perturbation period, limit, divisor, flows: 0 is the kernel's default.
    return struct.pack("=IiIII", 0, 0, link.queue_packets, 0, 0)


QDISCS = (
    StructureQdisc(
        name="sfq",
        summary="Stochastic Fairness Queueing: equal shares for hashed flows",
        pack=_pack,
        drops=Drops.NEWEST,
    ),
)
