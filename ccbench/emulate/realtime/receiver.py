# SPDX-License-Identifier: Apache-2.0
"""The receiving host in real time."""

from __future__ import annotations

import selectors
import socket
import threading
from typing import TYPE_CHECKING, Any

from ccbench.emulate.realtime.sockets import FIRST_PORT, SO_RCVBUFFORCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.emulate.realtime.clock import Clock
    from ccbench.experiment.flow import Flow

__all__ = ["ReceivingHost"]

_DATAGRAM_BUFFER_BYTES = 1 << 24


class ReceivingHost(threading.Thread):
    """The receiving host: receives all data and counts the bytes.

    It must be created in the receiver's network namespace.

    Parameters
    ----------
    flows : sequence of Flow
        The scenario's single flows.
    clock : Clock
        The scenario's clock.
    """

    def __init__(self, flows: Sequence[Flow], clock: Clock) -> None:
        super().__init__(daemon=True)
        self.delivered_bytes = [0] * len(flows)
        self.last_ns = [0] * len(flows)
        self.error: Exception | None = None
        self._clock = clock
        self._delays_acks = [flow.acks == "delayed" for flow in flows]
        self._poll = selectors.DefaultSelector()
        for i, flow in enumerate(flows):
            udp = flow.is_udp
            endpoint = socket.socket(type=socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
            endpoint.bind(("", FIRST_PORT + i))
            endpoint.settimeout(0)
            if udp:  # datagrams are lost if the buffer is full
                endpoint.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, _DATAGRAM_BUFFER_BYTES)
            else:
                endpoint.listen()
            self._poll.register(endpoint, selectors.EVENT_READ, (i, not udp))

    def run(self) -> None:
        """Receive until the process ends; after a failure, `error` is the exception."""
        try:
            self._receive()
        except Exception as error:  # noqa: BLE001 - the main thread reports it
            self.error = error

    def _receive(self) -> None:
        buffer = bytearray(1 << 18)
        while True:
            for key, _ in self._poll.select():
                flow, is_listening = key.data
                connection: Any = key.fileobj
                if is_listening:
                    connection, _ = connection.accept()
                    connection.settimeout(0)
                    self._poll.register(connection, selectors.EVENT_READ, (flow, False))
                    continue
                if self._delays_acks[flow]:  # TCP resets the option after losses
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
                try:
                    received = connection.recv_into(buffer)
                except ConnectionResetError:  # the sender stopped
                    received = 0
                if received:
                    self.delivered_bytes[flow] += received
                    self.last_ns[flow] = self._clock.now_ns()
                else:
                    self._poll.unregister(connection)
                    connection.close()
