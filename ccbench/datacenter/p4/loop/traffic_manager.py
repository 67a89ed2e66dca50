# SPDX-License-Identifier: Apache-2.0
"""The queues of a switch, kept by its driver: the part of a traffic manager that v1model lacks."""

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
    """A queue of an egress port, and its record.

    Attributes
    ----------
    waiting : deque of Held
        The packets in it.
    length_bytes, longest_bytes : int
        Its length, and the greatest so far.
    paused_since_s : float, optional
        Since when it has been paused; None if it is not.
    pauses : int
        How many times it was paused.
    paused_s : float
        How long, in all.
    left_while_paused : int
        Packets that left it while it was paused.
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

    A port serves its queues in turn, one packet each, and passes over those that the neighbour has
    paused. With packets of one size this is the thesis's deficit round robin.

    Parameters
    ----------
    stops : bool
        Whether a pause stops a queue; if not, it is only recorded.
    """

    def __init__(self, *, stops: bool = True) -> None:
        self._stops = stops
        self._ports: dict[int, defaultdict[int, Queue]] = {}
        self._turn: dict[int, int] = {}

    def hold(self, held: Held) -> None:
        """Put a packet into its queue."""
        queue = self._queue(held.port, held.queue)
        queue.waiting.append(held)
        queue.length_bytes += held.length
        queue.longest_bytes = max(queue.longest_bytes, queue.length_bytes)

    def hear(self, message: Signal | Bitmap, now_s: float) -> None:
        """Pause and resume queues of a port, as its neighbour says."""
        if isinstance(message, Signal):
            self._set(message.port, message.queue, now_s, paused=message.kind == "pause")
            return
        for number in {*message.queues, *self._ports.get(message.port, ())}:
            self._set(message.port, number, now_s, paused=number in message.queues)

    def next(self, port: int) -> Held | None:
        """Take the packet that leaves a port next; None if none may."""
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
        """Return all queues that were used, with the numbers of port and queue."""
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
