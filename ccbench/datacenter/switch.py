# SPDX-License-Identifier: Apache-2.0
r"""Reference model of a BFC switch, for testing the P4 program and the simulator.

A switch gives every active flow its own queue at the egress port as long as queues are empty. A
packet that joins a queue longer than the pause threshold makes the switch pause the queue that the
packet came from, at the upstream neighbour. The switch resumes that upstream queue once all such
packets have left. The threshold is the amount that a queue's share of the link drains in the time
that a pause takes to become effective:

.. math:: Th = HRTT \cdot \mu / N_{active}

:class:`Switch` implements this as a state machine without a clock, a scheduler or a source of
randomness of its own: the caller determines when packets arrive and leave, and the same calls give
the same answers on every machine and in every implementation.

Choices left open by the thesis:

- The comparison with the threshold counts the packet itself in the length of its queue, and its
  queue as active. If no queue is active because all that hold packets are paused, the threshold is
  that of one active queue.
- Empty queues are assigned in turn, beginning after the last one assigned ("a rotating starting
  point", section 3.4). Always choosing the lowest would give a flow's queue to the next flow during
  the first flow's sticky time.
- The flow table counts packets, as the pseudocode does; queue lengths count bytes, as the threshold
  does.
- The highest queue is reserved for pause and resume packets.
- Labelled incast flows of an egress port share one additional entry of the flow table, and thus one
  queue at a time. Without incast, that queue is available to other flows.
- A packet that names no upstream queue or an impossible one is queued but triggers no pause.
  Neighbours without BFC and damaged headers are therefore harmless.
- The timestamp of a flow's entry never decreases. In a real switch, clocks of ingress and egress
  meet in it: a packet that was stamped on arrival and then waited is processed after the header of
  a packet that left later.

References
----------
P. Goyal's thesis, sections 3.3.3.1 (queue assignment), 3.3.3.2 (backpressure, sticky assignment)
and 3.4, appendices D (deadlock), E (sampling) and F.3 (incast label); "Backpressure Flow Control",
NSDI 2022. G. Marsaglia, "Xorshift RNGs", 2003.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.datacenter.packet import Bitmap, Flow, Packet, Queued, Signal
from ccbench.datacenter.switch_settings import EVERY_PACKET, Settings, pause_threshold_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "EVERY_PACKET",
    "Bitmap",
    "Flow",
    "Packet",
    "Queued",
    "Settings",
    "Signal",
    "Switch",
    "draws",
    "pause_threshold_bytes",
]

_LENGTH = Range(1, 65_535)
_TIME = Range(0, 2**63 - 1)


def draws(seed: int) -> Iterator[int]:
    """Return the switch's random numbers, one per packet: Marsaglia's 32-bit xorshift (13, 17, 5).

    The upper half of a number decides whether the packet is sampled; the lower half selects its
    queue if none is empty.

    Examples
    --------
    >>> next(draws(1))
    270369
    """
    x = seed
    while True:
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        yield x


@dataclass
class _Entry:
    """An entry of the flow table."""

    size: int = 0  # packets in the switch that will be recirculated
    queue: int | None = None  # None before the first flow
    touched_ns: int = 0


@dataclass
class _Port:
    """State of an egress port and of the neighbour behind it."""

    lengths_bytes: list[int]  # one per data queue
    paused: set[int] = field(default_factory=set)  # by the neighbour downstream
    turn: int = 0  # first queue of the next search for an empty one


class Switch:
    """One BFC switch.

    Parameters
    ----------
    settings : Settings
        Its configuration.

    Examples
    --------
    Two flows from one host to a port of 100 Gbit/s. The first has sent 26 KB when the first packet
    of the second arrives; its queue exceeds the BDP of a hop, 25 KB.

    >>> switch = Switch(Settings(speeds_mbps=(100_000, 100_000), queues=32, hrtt_ns=2000))
    >>> long, short = Flow(1, 2, 1000, 80), Flow(1, 2, 1001, 80)
    >>> for i in range(26):
    ...     packet = Packet(flow=long, ingress=0, egress=1, upstream_queue=5)
    ...     last = switch.enqueue(packet, i * 100)
    >>> last.queue, last.signals
    (0, (Signal(kind='pause', port=0, queue=5),))
    >>> other = switch.enqueue(Packet(flow=short, ingress=0, egress=1, upstream_queue=6), 2600)
    >>> other.queue, other.signals
    (1, ())
    >>> switch.dequeue(last, 9000)
    (Signal(kind='resume', port=0, queue=5),)
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        ports = range(len(settings.speeds_mbps))
        self._ports = [_Port([0] * settings.data_queues) for _ in ports]
        # The index after the last hashed entry belongs to the port's incast flows.
        # Entries are created on first use.
        self._flow_table = [defaultdict[int, _Entry](_Entry) for _ in ports]
        self._pause_counter = [[0] * settings.upstream_queues for _ in ports]
        self._draws = draws(settings.seed)
        self._arrived = 0
        self._queued: dict[int, Queued] = {}

    def enqueue(self, packet: Packet, time_ns: int) -> Queued:
        """Accept a packet: assign it a queue, and pause its upstream queue if necessary.

        Parameters
        ----------
        packet : Packet
            The packet.
        time_ns : int
            Time in ns; it may be earlier than in the previous call.

        Returns
        -------
        Queued
            The packet in its queue, for :meth:`dequeue`.

        Raises
        ------
        InputError
            If the switch has no such port, or a number is out of range.
        """
        self._check_port("ingress", packet.ingress)
        self._check_port("egress", packet.egress)
        validation.whole("length_bytes", packet.length_bytes, _LENGTH, example=1000)
        validation.whole("time_ns", time_ns, _TIME, example=0)
        draw = next(self._draws)
        sampled = (draw >> 16) < self.settings.sampled
        entry = (
            self.settings.flow_entries
            if packet.incast
            else packet.flow.entry(self.settings.flow_entries)
        )
        queue = self._assign(packet.egress, entry, draw & 0xFFFF, time_ns)
        self._flow_table[packet.egress][entry].size += sampled
        self._ports[packet.egress].lengths_bytes[queue] += packet.length_bytes
        counted = sampled and self._is_backpressured(packet, queue)
        queued = Queued(
            number=self._arrived,
            packet=packet,
            queue=queue,
            entry=entry,
            counted=counted,
            sampled=sampled,
            signals=self._count(packet, +1) if counted else (),
        )
        self._arrived += 1
        self._queued[queued.number] = queued
        return queued

    def dequeue(self, queued: Queued, time_ns: int) -> tuple[Signal, ...]:
        """Remove a packet from its queue.

        Parameters
        ----------
        queued : Queued
            The return value of :meth:`enqueue`.
        time_ns : int
            Time in ns.

        Returns
        -------
        tuple of Signal
            The resume that this triggers, if any.

        Raises
        ------
        InputError
            If the packet is not in the switch.
        """
        validation.whole("time_ns", time_ns, _TIME, example=0)
        if self._queued.pop(queued.number, None) != queued:
            raise InputError(
                f"packet {queued.number} is not in the switch: dequeue each return value of "
                "enqueue() once"
            )
        packet = queued.packet
        self._ports[packet.egress].lengths_bytes[queued.queue] -= packet.length_bytes
        if not queued.sampled:
            return ()
        entry = self._flow_table[packet.egress][queued.entry]
        entry.size -= 1
        entry.touched_ns = max(entry.touched_ns, time_ns)
        return self._count(packet, -1) if queued.counted else ()

    def receive(self, message: Signal | Bitmap) -> None:
        """Pause or resume queues on a message from the neighbour behind an egress port.

        Queues that do not exist, and the queue of pause and resume packets, are ignored.

        Raises
        ------
        InputError
            If the switch has no such port.
        """
        self._check_port("port", message.port)
        port = self._ports[message.port]
        if isinstance(message, Bitmap):
            port.paused = {queue for queue in message.queues if self._is_data_queue(queue)}
        elif not self._is_data_queue(message.queue):
            return
        elif message.kind == "pause":
            port.paused.add(message.queue)
        else:
            port.paused.discard(message.queue)

    def refresh(self, port: int) -> Bitmap:
        """Return the periodic bitmap, which repairs lost pauses and resumes.

        It contains the state of every queue of the neighbour behind ingress port `port`.
        """
        self._check_port("port", port)
        counters = self._pause_counter[port]
        return Bitmap(port, frozenset(queue for queue, count in enumerate(counters) if count))

    def paused(self, port: int) -> frozenset[int]:
        """Return the queues of an egress port that its neighbour has paused."""
        self._check_port("port", port)
        return frozenset(self._ports[port].paused)

    def queue_bytes(self, port: int, queue: int) -> int:
        """Return the length of a data queue in bytes."""
        self._check_port("port", port)
        validation.whole("queue", queue, Range(0, self.settings.data_queues - 1), example=0)
        return self._ports[port].lengths_bytes[queue]

    def pause_count(self, port: int, upstream_queue: int) -> int:
        """Return the pause counter of an upstream queue behind an ingress port."""
        self._check_port("port", port)
        allowed = Range(0, self.settings.upstream_queues - 1)
        validation.whole("upstream_queue", upstream_queue, allowed, example=0)
        return self._pause_counter[port][upstream_queue]

    def active(self, port: int) -> int:
        """Return N_active, the queues of an egress port that hold packets and are not paused."""
        self._check_port("port", port)
        state = self._ports[port]
        return sum(
            length > 0 and queue not in state.paused
            for queue, length in enumerate(state.lengths_bytes)
        )

    def threshold_bytes(self, port: int) -> int:
        """Return the current pause threshold of the queues of an egress port."""
        return pause_threshold_bytes(
            self.settings.hrtt_ns, self.settings.speeds_mbps[port], self.active(port)
        )

    def packets(self) -> int:
        """Return the number of packets in the switch."""
        return len(self._queued)

    def _assign(self, egress: int, index: int, draw: int, time_ns: int) -> int:
        entry, port = self._flow_table[egress][index], self._ports[egress]
        expired = entry.size == 0 and time_ns - entry.touched_ns > self.settings.sticky_ns
        if entry.queue is None or expired:
            queues = self.settings.data_queues
            rotated = [(port.turn + i) % queues for i in range(queues)]
            skipped = port.paused if self.settings.skip_paused else ()
            empty = [q for q in rotated if port.lengths_bytes[q] == 0 and q not in skipped]
            if empty:
                entry.queue = empty[0]
                port.turn = (entry.queue + 1) % queues
            else:
                entry.queue = draw * queues >> 16
        entry.touched_ns = max(entry.touched_ns, time_ns)
        return entry.queue

    def _is_backpressured(self, packet: Packet, queue: int) -> bool:
        """Return whether this packet, which has joined `queue`, pauses its upstream queue."""
        named = packet.upstream_queue
        if named is None or not 0 <= named < self.settings.upstream_queues:
            return False
        if (packet.ingress, packet.egress) in self.settings.no_backpressure:
            return False
        length = self._ports[packet.egress].lengths_bytes[queue]
        return length > self.threshold_bytes(packet.egress)

    def _count(self, packet: Packet, step: Literal[-1, 1]) -> tuple[Signal, ...]:
        """Update the pause counter and return the message to the upstream neighbour, if any."""
        queue = packet.upstream_queue
        assert queue is not None  # checked by _is_backpressured()
        counters = self._pause_counter[packet.ingress]
        counters[queue] += step
        if step == 1 and counters[queue] == 1:
            return (Signal("pause", packet.ingress, queue),)
        if step == -1 and counters[queue] == 0:
            return (Signal("resume", packet.ingress, queue),)
        return ()

    def _is_data_queue(self, queue: int) -> bool:
        return 0 <= queue < self.settings.data_queues

    def _check_port(self, name: str, port: int) -> None:
        last = len(self.settings.speeds_mbps) - 1
        validation.whole(name, port, Range(0, last), example=0)
