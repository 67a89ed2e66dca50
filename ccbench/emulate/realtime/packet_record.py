# SPDX-License-Identifier: Apache-2.0
"""A packet as it was seen somewhere on the path: enough to know it again elsewhere."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.errors import EngineError
from ccbench.emulate.realtime.sockets import FIRST_PORT

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

__all__ = ["HEADERS_BYTES", "PACKET_RECORD", "PacketRecords", "flow_of", "packed", "read", "which"]

#: One packet. ``port`` is that of the receiver, 0 if it is neither TCP nor UDP over IPv4. What sets
#: packets of a flow apart, and translation of addresses leaves as it is, is the ``identification``
#: of the IP packet and ``key``: the sequence number of TCP, or the number that our datagrams begin
#: with.
PACKET_RECORD = np.dtype(
    [("time_ns", "i8"), ("port", "u2"), ("length", "u2"), ("identification", "u4"), ("key", "u4")]
)
_PACKED = struct.Struct("=qHHII")

#: What of a packet has to be known for its record.
HEADERS_BYTES = 64

_IPV4 = 4
_UDP_HEADER_BYTES = 8

if TYPE_CHECKING:
    PacketRecords = npt.NDArray[Any]


def packed(packet: bytes | bytearray | memoryview, length: int, time_ns: int) -> bytes:
    """Return the record of an IP packet.

    Parameters
    ----------
    packet : bytes
        Its headers, :data:`HEADERS_BYTES` or all there is.
    length : int
        Its length in bytes.
    time_ns : int
        When it was seen, in nanoseconds.
    """
    if packet[0] >> 4 != _IPV4 or packet[9] not in {socket.IPPROTO_TCP, socket.IPPROTO_UDP}:
        return _PACKED.pack(time_ns, 0, length, 0, 0)
    (identification,) = struct.unpack_from("!H", packet, 4)
    header = (packet[0] & 0xF) * 4
    _, port, sequence = struct.unpack_from("!HHI", packet, header)
    if packet[9] == socket.IPPROTO_UDP:  # the first bytes of the payload
        (sequence,) = struct.unpack_from("!I", packet, header + _UDP_HEADER_BYTES)
    return _PACKED.pack(time_ns, port, length, identification, sequence)


def read(path: Path) -> PacketRecords:
    """Read a file of :data:`PACKET_RECORD`."""
    return np.fromfile(path, PACKET_RECORD)


def flow_of(packets: PacketRecords) -> npt.NDArray[np.uint32]:
    """Return which flow each packet is of; what is of none has a number that no scenario has."""
    # What has no port of ours wraps around.
    return packets["port"].astype(np.uint32) - np.uint32(FIRST_PORT)


def which(packets: PacketRecords, later: PacketRecords) -> npt.NDArray[np.bool_]:
    """Return which packets were seen later; none overtakes another.

    A closed socket answers every packet in the same words. Of such packets, those that come last
    are the ones that pass a full queue: meanwhile it can only have become shorter.

    Raises
    ------
    EngineError
        If one was seen later only.
    """
    identity = ["time_ns", "port", "length", "identification", "key"]
    expected = iter(later[later["port"] != 0][identity][::-1].tolist())
    following = next(expected, None)
    found: npt.NDArray[np.bool_] = packets["port"] == 0  # what is no flow's does not tell
    for i, (time_ns, *packet) in enumerate(packets[identity][::-1].tolist(), start=1):
        if following is not None and packet == list(following[1:]) and time_ns <= following[0]:
            found[-i] = True
            following = next(expected, None)
    if following is not None:
        raise EngineError("packets passed the path in another order than they were sent")
    return found
