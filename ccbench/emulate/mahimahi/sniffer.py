# SPDX-License-Identifier: Apache-2.0
"""Capture of the packets that leave a network namespace, or enter it.

mm-link's log contains neither flows nor the lateness of the machine. Both follow from the packets
that leave through a shell's ``ingress`` device, in the order in which the shell receives them.
Packets in the other direction enter through it.
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

#: Device inside each shell through which all packets leave.
_DEVICE = "ingress"

_ETH_P_ALL = 3
_PACKET_OUTGOING = 4
_SO_TIMESTAMPNS = 35
#: Size of the buffer for packets that arrive while this process is not running, in bytes.
_BUFFER = 1 << 26


def start_sniffer(pid: int, path: Path, *, entering: bool = False) -> BaseProcess:
    """Start a process that records the packets that leave a shell's namespace until its end.

    Parameters
    ----------
    pid : int
        A process in the shell's namespace.
    path : Path
        Output file of ``PACKET_RECORD``, complete when the returned process has ended.
    entering : bool
        Whether the packets that enter the namespace are recorded instead.
    """
    with inside_namespace_of(pid):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, _BUFFER)
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        tap.bind((_DEVICE, _ETH_P_ALL))
    process = multiprocessing.get_context("fork").Process(target=_sniff, args=(tap, path, entering))
    process.start()
    tap.close()
    return process


def _sniff(tap: socket.socket, path: Path, entering: bool) -> None:  # noqa: FBT001 - arguments of a process
    packet = bytearray(HEADERS_BYTES)
    with path.open("wb") as file, suppress(KeyboardInterrupt):
        while True:
            try:
                # With MSG_TRUNC, the length is that of the whole packet.
                length, ancillary, _, address = tap.recvmsg_into(
                    [packet], socket.CMSG_SPACE(16), socket.MSG_TRUNC
                )
            except OSError as error:
                if error.errno == errno.ENETDOWN:  # the shell has ended
                    return
                raise
            if (address[2] == _PACKET_OUTGOING) != entering:
                seconds, nanoseconds = struct.unpack("=qq", ancillary[0][2])
                time_ns = seconds * 1_000_000_000 + nanoseconds
                file.write(packed(packet, length, time_ns, from_receiver=entering))
