# SPDX-License-Identifier: Apache-2.0
"""The P4 program with a driver as its traffic manager, which does what v1model cannot.

The driver receives each packet after ingress, holds it, and returns it when it may leave; it also
sets the clock. The program can thus be run step by step on a switch that has queues and a clock of
its own.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ccbench.base.errors import CcbenchError
from ccbench.datacenter.p4.implementation import (
    DRIVER_PORT,
    HOLDING_PORT,
    ConfigurableTables,
    Interpreted,
    configure,
    data_packet,
    message_packet,
    pause_counter_place,
    queue_named,
    queues_of,
    read_message,
    refresh_packet,
)
from ccbench.datacenter.switch import Bitmap, Packet, Settings, Signal
from ccbench.datacenter.vectors import Answer, Departure, Refresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.datacenter.p4.interpreter import Sent

__all__ = ["Board", "Driven", "Held", "Twins"]

#: Timeout of the switch in seconds.
_PATIENCE_S = 10.0

_HELD = struct.Struct("!HBBHHIB")


class Board(ConfigurableTables, Protocol):
    """The driver's interface to a switch that runs the program: tables, registers and wires.

    Tables, actions and registers are named by the last part of their full names.
    """

    def read(self, register: str, index: int) -> int:
        """Return the value of a register cell."""

    def send(self, port: int, data: bytes) -> None:
        """Inject a packet at a port."""

    def listen(self) -> list[Sent]:
        """Return the packets sent since the last call, after a short wait if there are none."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """A packet held by the driver.

    Attributes
    ----------
    port, queue : int
        Egress port and queue.
    upstream_queue : int
        Queue at the upstream neighbour.
    ingress_port : int
        Port of arrival.
    length : int
        Contribution to the length of its queue, in bytes.
    entry : int
        Index in the flow table.
    sampled, counted : bool
        Whether its header will be recirculated; whether it is in the pause counter.
    data : bytes
        The packet with all of the above, as it must be returned to the switch.
    """

    port: int
    queue: int
    upstream_queue: int
    ingress_port: int
    length: int
    entry: int
    sampled: bool
    counted: bool
    data: bytes

    @classmethod
    def read(cls, data: bytes) -> Held:
        """Parse a packet that the switch sent to the driver's holding port."""
        port, queue, upstream_queue, ingress_port, length, entry, flags = _HELD.unpack_from(data)
        return cls(
            port=port,
            queue=queue,
            upstream_queue=upstream_queue,
            ingress_port=ingress_port,
            length=length,
            entry=entry,
            sampled=bool(flags & 2),
            counted=bool(flags & 1),
            data=data,
        )


class Driven:
    """The program on a switch with the driver as traffic manager, as an implementation.

    Parameters
    ----------
    board : Board
        The switch, just started.
    settings : Settings
        The switch's configuration.

    Attributes
    ----------
    heard : list of Sent
        Packets that the switch sent in the last step, except packets to hold.

    Raises
    ------
    InputError
        If the settings exceed the limits of the compiled program.
    """

    def __init__(self, board: Board, settings: Settings) -> None:
        configure(board, settings)
        for port in range(len(settings.speeds_mbps)):
            board.insert("held_by_driver", (port,), "hold")
        self.heard: list[Sent] = []
        self._board = board
        self._time_us = -1
        self._held: list[Held] = []

    def answer(self, at_ns: int, event: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Process an event and return the program's answer.

        Raises
        ------
        CcbenchError
            If the switch does not answer.
        """
        self.heard = []
        if at_ns // 1000 != self._time_us:
            self._time_us = at_ns // 1000
            self._board.set_default("clock", "stopped", (self._time_us,))
        if isinstance(event, Packet):
            return self._enqueue(event)
        if isinstance(event, Departure):
            return self._dequeue(self._held[event.packet])
        if isinstance(event, Refresh):
            self._board.send(DRIVER_PORT, refresh_packet(event.port))
            message = read_message(self._next("bitmap", lambda sent: sent.port == event.port))
            return Answer(bitmap=message.queues if isinstance(message, Bitmap) else None)
        self._board.send(event.port, message_packet(event))
        self._next("message to the driver", lambda sent: sent.port == DRIVER_PORT)
        return Answer(paused=queues_of(self._board.read("paused", event.port)))

    def _enqueue(self, packet: Packet) -> Answer:
        self._board.send(packet.ingress, data_packet(packet))
        sent = self._next("packet to hold", lambda sent: sent.port == HOLDING_PORT)
        self.heard.remove(sent)
        held = Held.read(sent.data)
        self._held.append(held)
        if held.counted and self._pause_count(held) == 1:
            self._next("pause", lambda sent: read_message(sent) is not None)
        return Answer(queue=held.queue, sampled=held.sampled, signals=self._signals())

    def _dequeue(self, held: Held) -> Answer:
        size = self._board.read("flow_size", held.entry)
        count = self._pause_count(held) if held.counted else 0
        self._board.send(HOLDING_PORT, held.data)
        left = self._next(
            "packet", lambda sent: sent.port == held.port and read_message(sent) is None
        )
        if queue_named(left) != held.queue:
            raise CcbenchError(
                f"the packet that left queue {held.queue} of port {held.port} names queue "
                f"{queue_named(left)}: a bug in the program"
            )
        if held.sampled:
            self._wait(
                "count a packet out",
                lambda: self._board.read("flow_size", held.entry) == size - 1,
            )
        if held.counted:
            self._wait("count a pause out", lambda: self._pause_count(held) == count - 1)
            if count == 1:
                self._next("resume", lambda sent: read_message(sent) is not None)
        return Answer(signals=self._signals())

    def _pause_count(self, held: Held) -> int:
        place = pause_counter_place(held.ingress_port, held.upstream_queue)
        return self._board.read("pause_counter", place)

    def _next(self, action: str, is_wanted: Callable[[Sent], bool]) -> Sent:
        """Wait for a packet that satisfies `is_wanted`."""
        matching: list[Sent] = []

        def has_come() -> bool:
            self.heard += self._board.listen()
            matching[:] = [sent for sent in self.heard if is_wanted(sent)]
            return bool(matching)

        self._wait(f"send a {action}", has_come)
        return matching[0]

    def _wait(self, action: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > deadline:
                raise CcbenchError(
                    f"the switch did not {action} within {_PATIENCE_S:g} s; it sent {self.heard}"
                )

    def _signals(self) -> tuple[Signal, ...]:
        read = (read_message(sent) for sent in self.heard if sent.port != DRIVER_PORT)
        return tuple(message for message in read if isinstance(message, Signal))


class Twins:
    """A switch and the interpreter in parallel, which must send the same bytes at every step.

    Parameters
    ----------
    driven : Driven
        The program on a switch.
    interpreted : Interpreted
        The program in the interpreter.
    """

    def __init__(self, driven: Driven, interpreted: Interpreted) -> None:
        self._driven = driven
        self._interpreted = interpreted

    def answer(self, at_ns: int, event: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Process an event on both and return the switch's answer.

        Raises
        ------
        CcbenchError
            If their output differs.
        """
        before = len(self._interpreted.sent)
        self._interpreted.answer(at_ns, event)
        answer = self._driven.answer(at_ns, event)
        sent, expected = (
            sorted((packet.port, packet.data.hex()) for packet in packets)
            for packets in (self._driven.heard, self._interpreted.sent[before:])
        )
        if sent != expected:
            raise CcbenchError(
                f"at {at_ns} ns, {event}: the switch sent {sent}, the interpreter {expected}"
            )
        return answer
