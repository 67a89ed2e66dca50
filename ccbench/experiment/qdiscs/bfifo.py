# SPDX-License-Identifier: Apache-2.0
"""FIFO queue with a limit in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs._attributes import u32
from ccbench.experiment.qdiscs._descriptor import QueuedLink, StructureQdisc

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["QDISCS"]


def _pack(link: QueuedLink, _: Mapping[str, int]) -> bytes:
    return u32(link.bytes_of("queue_packets", link.queue_packets))


QDISCS = (
    StructureQdisc(
        name="bfifo",
        summary="FIFO with a limit in bytes",
        pack=_pack,
        can_change=True,
        limit="bytes",
    ),
)
