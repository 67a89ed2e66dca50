# SPDX-License-Identifier: Apache-2.0
"""Records of packets captured on the path, by which a packet is identified elsewhere."""

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

__all__ = [
    "HEADERS_BYTES",
    "PACKET_RECORD",
    "PacketRecords",
    "flow_of",
    "packed",
    "read",
    "seen_later",
]

#: One packet. ``port`` is that of the receiver, 0 for packets other than TCP and UDP over IPv4.
#: Packets of a flow are distinguished by fields that address translation preserves: the IP
#: ``identification``, and ``key``, TCP's sequence number or the number at the start of a datagram.
PACKET_RECORD = np.dtype(
    [("time_ns", "i8"), ("port", "u2"), ("length", "u2"), ("identification", "u4"), ("key", "u4")]
)
_PACKED = struct.Struct("=qHHII")

#: Length of the headers that a record requires.
HEADERS_BYTES = 64

_IPV4 = 4
_UDP_HEADER_BYTES = 8

if TYPE_CHECKING:
    PacketRecords = npt.NDArray[Any]


def packed(
    packet: bytes | bytearray | memoryview,
    length: int,
    time_ns: int,
    *,
    from_receiver: bool = False,
) -> bytes:
    """Return the record of an IP packet.

    Parameters
    ----------
    packet : bytes
        Its first :data:`HEADERS_BYTES`, or the whole packet if it is shorter.
    length : int
        Its length in bytes.
    time_ns : int
        The time of the capture in nanoseconds.
    from_receiver : bool
        Whether the receiver sent it.
    """
    if packet[0] >> 4 != _IPV4 or packet[9] not in {socket.IPPROTO_TCP, socket.IPPROTO_UDP}:
        return _PACKED.pack(time_ns, 0, length, 0, 0)
    (identification,) = struct.unpack_from("!H", packet, 4)
    header = (packet[0] & 0xF) * 4
    source, port, sequence = struct.unpack_from("!HHI", packet, header)
    port = source if from_receiver else port
    if packet[9] == socket.IPPROTO_UDP:  # the first bytes of the payload
        (sequence,) = struct.unpack_from("!I", packet, header + _UDP_HEADER_BYTES)
    return _PACKED.pack(time_ns, port, length, identification, sequence)


def read(path: Path) -> PacketRecords:
    """Read a file of :data:`PACKET_RECORD`."""
    return np.fromfile(path, PACKET_RECORD)


def flow_of(packets: PacketRecords) -> npt.NDArray[np.uint32]:
    """Return the flow of each packet; that of other packets exceeds all flows of a scenario."""
    # Ports below the first one wrap around.
    return packets["port"].astype(np.uint32) - np.uint32(FIRST_PORT)


def seen_later(
    packets: PacketRecords,
    later: PacketRecords,
    arrived: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
) -> npt.NDArray[np.bool_]:
    """Return whether each packet was also captured at a later point of the path, in order.

    Packets without a flow count as seen. A closed socket answers all packets alike. Equal packets
    are distinguished by their times of arrival where the later point knows them. Otherwise, the
    last ones count as seen: these pass a full queue, which can only have become shorter.

    Parameters
    ----------
    packets, later : array of PACKET_RECORD
        The packets captured at the two points.
    arrived : pair of arrays, optional
        The time of arrival of each of `packets` and of `later`, on one clock.

    Raises
    ------
    EngineError
        If a packet was captured only at the later point.
    """
    of_packets, of_later = (
        _identities(captured, times)
        for captured, times in zip((packets, later), arrived or (None, None), strict=True)
    )
    has_flow = later["port"] != 0
    left_ns = later["time_ns"][has_flow][::-1].tolist()
    expected = zip(of_later[has_flow][::-1].tolist(), left_ns, strict=True)
    following, until_ns = next(expected, (None, 0))
    is_seen: npt.NDArray[np.bool_] = packets["port"] == 0  # packets without a flow
    backwards = zip(of_packets[::-1].tolist(), packets["time_ns"][::-1].tolist(), strict=True)
    for i, (packet, time_ns) in enumerate(backwards, start=1):
        if packet == following and time_ns <= until_ns:
            is_seen[-i] = True
            following, until_ns = next(expected, (None, 0))
    if following is not None:
        raise EngineError("packets passed the path in another order than they were sent")
    return is_seen


def _identities(packets: PacketRecords, arrived: npt.ArrayLike | None) -> npt.NDArray[np.int64]:
    """Return an array of shape (packets, fields) whose rows identify the packets."""
    fields = [
        packets[name].astype(np.int64) for name in ("port", "length", "identification", "key")
    ]
    if arrived is not None:
        fields.append(np.asarray(arrived, np.int64))
    return np.stack(fields, axis=-1)
