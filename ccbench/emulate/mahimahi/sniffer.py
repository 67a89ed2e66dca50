# SPDX-License-Identifier: Apache-2.0
"""A process that records the packets that leave a network namespace, and their times.

mm-link's log knows neither flows nor how late the real machine was. Both are told by the packets
themselves, as they leave through a shell's ``ingress`` device, in the order in which the shell gets
them.
"""

from __future__ import annotations

import errno
import multiprocessing
import socket
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from ccbench.emulate.realtime.namespaces import inside_namespace_of
from ccbench.emulate.realtime.packet_record import HEADERS_BYTES, packed
from ccbench.emulate.realtime.sockets import SO_RCVBUFFORCE

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess
    from pathlib import Path

__all__ = ["start_sniffer"]

#: Every shell has this device inside, and nothing leaves it by another.
_DEVICE = "ingress"

_ETH_P_ALL = 3
_PACKET_OUTGOING = 4
_SO_TIMESTAMPNS = 35
#: Room for what comes while this process does not run: bytes.
_BUFFER = 1 << 26


def start_sniffer(pid: int, path: Path) -> BaseProcess:
    """Write a record of each packet that leaves the namespace of a process, until it is gone.

    Parameters
    ----------
    pid : int
        A process in that namespace, which is a shell's.
    path : Path
        A file of ``PACKET_RECORD``, complete when the process that is returned has ended.
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
    packet = bytearray(HEADERS_BYTES)
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
                file.write(packed(packet, length, seconds * 1_000_000_000 + nanoseconds))
