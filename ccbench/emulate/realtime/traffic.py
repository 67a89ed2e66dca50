# SPDX-License-Identifier: Apache-2.0
"""The two hosts of a scenario: real sockets that send and receive in real time.

Each single flow has a port of the receiver's to itself, by which everybody tells flows apart.
"""

from __future__ import annotations

import errno
import math
import os
import random
import selectors
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ccbench.scenario import MSS_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from ccbench.flow import Flow
    from ccbench.scenario import Scenario

__all__ = [
    "COMPLETION_RECORD",
    "FIRST_PORT",
    "SAMPLE_RECORD",
    "SO_RCVBUFFORCE",
    "Clock",
    "Receiver",
    "Sender",
]

FIRST_PORT = 20_000

#: As in ``flows`` of a Run, without what the queue's record tells.
SAMPLE_RECORD = np.dtype(
    [
        *(("time_ns", "i8"), ("flow", "u4"), ("delivered_bytes", "u8")),
        *(("cwnd_packets", "u4"), ("ssthresh_packets", "u4")),
        *(("srtt_us", "u4"), ("min_rtt_us", "u4"), ("pacing_rate_bps", "u8")),
        *(("retransmits", "u4"), ("lost", "u4"), ("state", "i1"), ("inflight_packets", "u4")),
    ]
)
#: As in ``completions`` of a Run.
COMPLETION_RECORD = np.dtype(
    [
        *(("start_ns", "i8"), ("end_ns", "i8")),
        *(("delivered_bytes", "u8"), ("sent_bytes", "u8"), ("retransmits", "u4")),
    ]
)

#: What we read of ``struct tcp_info``: state, ca_state; unacked, sacked, lost and retrans; rtt,
#: snd_ssthresh and snd_cwnd; total_retrans and pacing_rate; min_rtt; bytes_sent.
_TCP_INFO = struct.Struct("=BB22x4I28xI4xII16xIQ36xI48xQ")
_TCP_CLOSE = 7
_NO_PACING = 2**64 - 1

_CHUNK = bytes(1 << 16)
SO_RCVBUFFORCE = 33
_DATAGRAM_BUFFER_BYTES = 1 << 24
#: How often an application that offers a rate wakes up, and progress is reported, in seconds.
_TICK_S = 0.001
_PROGRESS_S = 0.1
_IP_AND_UDP_BYTES = 28
#: What datagrams begin with, by which they are told apart.
_NUMBER = struct.Struct("!I")


class Clock:
    """Time since the scenario began.

    Parameters
    ----------
    zero_epoch_ns : int
        When it begins, in nanoseconds since 1970.
    """

    def __init__(self, zero_epoch_ns: int) -> None:
        self._zero_ns = time.monotonic_ns() + zero_epoch_ns - time.time_ns()

    def now_ns(self) -> int:
        """Return the time in nanoseconds; below 0 before the beginning."""
        return time.monotonic_ns() - self._zero_ns

    def now_s(self) -> float:
        """Return the time in seconds."""
        return self.now_ns() / 1e9


class Receiver(threading.Thread):
    """The receiving host: takes everything, and counts.

    To be made in the receiver's network namespace.

    Parameters
    ----------
    flows : sequence of Flow
        The scenario's single flows.
    clock : Clock
        Of the scenario.
    """

    def __init__(self, flows: Sequence[Flow], clock: Clock) -> None:
        super().__init__(daemon=True)
        self.delivered_bytes = [0] * len(flows)
        self.last_ns = [0] * len(flows)
        self.error: Exception | None = None
        self._clock = clock
        self._delays_acks = [flow.delayed_acks for flow in flows]
        self._poll = selectors.DefaultSelector()
        for i, flow in enumerate(flows):
            udp = flow.is_udp
            entrance = socket.socket(type=socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
            entrance.bind(("", FIRST_PORT + i))
            entrance.settimeout(0)
            if udp:  # datagrams that find no room are gone
                entrance.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, _DATAGRAM_BUFFER_BYTES)
            else:
                entrance.listen()
            self._poll.register(entrance, selectors.EVENT_READ, (i, not udp))

    def run(self) -> None:
        """Receive until the process ends; `error` says why if it does not come to that."""
        try:
            self._receive()
        except Exception as error:  # noqa: BLE001 - nobody would hear of it in this thread
            self.error = error

    def _receive(self) -> None:
        buffer = bytearray(1 << 18)
        while True:
            for key, _ in self._poll.select():
                flow, is_entrance = key.data
                connection: Any = key.fileobj
                if is_entrance:
                    connection, _ = connection.accept()
                    connection.settimeout(0)
                    self._poll.register(connection, selectors.EVENT_READ, (flow, False))
                    continue
                if self._delays_acks[flow]:  # TCP forgets it whenever something is missing
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
                try:
                    received = connection.recv_into(buffer)
                except ConnectionResetError:  # how a sender stops
                    received = 0
                if received:
                    self.delivered_bytes[flow] += received
                    self.last_ns[flow] = self._clock.now_ns()
                else:
                    self._poll.unregister(connection)
                    connection.close()


class Sender:
    """The sending host: the applications of all flows, and samples of their sockets.

    To be made in the sender's network namespace.

    Parameters
    ----------
    scenario : Scenario
        What to send, and when.
    address : str
        The receiver's, as the sender sees it.
    receiver : Receiver
        Knows what was delivered.
    clock : Clock
        Of the scenario.

    Raises
    ------
    OSError
        If this kernel lacks a congestion control.
    """

    def __init__(self, scenario: Scenario, address: str, receiver: Receiver, clock: Clock) -> None:
        self._interval_s = scenario.sample_interval_ms / 1e3
        self._end_s = scenario.duration_s
        self._receiver = receiver
        self._clock = clock
        self._samples: list[tuple[int, ...]] = []
        self._flows: list[_Application] = []
        row: Any  # mypy knows no columns
        for i, row in enumerate(scenario.flow_table().itertuples()):
            flow, target = scenario.flows[row.group], (address, FIRST_PORT + i)
            if flow.is_udp:
                randomness = random.Random(f"{scenario.seed} {i}")
                self._flows.append(_Udp(flow, target, row, randomness))
            else:
                self._flows.append(_Tcp(flow, target, row))

    def run(self, on_progress: Callable[[float], None]) -> None:
        """Send until the scenario ends."""
        poll = selectors.DefaultSelector()
        samples, report_s = 0, 0.0
        while (now_s := self._clock.now_s()) < self._end_s:
            if now_s >= report_s:
                report_s = now_s + _PROGRESS_S
                on_progress(now_s)
            if (samples + 1) * self._interval_s <= now_s:
                samples = max(samples + 1, int(now_s / self._interval_s))
                for i in range(len(self._flows)):
                    self._sample(i, samples * self._interval_s)
            due_s = min((samples + 1) * self._interval_s, self._end_s, report_s)
            for flow in self._flows:
                if flow.stop_s <= now_s:
                    flow.close(poll)
                elif flow.start_s <= now_s:
                    due_s = min(due_s, flow.stop_s, flow.attend(now_s, poll))
                else:
                    due_s = min(due_s, flow.start_s)
            for key, _ in poll.select(max(0.0, due_s - self._clock.now_s())):
                key.data.send(poll)
        for i, flow in enumerate(self._flows):
            self._sample(i, self._end_s)
            flow.close(poll)

    def samples(self) -> npt.NDArray[Any]:
        """Return the samples that were taken, in order of time."""
        return np.array(self._samples, dtype=SAMPLE_RECORD)

    def completions(self) -> npt.NDArray[Any]:
        """Return what became of each flow."""
        rows = np.zeros(len(self._flows), dtype=COMPLETION_RECORD)
        for i, flow in enumerate(self._flows):
            delivered = self._receiver.delivered_bytes[i]
            end_ns = self._receiver.last_ns[i] if delivered == flow.size_bytes else -1
            totals = (delivered, flow.sent_bytes, flow.retransmits)
            rows[i] = (round(flow.start_s * 1e9), end_ns, *totals)
        return rows

    def _sample(self, i: int, time_s: float) -> None:
        flow = self._flows[i]
        if flow.start_s < time_s:
            delivered = self._receiver.delivered_bytes[i]
            self._samples.append((round(time_s * 1e9), i, delivered, *flow.sample()))


class _Application(Protocol):
    """What sends the data of one flow."""

    start_s: float
    stop_s: float
    size_bytes: int | None
    sent_bytes: int
    retransmits: int

    def attend(self, now_s: float, poll: selectors.BaseSelector) -> float:
        """Begin, or offer what there is to send by now; return when there may be more."""

    def send(self, poll: selectors.BaseSelector) -> None:
        """Give the socket, which has room, what is on offer."""

    def sample(self) -> tuple[int, ...]:
        """Return the rest of a sample, from ``cwnd_packets`` on; of a closed one the totals."""

    def close(self, poll: selectors.BaseSelector) -> None:
        """End at once; once more does nothing."""


class _Tcp:
    """The application of a TCP flow."""

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
        # Data that waits in the socket when the flow stops is not sent: a reset ends it.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))

    def attend(self, now_s: float, poll: selectors.BaseSelector) -> float:
        """See :class:`_Application`."""
        if self._socket.fileno() < 0:  # it has been closed
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
        """See :class:`_Application`."""
        try:
            taken = self._socket.send(_CHUNK[: self._room_bytes])
        except BlockingIOError:  # no memory just now
            return
        except TimeoutError:  # the network let it down: a result
            self.close(poll)
            return
        self._taken_bytes += taken
        if self._taken_bytes == self.size_bytes:
            poll.unregister(self._socket)
            self._room_bytes = 0
            self._socket.shutdown(socket.SHUT_WR)

    def sample(self) -> tuple[int, ...]:
        """See :class:`_Application`."""
        if not self._is_open:
            return _closed(self.retransmits)
        info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        tcp_state, state, unacked, sacked, lost, retransmitted, *rest = _TCP_INFO.unpack(info)
        srtt_us, ssthresh, cwnd, retransmits, pacing, min_rtt_us, sent_bytes = rest
        self.sent_bytes, self.retransmits = sent_bytes, retransmits
        if tcp_state == _TCP_CLOSE:  # it has sent all, and knows that it has arrived
            self._close()
            return _closed(retransmits)
        pacing_bps = 0 if pacing == _NO_PACING else 8 * pacing
        inflight = unacked - sacked - lost + retransmitted
        windows = (cwnd, ssthresh, srtt_us, min_rtt_us, pacing_bps)
        return (*windows, retransmits, lost, state, max(0, inflight))

    def close(self, poll: selectors.BaseSelector) -> None:
        """See :class:`_Application`."""
        if not self._is_open:
            return
        if self._room_bytes:
            self._room_bytes = 0
            poll.unregister(self._socket)
        self.sample()  # for the totals
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
        """Return how many bytes there are to send, and when that may change."""
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


class _Udp:
    """The application of a UDP flow."""

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
        self._rest = bytes(flow.packet_bytes - _IP_AND_UDP_BYTES - _NUMBER.size)
        self._number = 0
        self._interval_s: float = flow.packet_bytes * 8e-6 / flow.rate_mbps
        self._randomness = randomness if flow.kind == "poisson" else None
        self._next_s: float = self.start_s
        self._socket = socket.socket(type=socket.SOCK_DGRAM)

    def attend(self, now_s: float, poll: selectors.BaseSelector) -> float:
        """See :class:`_Application`; sends what is due, as a datagram never has to wait."""
        del poll
        while self._next_s <= now_s:
            payload = _NUMBER.pack(self._number & 0xFFFFFFFF) + self._rest
            self._socket.sendto(payload, self._target)
            self._number += 1
            self.sent_bytes += len(payload)
            draw = self._randomness.expovariate(1) if self._randomness else 1.0
            self._next_s += draw * self._interval_s
        return self._next_s

    def send(self, poll: selectors.BaseSelector) -> None:
        """See :class:`_Application`; never asked for."""

    def sample(self) -> tuple[int, ...]:
        """See :class:`_Application`: UDP has nothing of all that."""
        return _closed(0)

    def close(self, poll: selectors.BaseSelector) -> None:
        """See :class:`_Application`."""
        del poll
        self._socket.close()


def _closed(retransmits: int) -> tuple[int, ...]:
    """Return the rest of a sample of a socket that is no more."""
    return (0, 0, 0, 0, 0, retransmits, 0, 0, 0)
