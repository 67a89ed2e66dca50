# SPDX-License-Identifier: Apache-2.0
"""Application of a TCP flow."""

from __future__ import annotations

import errno
import math
import os
import selectors
import socket
import struct
from typing import TYPE_CHECKING, Any

from ccbench.emulate.realtime.application import closed_sample
from ccbench.experiment.scenario import MSS_BYTES

if TYPE_CHECKING:
    from ccbench.experiment.flow import Flow

__all__ = ["TcpApplication"]

#: Fields of ``struct tcp_info`` in use: state, ca_state; unacked, sacked, lost and retrans; rtt,
#: snd_ssthresh and snd_cwnd; total_retrans and pacing_rate; min_rtt; bytes_sent.
_TCP_INFO = struct.Struct("=BB22x4I28xI4xII16xIQ36xI48xQ")
_TCP_CLOSE = 7
_NO_PACING = 2**64 - 1

_CHUNK = bytes(1 << 16)
#: Interval at which an application with a limited rate sends, in seconds.
_TICK_S = 0.001


class TcpApplication:
    """Sends the data of a TCP flow."""

    def __init__(self, flow: Flow, target: tuple[str, int], row: Any) -> None:
        self.start_s: float = row.start_s
        self.stop_s: float = row.stop_s
        self.size_bytes = int(row.size_bytes) if flow.kind == "bytes" else None
        self.sent_bytes = self.retransmits = 0
        self._flow = flow
        self._is_open = False
        self._target = target
        self._taken_bytes = self._room_bytes = 0
        self._socket = socket.socket()
        self._socket.settimeout(0)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow.cca.encode())
        # A reset at the flow's stop discards the data in the socket.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))

    def attend(self, now_s: float, poll: selectors.BaseSelector) -> float:
        """See :class:`.Application`."""
        if self._socket.fileno() < 0:  # closed
            return math.inf
        if not self._is_open:
            self._is_open = True
            self._connect()
        room_bytes, next_s = self._offer(now_s - self.start_s)
        if room_bytes and not self._room_bytes:
            poll.register(self._socket, selectors.EVENT_WRITE, self)
        elif self._room_bytes and not room_bytes:
            poll.unregister(self._socket)
        self._room_bytes = room_bytes
        return self.start_s + next_s

    def send(self, poll: selectors.BaseSelector) -> None:
        """See :class:`.Application`."""
        try:
            taken = self._socket.send(_CHUNK[: self._room_bytes])
        except BlockingIOError:  # temporarily out of memory
            return
        except TimeoutError:  # due to the network, which is a result
            self.close(poll)
            return
        self._taken_bytes += taken
        if self._taken_bytes == self.size_bytes:
            poll.unregister(self._socket)
            self._room_bytes = 0
            self._socket.shutdown(socket.SHUT_WR)

    def sample(self) -> tuple[int, ...]:
        """See :class:`.Application`."""
        if not self._is_open:
            return closed_sample(self.retransmits)
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        tcp_state, state, unacked, sacked, lost, retransmitted, *rest = _TCP_INFO.unpack(info)
        srtt_us, ssthresh, cwnd, retransmits, pacing, min_rtt_us, sent_bytes = rest
        self.sent_bytes, self.retransmits = sent_bytes, retransmits
        if tcp_state == _TCP_CLOSE:  # all data was sent and acknowledged
            self._close()
            return closed_sample(retransmits)
        pacing_bps = 0 if pacing == _NO_PACING else 8 * pacing
        inflight = unacked - sacked - lost + retransmitted
        windows = (cwnd, ssthresh, srtt_us, min_rtt_us, pacing_bps)
        return (*windows, retransmits, lost, state, max(0, inflight))

    def close(self, poll: selectors.BaseSelector) -> None:
        """See :class:`.Application`."""
        if not self._is_open:
            return
        if self._room_bytes:
            self._room_bytes = 0
            poll.unregister(self._socket)
        self.sample()  # updates the totals
        self._close()

    def _close(self) -> None:
        self._socket.close()
        self._is_open = False

    def _connect(self) -> None:
        error = self._socket.connect_ex(self._target)
        if error not in {0, errno.EINPROGRESS}:
            reason = os.strerror(error)
            raise OSError(error, f"the flow to port {self._target[1]} does not start: {reason}")

    def _offer(self, elapsed_s: float) -> tuple[int, float]:
        """Return the number of bytes to send, and the time since the start when it may change."""
        flow = self._flow
        if flow.kind == "bytes":
            assert self.size_bytes is not None
            return self.size_bytes - self._taken_bytes, math.inf
        if flow.kind == "rate":
            assert flow.rate_mbps is not None
            packets, _ = divmod(elapsed_s * flow.rate_mbps * 1e6 / 8 - self._taken_bytes, MSS_BYTES)
            return max(0, int(packets)) * MSS_BYTES, elapsed_s + _TICK_S
        if flow.kind == "onoff":
            assert flow.on_s is not None
            assert flow.off_s is not None
            cycle_s = flow.on_s + flow.off_s
            phase_s = elapsed_s % cycle_s
            if phase_s < flow.on_s:
                return len(_CHUNK), elapsed_s - phase_s + flow.on_s
            return 0, elapsed_s - phase_s + cycle_s
        return len(_CHUNK), math.inf
