# SPDX-License-Identifier: Apache-2.0
"""Which packets leave a network namespace, and when: a process that listens at its way out.

mm-link's log knows neither flows nor how late the real machine was. Both are told by the packets
themselves, as they leave through a shell's ``ingress`` device, in the order in which the shell gets
them.
"""

from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import socket
import struct
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.process import BaseProcess

__all__ = ["PACKET_RECORD", "SO_RCVBUFFORCE", "inside_namespace_of", "start_sniffer"]

#: One packet. ``port`` is that of the receiver, 0 if it is neither TCP nor UDP over IPv4. What sets
#: packets of a flow apart, and the shells' translation of addresses leaves as it is, is the
#: ``identification`` of the IP packet and ``key``: the sequence number of TCP, or the number that
#: our datagrams begin with.
PACKET_RECORD = np.dtype(
    [("time_ns", "i8"), ("port", "u2"), ("length", "u2"), ("identification", "u4"), ("key", "u4")]
)
_PACKED = struct.Struct("=qHHII")

#: Every shell has this device inside, and nothing leaves it by another.
_DEVICE = "ingress"

_ETH_P_ALL = 3
_IPV4 = 4
_PACKET_OUTGOING = 4
_SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
_CLONE_NEWNET = 0x40000000
#: Room for what comes while this process does not run: bytes.
_BUFFER = 1 << 26
_HEADERS = 64
_UDP_HEADER_BYTES = 8


@contextmanager
def inside_namespace_of(pid: int) -> Iterator[None]:
    """Let this thread be in the network namespace of a process; sockets made there stay there."""
    with Path("/proc/self/ns/net").open("rb") as ours, Path(f"/proc/{pid}/ns/net").open("rb") as it:
        _enter(it.fileno())
        try:
            yield
        finally:
            _enter(ours.fileno())


def _enter(descriptor: int) -> None:
    # os.setns is there from Python 3.12 on.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def start_sniffer(pid: int, path: Path) -> BaseProcess:
    """Write a record of each packet that leaves the namespace of a process, until it is gone.

    Parameters
    ----------
    pid : int
        A process in that namespace, which is a shell's.
    path : Path
        A file of :data:`PACKET_RECORD`, complete when the process that is returned has ended.
    """
    with inside_namespace_of(pid):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, _BUFFER)
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        tap.bind((_DEVICE, _ETH_P_ALL))
    process = multiprocessing.get_context("fork").Process(target=_sniff, args=(tap, path))
    process.start()
    tap.close()
    return process


def _sniff(tap: socket.socket, path: Path) -> None:
    packet = bytearray(_HEADERS)
    with path.open("wb") as file, suppress(KeyboardInterrupt):
        while True:
            try:
                # With MSG_TRUNC the length is the packet's, however little of it is taken.
                length, ancillary, _, address = tap.recvmsg_into(
                    [packet], socket.CMSG_SPACE(16), socket.MSG_TRUNC
                )
            except OSError as error:
                if error.errno == errno.ENETDOWN:  # the shell has ended
                    return
                raise
            if address[2] == _PACKET_OUTGOING:
                seconds, nanoseconds = struct.unpack("=qq", ancillary[0][2])
                file.write(_record(packet, length, seconds * 1_000_000_000 + nanoseconds))


def _record(packet: bytearray, length: int, time_ns: int) -> bytes:
    if packet[0] >> 4 != _IPV4 or packet[9] not in {
        socket.IPPROTO_TCP,
        socket.IPPROTO_UDP,
    }:
        return _PACKED.pack(time_ns, 0, length, 0, 0)
    (identification,) = struct.unpack_from("!H", packet, 4)
    header = (packet[0] & 0xF) * 4
    _, port, sequence = struct.unpack_from("!HHI", packet, header)
    if packet[9] == socket.IPPROTO_UDP:  # the first bytes of the payload
        (sequence,) = struct.unpack_from("!I", packet, header + _UDP_HEADER_BYTES)
    return _PACKED.pack(time_ns, port, length, identification, sequence)
