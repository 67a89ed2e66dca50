# SPDX-License-Identifier: Apache-2.0
"""From mm-link's log to the queue record of a run.

The log does not say which packets the queue dropped, nor when a packet left the queue for the link.
But arrivals, opportunities and the limit determine all of it if the queue is drop-tail, and for
CoDel and PIE it is enough to know besides which packets came out. So the queue is run again. Every
departure in the log is held against the one that comes out: a record that differs in a single
packet is no record.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from ccbench.base.errors import EngineError
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES
from ccbench.run.tables import QUEUE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.emulate.mahimahi.link_log import LinkLog

__all__ = ["replay"]

#: A delivery: when, in milliseconds; how many bytes; how many milliseconds after the arrival.
Delivery: TypeAlias = tuple[int, int, int]

#: Queues whose drops the limit determines.
_DETERMINED = {"infinite", "droptail"}
#: Queues that drop at other times too, and whether that is when a packet arrives: with CoDel it is
#: when its turn would come.
_OTHERS = {"pie": True, "codel": False}


def replay(
    log: LinkLog, flows: Sequence[int] | None = None, came_out: Sequence[bool] | None = None
) -> pd.DataFrame:
    """Return what happened to every packet at mm-link's queue.

    Parameters
    ----------
    log : LinkLog
        What mm-link wrote.
    flows : sequence of int, optional
        To which flow each arrival belongs, in their order, which the log does not know. Left out:
        all to flow 0.
    came_out : sequence of bool, optional
        Whether each arrival left the queue for the link. A drop-tail queue does without, and has it
        left out.

    Returns
    -------
    DataFrame
        Like ``queue`` of a :class:`~ccbench.run.run.Run`, times counted from the start of the
        link's clock. A packet is dequeued at the opportunity that takes its first bytes; the
        departure that the log has is at the one that takes its last.

    Raises
    ------
    EngineError
        If the queue was of a kind whose drops cannot be told, or the log contradicts itself or what
        else is given.

    Examples
    --------
    >>> from ccbench.emulate.mahimahi.link_log import LinkLog
    >>> queue = replay(LinkLog.read("tests/realtime/mahimahi/reno.log"))
    >>> int(queue.loc[queue["event"] == "dequeue", "backlog_packets"].max())  # of 10 that waited
    9
    """
    kind, *limits = _parsed(log.queue)
    if kind not in (_DETERMINED if came_out is None else {*_DETERMINED, *_OTHERS}):
        message = f"mm-link's queue is {log.queue!r}: what it dropped cannot be told from its log"
        raise EngineError(message)
    link = _Link(*limits, drops_at_arrival=_OTHERS.get(kind, False))
    arrivals = int((log.lines["kind"] == "+").sum())
    for known in (flows, came_out):
        if known is not None and len(known) != arrivals:
            raise EngineError(f"{arrivals} packets arrived at mm-link, but {len(known)} were sent")
    packets = zip(flows or repeat(0), came_out or repeat(None), strict=False)
    delivered: deque[Delivery] = deque()  # what the log must tell next
    columns = (log.lines[name].tolist() for name in ("time_ms", "kind", "size", "delay_ms"))
    for time_ms, line, size, delay_ms in zip(*columns, strict=True):
        if line == "-":
            _compare((time_ms, size, delay_ms), delivered.popleft() if delivered else None)
            continue
        if delivered:
            _compare(None, delivered[0])
        if line == "+":
            flow, comes_out = next(packets)
            link.arrive(_Packet(flow, size, time_ms), comes_out=comes_out)
        elif line == "#":
            delivered.extend(link.deliver(time_ms, size))
    if delivered:
        _compare(None, delivered[0])
    return link.record()


@dataclass(frozen=True, slots=True)
class _Packet:
    flow: int
    size: int
    arrival_ms: int


class _Link:
    """mm-link's queue and link."""

    def __init__(self, max_packets: float, max_bytes: float, *, drops_at_arrival: bool) -> None:
        self._max_packets, self._max_bytes = max_packets, max_bytes
        self._drops_at_arrival = drops_at_arrival
        self._waiting: deque[tuple[_Packet, bool]] = deque()  # and whether it comes out
        self._waiting_bytes = 0
        self._sending = _Packet(0, 0, 0)
        self._unsent_bytes = 0
        self._rows: list[tuple[int, str, int, int, int, int]] = []

    def arrive(self, packet: _Packet, *, comes_out: bool | None) -> None:
        """Let a packet in, or drop it if it does not fit; the one on the link does not count.

        Raises
        ------
        EngineError
            If it comes out though it does not fit.
        """
        time_ms = packet.arrival_ms
        self._waiting.append((packet, comes_out is not False))
        self._waiting_bytes += packet.size
        self._note(time_ms, "enqueue", packet)
        fits = len(self._waiting) <= self._max_packets and self._waiting_bytes <= self._max_bytes
        if comes_out and not fits:
            raise EngineError("mm-link contradicts itself: a packet passed its queue that was full")
        if not fits or (comes_out is False and self._drops_at_arrival):
            self._waiting.pop()
            self._waiting_bytes -= packet.size
            self._note(time_ms, "drop", packet)

    def deliver(self, time_ms: int, room: int) -> list[Delivery]:
        """Use an opportunity of `room` bytes; return the packets whose last bytes it took."""
        delivered = []
        while room and (self._unsent_bytes or self._next(time_ms)):
            sent = min(room, self._unsent_bytes)
            room -= sent
            self._unsent_bytes -= sent
            if not self._unsent_bytes:
                packet = self._sending
                delivered.append((time_ms, packet.size, time_ms - packet.arrival_ms))
        return delivered

    def _next(self, time_ms: int) -> bool:
        """Take the next packet that comes out from the queue; False if there is none.

        Those before it are dropped now, as their turn would be.
        """
        if not any(comes_out for _, comes_out in self._waiting):
            return False
        while True:
            packet, comes_out = self._waiting.popleft()
            self._waiting_bytes -= packet.size
            self._note(time_ms, "dequeue" if comes_out else "drop", packet)
            if comes_out:
                self._sending, self._unsent_bytes = packet, packet.size
                return True

    def record(self) -> pd.DataFrame:
        """Return all that has happened."""
        names = ["time_ns", "event", "flow", "bytes", "backlog_packets", "backlog_bytes"]
        frame = pd.DataFrame(self._rows, columns=names).assign(bottleneck=0)
        return frame[list(QUEUE_COLUMNS)].astype(dict(QUEUE_COLUMNS))

    def _note(self, time_ms: int, event: str, packet: _Packet) -> None:
        waiting = len(self._waiting)
        ip_bytes = self._waiting_bytes - waiting * TUN_HEADER_BYTES
        size = packet.size - TUN_HEADER_BYTES
        row = (time_ms * 1_000_000, event, packet.flow, size, waiting, ip_bytes)
        self._rows.append(row)


def _parsed(queue: str) -> tuple[str, float, float]:
    """Return the kind, and how many packets and bytes may wait, from mm-link's words."""
    kind = queue.partition(" ")[0]
    limits = {unit: float(limit) for unit, limit in re.findall(r"(packets|bytes)=(\d+)", queue)}
    return kind, limits.get("packets", math.inf), limits.get("bytes", math.inf)


def _compare(logged: Delivery | None, replayed: Delivery | None) -> None:
    if logged != replayed:
        message = f"the log has {_words(logged)} where its queue, run again, has {_words(replayed)}"
        raise EngineError(f"mm-link contradicts itself: {message}")


def _words(delivery: Delivery | None) -> str:
    if delivery is None:
        return "no delivery"
    time_ms, size, delay_ms = delivery
    return f"{size} bytes delivered at {time_ms} ms, {delay_ms:g} ms after their arrival"
