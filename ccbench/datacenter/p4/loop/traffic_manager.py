# SPDX-License-Identifier: Apache-2.0
"""The traffic manager missing in v1model: a switch's queues, held by its driver."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ccbench.datacenter.switch import Bitmap, Signal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.datacenter.p4.driven import Held

__all__ = ["Queue", "TrafficManager"]


@dataclass
class Queue:
    """A queue of an egress port with its statistics.

    Attributes
    ----------
    waiting : deque of Held
        Queued packets.
    length_bytes, longest_bytes : int
        Current and maximum length.
    paused_since_s : float, optional
        Start of the current pause; None if not paused.
    pauses : int
        Number of pauses.
    paused_s : float
        Total duration of completed pauses.
    left_while_paused : int
        Packets that left during pauses.
    """

    waiting: deque[Held] = field(default_factory=deque)
    length_bytes: int = 0
    longest_bytes: int = 0
    paused_since_s: float | None = None
    pauses: int = 0
    paused_s: float = 0.0
    left_while_paused: int = 0


class TrafficManager:
    """The queues of all ports of one switch.

    A port serves its queues round robin, one packet each, and skips those that the neighbour has
    paused. For packets of equal size this is the thesis's deficit round robin.

    Parameters
    ----------
    stops : bool
        Whether pauses stop queues; if not, they are only recorded.
    """

    def __init__(self, *, stops: bool = True) -> None:
        self._stops = stops
        self._ports: dict[int, defaultdict[int, Queue]] = {}
        self._turn: dict[int, int] = {}

    def hold(self, held: Held) -> None:
        """Append a packet to its queue."""
        queue = self._queue(held.port, held.queue)
        queue.waiting.append(held)
        queue.length_bytes += held.length
        queue.longest_bytes = max(queue.longest_bytes, queue.length_bytes)

    def hear(self, message: Signal | Bitmap, now_s: float) -> None:
        """Pause and resume queues of a port as its neighbour requests."""
        if isinstance(message, Signal):
            self._set(message.port, message.queue, now_s, paused=message.kind == "pause")
            return
        for number in {*message.queues, *self._ports.get(message.port, ())}:
            self._set(message.port, number, now_s, paused=number in message.queues)

    def next(self, port: int) -> Held | None:
        """Remove and return the next packet of a port; None if there is none."""
        queues = self._ports.get(port, defaultdict(Queue))
        last = self._turn.get(port, -1)
        for number in sorted(queues, key=lambda number: (number <= last, number)):
            queue = queues[number]
            is_paused = queue.paused_since_s is not None
            if queue.waiting and not (is_paused and self._stops):
                self._turn[port] = number
                held = queue.waiting.popleft()
                queue.length_bytes -= held.length
                queue.left_while_paused += is_paused
                return held
        return None

    def is_empty(self) -> bool:
        """Return whether no packet waits."""
        return not any(queue.waiting for _, _, queue in self.queues())

    def queues(self) -> Iterator[tuple[int, int, Queue]]:
        """Yield all used queues with their port and queue numbers."""
        for port, queues in sorted(self._ports.items()):
            for number, queue in sorted(queues.items()):
                yield port, number, queue

    def _queue(self, port: int, number: int) -> Queue:
        return self._ports.setdefault(port, defaultdict(Queue))[number]

    def _set(self, port: int, number: int, now_s: float, *, paused: bool) -> None:
        queue = self._queue(port, number)
        if paused and queue.paused_since_s is None:
            queue.paused_since_s = now_s
            queue.pauses += 1
        elif not paused and queue.paused_since_s is not None:
            queue.paused_s += now_s - queue.paused_since_s
            queue.paused_since_s = None
