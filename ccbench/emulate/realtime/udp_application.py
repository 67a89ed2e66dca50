# SPDX-License-Identifier: Apache-2.0
"""Application of a UDP flow with a constant rate or Poisson arrivals."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

from ccbench.emulate.realtime.application import closed_sample

if TYPE_CHECKING:
    import random
    import selectors

    from ccbench.experiment.flow import Flow

__all__ = ["UdpApplication"]

_IP_AND_UDP_BYTES = 28
#: Sequence number at the start of each datagram, which identifies it.
_NUMBER = struct.Struct("!I")


class UdpApplication:
    """Sends the data of a UDP flow."""

    size_bytes: int | None = None
    retransmits = 0

    def __init__(
        self,
        flow: Flow,
        target: tuple[str, int],
        row: Any,
        randomness: random.Random,
    ) -> None:
        assert flow.rate_mbps is not None
        self.start_s: float = row.start_s
        self.stop_s: float = row.stop_s
        self.sent_bytes = 0
        self._target = target
        self._padding = bytes(flow.packet_bytes - _IP_AND_UDP_BYTES - _NUMBER.size)
        self._number = 0
        self._interval_s: float = flow.packet_bytes * 8e-6 / flow.rate_mbps
        self._randomness = randomness if flow.kind == "poisson" else None
        self._next_s: float = self.start_s
        self._socket = socket.socket(type=socket.SOCK_DGRAM)

    def attend(self, now_s: float, poll: selectors.BaseSelector) -> float:
        """See :class:`.Application`; sends all due datagrams, for which UDP always has space."""
        del poll
        while self._next_s <= now_s:
            payload = _NUMBER.pack(self._number & 0xFFFFFFFF) + self._padding
            self._socket.sendto(payload, self._target)
            self._number += 1
            self.sent_bytes += len(payload)
            draw = self._randomness.expovariate(1) if self._randomness else 1.0
            self._next_s += draw * self._interval_s
        return self._next_s

    def send(self, poll: selectors.BaseSelector) -> None:
        """See :class:`.Application`; never called."""

    def sample(self) -> tuple[int, ...]:
        """See :class:`.Application`; UDP has none of these values."""
        return closed_sample(0)

    def close(self, poll: selectors.BaseSelector) -> None:
        """See :class:`.Application`."""
        del poll
        self._socket.close()
