# SPDX-License-Identifier: Apache-2.0
"""Reconstruction of a queue's record from mm-link's log by simulating the queue.

The log does not contain drops, nor the times at which packets left the queue for the link. For a
drop-tail queue, they follow from arrivals, delivery opportunities and the limit; for CoDel and PIE,
also from the set of packets that were delivered. Each simulated departure is compared with the log,
and any difference is an error.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

from ccbench.base.errors import EngineError
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES
from ccbench.run.tables import QUEUE_COLUMNS, dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.emulate.mahimahi.link_log import LinkLog

__all__ = ["replay"]

#: A delivery: time in milliseconds, size in bytes, and time since the arrival in milliseconds.
Delivery: TypeAlias = tuple[int, int, int]

#: Queues that drop packets only at their limit.
_DETERMINED = {"infinite", "droptail"}
#: Queues with other drops, and whether these occur at a packet's arrival: CoDel drops at the head.
_OTHERS = {"pie": True, "codel": False}


def replay(
    log: LinkLog, flows: Sequence[int] | None = None, came_out: Sequence[bool] | None = None
) -> pd.DataFrame:
    """Return the record of all packets at mm-link's queue.

    Parameters
    ----------
    log : LinkLog
        mm-link's log.
    flows : sequence of int, optional
        The flow of each arrival, in order, which is not in the log; by default flow 0.
    came_out : sequence of bool, optional
        Whether each arrival left the queue for the link. Not needed for drop-tail queues.

    Returns
    -------
    DataFrame
        Like ``queue`` of a :class:`~ccbench.run.run.Run`, with times since the start of the link's
        clock. A packet is dequeued at the opportunity that sends its first bytes; its departure in
        the log is at the opportunity that sends its last.

    Raises
    ------
    EngineError
        If the drops of this kind of queue cannot be reconstructed, or the log is inconsistent or
        does not match the other arguments.

    Examples
    --------
    >>> from ccbench.emulate.mahimahi.link_log import LinkLog
    >>> queue = replay(LinkLog.read("tests/realtime/mahimahi/reno.log"))
    >>> int(queue.loc[queue["event"] == "dequeue", "backlog_packets"].max())  # of 10 in the queue
    9
    """
    kind, *limits = _parse(log.queue)
    if kind not in (_DETERMINED if came_out is None else {*_DETERMINED, *_OTHERS}):
        message = f"mm-link's queue is {log.queue!r}, whose drops cannot be derived from its log"
        raise EngineError(message)
    link = _Link(*limits, drops_at_arrival=_OTHERS.get(kind, False))
    arrivals = int((log.lines["kind"] == "+").sum())
    for given in (flows, came_out):
        if given is not None and len(given) != arrivals:
            raise EngineError(f"{arrivals} packets arrived at mm-link, but {len(given)} were sent")
    packets = zip(flows or repeat(0), came_out or repeat(None), strict=False)
    delivered: deque[Delivery] = deque()  # not yet compared with the log
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
        self._waiting: deque[tuple[_Packet, bool]] = deque()  # with whether it will be delivered
        self._waiting_bytes = 0
        self._sending = _Packet(0, 0, 0)
        self._unsent_bytes = 0
        self._rows: list[tuple[int, str, int, int, int, int]] = []

    def arrive(self, packet: _Packet, *, comes_out: bool | None) -> None:
        """Enqueue a packet, or drop it at the limit, which excludes the packet on the link.

        Raises
        ------
        EngineError
            If a packet was delivered that exceeds the limit.
        """
        time_ms = packet.arrival_ms
        self._waiting.append((packet, comes_out is not False))
        self._waiting_bytes += packet.size
        self._record(time_ms, "enqueue", packet)
        fits = len(self._waiting) <= self._max_packets and self._waiting_bytes <= self._max_bytes
        if comes_out and not fits:
            raise EngineError("mm-link contradicts itself: a packet passed its full queue")
        if not fits or (comes_out is False and self._drops_at_arrival):
            self._waiting.pop()
            self._waiting_bytes -= packet.size
            self._record(time_ms, "drop", packet)

    def deliver(self, time_ms: int, size: int) -> list[Delivery]:
        """Use a delivery opportunity of `size` bytes; return the packets that it completes."""
        delivered = []
        while size and (self._unsent_bytes or self._next(time_ms)):
            sent = min(size, self._unsent_bytes)
            size -= sent
            self._unsent_bytes -= sent
            if not self._unsent_bytes:
                packet = self._sending
                delivered.append((time_ms, packet.size, time_ms - packet.arrival_ms))
        return delivered

    def _next(self, time_ms: int) -> bool:
        """Dequeue the next packet that will be delivered; return False if there is none.

        Packets before it are dropped at this time.
        """
        if not any(comes_out for _, comes_out in self._waiting):
            return False
        while True:
            packet, comes_out = self._waiting.popleft()
            self._waiting_bytes -= packet.size
            self._record(time_ms, "dequeue" if comes_out else "drop", packet)
            if comes_out:
                self._sending, self._unsent_bytes = packet, packet.size
                return True

    def record(self) -> pd.DataFrame:
        """Return the record of the queue."""
        import pandas as pd  # noqa: PLC0415 - not needed to recognise a file

        names = ["time_ns", "event", "flow", "bytes", "backlog_packets", "backlog_bytes"]
        frame = pd.DataFrame(self._rows, columns=names).assign(bottleneck=0)
        return frame[list(QUEUE_COLUMNS)].astype(dtypes(QUEUE_COLUMNS))

    def _record(self, time_ms: int, event: str, packet: _Packet) -> None:
        waiting = len(self._waiting)
        ip_bytes = self._waiting_bytes - waiting * TUN_HEADER_BYTES
        size = packet.size - TUN_HEADER_BYTES
        row = (time_ms * 1_000_000, event, packet.flow, size, waiting, ip_bytes)
        self._rows.append(row)


def _parse(queue: str) -> tuple[str, float, float]:
    """Return the kind and the limits in packets and bytes from mm-link's description."""
    kind = queue.partition(" ")[0]
    limits = {unit: float(limit) for unit, limit in re.findall(r"(packets|bytes)=(\d+)", queue)}
    return kind, limits.get("packets", math.inf), limits.get("bytes", math.inf)


def _compare(logged: Delivery | None, replayed: Delivery | None) -> None:
    if logged != replayed:
        message = f"its log has {_describe(logged)}, its replayed queue {_describe(replayed)}"
        raise EngineError(f"mm-link contradicts itself: {message}")


def _describe(delivery: Delivery | None) -> str:
    if delivery is None:
        return "no delivery"
    time_ms, size, delay_ms = delivery
    return f"{size} bytes delivered at {time_ms} ms, {delay_ms:g} ms after their arrival"
