# SPDX-License-Identifier: Apache-2.0
"""From mm-link's log of a drop-tail queue to the queue record of a run.

The log does not say which packets the queue refused, nor when a packet left the queue for the link.
But arrivals, opportunities and the limit determine all of it, so the queue is run again. Every
departure in the log is held against the one that comes out: a record that differs in a single
packet is no record.
"""

from __future__ import annotations

import math
import re
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from ccbench._frames import QUEUE_COLUMNS
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES
from ccbench.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.emulate.mahimahi.link_log import LinkLog

__all__ = ["replay"]

#: A delivery: when, in milliseconds; how many bytes; how many milliseconds after the arrival.
Delivery: TypeAlias = tuple[int, int, int]


def replay(log: LinkLog, flows: Sequence[int] | None = None) -> pd.DataFrame:
    """Return what happened to every packet at a drop-tail or an unlimited queue.

    Parameters
    ----------
    log : LinkLog
        What mm-link wrote.
    flows : sequence of int, optional
        To which flow each arrival belongs, in their order, which the log does not know. Left out:
        all to flow 0.

    Returns
    -------
    DataFrame
        Like ``queue`` of a :class:`~ccbench.run.Run`, times counted from the start of the link's
        clock. A packet is dequeued at the opportunity that takes its first bytes; the departure
        that the log has is at the one that takes its last.

    Raises
    ------
    EngineError
        If the queue was of another kind, or the log contradicts itself or `flows`.

    Examples
    --------
    >>> from ccbench.emulate.mahimahi.link_log import LinkLog
    >>> queue = replay(LinkLog.read("tests/mahimahi/reno.log"))
    >>> int(queue.loc[queue["event"] == "dequeue", "backlog_packets"].max())  # of 10 that waited
    9
    """
    link = _Link(*_limits(log.queue))
    arrivals = int((log.lines["kind"] == "+").sum())
    if flows is None:
        flows = [0] * arrivals
    if len(flows) != arrivals:
        raise EngineError(f"{arrivals} packets arrived at mm-link, but {len(flows)} were sent")
    flow_of_next = iter(flows)
    delivered: deque[Delivery] = deque()  # what the log must tell next
    columns = (log.lines[name].tolist() for name in ("time_ms", "kind", "size", "delay_ms"))
    for time_ms, kind, size, delay_ms in zip(*columns, strict=True):
        if kind == "-":
            _compare((time_ms, size, delay_ms), delivered.popleft() if delivered else None)
            continue
        if delivered:
            _compare(None, delivered[0])
        if kind == "+":
            link.arrive(time_ms, next(flow_of_next), size)
        elif kind == "#":
            delivered.extend(link.deliver(time_ms, size))
    if delivered:
        _compare(None, delivered[0])
    return link.record()


class _Link:
    """mm-link's queue and link."""

    def __init__(self, max_packets: float, max_bytes: float) -> None:
        self._max_packets, self._max_bytes = max_packets, max_bytes
        self._waiting: deque[tuple[int, int, int]] = deque()  # flow, bytes, arrival in ms
        self._waiting_bytes = 0
        self._sending = (0, 0, 0)
        self._unsent_bytes = 0
        self._rows: list[tuple[int, str, int, int, int, int]] = []

    def arrive(self, time_ms: int, flow: int, size: int) -> None:
        """Let a packet in, or drop it if it does not fit; the one on the link does not count."""
        self._waiting.append((flow, size, time_ms))
        self._waiting_bytes += size
        self._note(time_ms, "enqueue", flow, size)
        if len(self._waiting) > self._max_packets or self._waiting_bytes > self._max_bytes:
            self._waiting.pop()
            self._waiting_bytes -= size
            self._note(time_ms, "drop", flow, size)

    def deliver(self, time_ms: int, room: int) -> list[Delivery]:
        """Use an opportunity of `room` bytes; return the packets whose last bytes it took."""
        delivered = []
        while room and (self._unsent_bytes or self._waiting):
            if not self._unsent_bytes:
                self._sending = self._waiting.popleft()
                flow, self._unsent_bytes, _ = self._sending
                self._waiting_bytes -= self._unsent_bytes
                self._note(time_ms, "dequeue", flow, self._unsent_bytes)
            sent = min(room, self._unsent_bytes)
            room -= sent
            self._unsent_bytes -= sent
            if not self._unsent_bytes:
                _, size, arrival_ms = self._sending
                delivered.append((time_ms, size, time_ms - arrival_ms))
        return delivered

    def record(self) -> pd.DataFrame:
        """Return all that has happened."""
        names = ["time_ns", "event", "flow", "bytes", "backlog_packets", "backlog_bytes"]
        frame = pd.DataFrame(self._rows, columns=names).assign(bottleneck=0)
        return frame[list(QUEUE_COLUMNS)].astype(dict(QUEUE_COLUMNS))

    def _note(self, time_ms: int, event: str, flow: int, size: int) -> None:
        packets = len(self._waiting)
        ip_bytes = self._waiting_bytes - packets * TUN_HEADER_BYTES
        row = (time_ms * 1_000_000, event, flow, size - TUN_HEADER_BYTES, packets, ip_bytes)
        self._rows.append(row)


def _limits(queue: str) -> tuple[float, float]:
    """Return how many packets and bytes may wait, from mm-link's words for its queue."""
    if queue == "infinite":
        return math.inf, math.inf
    if not queue.startswith("droptail ["):
        message = f"mm-link's queue is {queue!r}: what it dropped cannot be told from its log"
        raise EngineError(message)
    limits = {unit: float(limit) for unit, limit in re.findall(r"(packets|bytes)=(\d+)", queue)}
    return limits.get("packets", math.inf), limits.get("bytes", math.inf)


def _compare(logged: Delivery | None, replayed: Delivery | None) -> None:
    if logged != replayed:
        message = f"the log has {_words(logged)} where its queue, run again, has {_words(replayed)}"
        raise EngineError(f"mm-link contradicts itself: {message}")


def _words(delivery: Delivery | None) -> str:
    if delivery is None:
        return "no delivery"
    time_ms, size, delay_ms = delivery
    return f"{size} bytes delivered at {time_ms} ms, {delay_ms:g} ms after their arrival"
