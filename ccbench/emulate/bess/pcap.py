# SPDX-License-Identifier: Apache-2.0
"""Reading of captures by BESS's TcpDump hook."""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.errors import EngineError
from ccbench.emulate.realtime.packet_record import HEADERS_BYTES, PACKET_RECORD, packed

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.realtime.packet_record import PacketRecords

__all__ = ["read"]

#: The file's header, which begins with a magic number for the unit of time, here microseconds, and
#: ends with the type of link.
_FILE_HEADER = struct.Struct("=I16xI")
_MICROSECONDS = 0xA1B2C3D4
_ETHERNET = 1
#: The header of each packet: seconds and microseconds since 1970, captured length, and length.
_PACKET_HEADER = struct.Struct("=IIII")
_ETHERNET_HEADER_BYTES = 14


def read(path: Path) -> PacketRecords:
    """Read a capture of Ethernet frames.

    Raises
    ------
    EngineError
        If it has another format, or ends within a packet.
    """
    with path.open("rb") as file:
        header = file.read(_FILE_HEADER.size)
        is_complete = len(header) == _FILE_HEADER.size
        if not is_complete or _FILE_HEADER.unpack(header) != (_MICROSECONDS, _ETHERNET):
            raise EngineError(f"{path.name} of BESS is not a pcap file of Ethernet frames")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return np.frombuffer(_records(data, path.name), PACKET_RECORD)


def _records(data: mmap.mmap, name: str) -> bytes:
    records = bytearray()
    offset = _FILE_HEADER.size
    while offset < len(data):
        start = offset + _PACKET_HEADER.size
        if start > len(data):
            raise EngineError(f"{name} of BESS ends within a packet")
        seconds, microseconds, captured, length = _PACKET_HEADER.unpack_from(data, offset)
        offset = start + captured
        if offset > len(data):
            raise EngineError(f"{name} of BESS ends within a packet")
        first = start + _ETHERNET_HEADER_BYTES
        packet = data[first : min(offset, first + HEADERS_BYTES)]
        time_ns = seconds * 1_000_000_000 + microseconds * 1_000
        records += packed(packet, length - _ETHERNET_HEADER_BYTES, time_ns)
    return bytes(records)
