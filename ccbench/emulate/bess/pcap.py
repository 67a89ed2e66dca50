# SPDX-License-Identifier: Apache-2.0
"""Reading of captures by BESS's TcpDump hook."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.errors import EngineError
from ccbench.emulate.realtime.packet_record import PACKET_RECORD, packed
from ccbench.run.captures.reader import ETHERNET, ETHERNET_BYTES, DamagedError, pcap_frames

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.realtime.packet_record import PacketRecords
    from ccbench.run.captures.reader import Frame

__all__ = ["read"]


def read(path: Path) -> PacketRecords:
    """Read a capture of Ethernet frames.

    Raises
    ------
    EngineError
        If it has another format, or ends within a packet.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            records = b"".join(map(_record, pcap_frames(data, is_complete=True)))
    except (DamagedError, ValueError) as error:  # mmap raises ValueError for an empty file
        raise EngineError(f"{path.name} of BESS is not a pcap file of packets: {error}") from error
    return np.frombuffer(records, PACKET_RECORD)


def _record(frame: Frame) -> bytes:
    if frame.link != ETHERNET:
        raise DamagedError("its frames are not those of Ethernet")
    return packed(frame.data[ETHERNET_BYTES:], frame.length - ETHERNET_BYTES, frame.time_ns)
