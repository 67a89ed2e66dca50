# SPDX-License-Identifier: Apache-2.0
"""FIFO queues with a limit in packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs._attributes import u32
from ccbench.experiment.qdiscs._descriptor import Drops, QueuedLink, StructureQdisc

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QDISCS"]


def _pack(link: QueuedLink, _: Mapping[str, int]) -> bytes:
    return u32(link.queue_packets)


QDISCS = (
    StructureQdisc(
        name="droptail",
        kernel_name="pfifo",
        summary="FIFO that drops arriving packets",
        pack=_pack,
        can_change=True,
    ),
    StructureQdisc(name="pfifo", summary="Linux's name for droptail", pack=_pack, can_change=True),
    StructureQdisc(
        name="pfifo_head_drop",
        summary="FIFO that drops the packet at its head",
        pack=_pack,
        can_change=True,
        drops=Drops.OLDEST,
    ),
)
