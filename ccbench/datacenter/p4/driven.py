# SPDX-License-Identifier: Apache-2.0
"""The P4 program with a driver that is its traffic manager: what v1model cannot do is done here.

The driver gets each packet that has been counted in, keeps it, and gives it back when it may leave;
it also sets the clock. So the program can be run step by step on a switch that has queues and a
clock of its own.
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ccbench.base.errors import CcbenchError
from ccbench.datacenter.p4.form import (
    DRIVER_PORT,
    HOLDING_PORT,
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
    from collections.abc import Callable, Sequence

    from ccbench.datacenter.p4.interpreter import Sent

__all__ = ["Board", "Driven", "Held", "Twins"]

#: For how long the switch may think.
_PATIENCE_S = 10.0

_HELD = struct.Struct("!HBBHHIB")


class Board(Protocol):
    """A switch that runs the program, as its driver knows it: tables, registers and wires.

    Names of tables, actions and registers are the last parts of the full ones.
    """

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Put an entry into a table."""

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set what a table does with packets that match no entry."""

    def read(self, register: str, index: int) -> int:
        """Return a cell of a register."""

    def write(self, register: str, index: int, value: int) -> None:
        """Set a cell of a register."""

    def send(self, port: int, data: bytes) -> None:
        """Let a packet arrive at a port."""

    def listen(self) -> list[Sent]:
        """Return what the switch has sent since the last call; wait for it a moment at most."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """A packet that waits at the driver.

    Attributes
    ----------
    port, queue : int
        Where it is to leave.
    upstream_queue : int
        Which queue it came from.
    ingress_port : int
        Where it arrived.
    length : int
        What it adds to its queue, in bytes.
    entry : int
        Its place in the flow table.
    sampled, counted : bool
        Whether its header will be recirculated; whether it is in the pause counter.
    data : bytes
        All of this and the packet: what to give back to the switch.
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
        """Read what the switch sends to the driver's holding port."""
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
    """The program on a switch, with the driver for traffic manager, as a form of the switch.

    Parameters
    ----------
    board : Board
        The switch, just started.
    settings : Settings
        What it is configured with.

    Attributes
    ----------
    heard : list of Sent
        What the switch has sent in the last step, but for packets to be held.

    Raises
    ------
    InputError
        If the settings exceed what the program is compiled for.
    """

    def __init__(self, board: Board, settings: Settings) -> None:
        configure(board, settings)
        for port in range(len(settings.speeds_mbps)):
            board.insert("held_by_driver", (port,), "hold")
        self.heard: list[Sent] = []
        self._board = board
        self._time_us = -1
        self._held: list[Held] = []

    def answer(self, at_ns: int, happens: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Let it happen and say what the program made of it.

        Raises
        ------
        CcbenchError
            If the switch does not answer.
        """
        self.heard = []
        if at_ns // 1000 != self._time_us:
            self._time_us = at_ns // 1000
            self._board.set_default("clock", "stopped", (self._time_us,))
        if isinstance(happens, Packet):
            return self._enqueue(happens)
        if isinstance(happens, Departure):
            return self._dequeue(self._held[happens.packet])
        if isinstance(happens, Refresh):
            self._board.send(DRIVER_PORT, refresh_packet(happens.port))
            told = read_message(self._next("bitmap", lambda sent: sent.port == happens.port))
            return Answer(bitmap=told.queues if isinstance(told, Bitmap) else None)
        self._board.send(happens.port, message_packet(happens))
        self._next("word to the driver", lambda sent: sent.port == DRIVER_PORT)
        return Answer(paused=queues_of(self._board.read("paused", happens.port)))

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
                f"the packet that left queue {held.queue} of port {held.port} says queue "
                f"{queue_named(left)}: a fault of the program"
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

    def _next(self, what: str, wanted: Callable[[Sent], bool]) -> Sent:
        """Listen until the switch has sent such a packet."""
        found: list[Sent] = []

        def has_come() -> bool:
            self.heard += self._board.listen()
            found[:] = [sent for sent in self.heard if wanted(sent)]
            return bool(found)

        self._wait(f"send a {what}", has_come)
        return found[0]

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > deadline:
                raise CcbenchError(
                    f"the switch does not {what} within {_PATIENCE_S:g} s; it has sent {self.heard}"
                )

    def _signals(self) -> tuple[Signal, ...]:
        read = (read_message(sent) for sent in self.heard if sent.port != DRIVER_PORT)
        return tuple(message for message in read if isinstance(message, Signal))


class Twins:
    """A switch and the interpreter, side by side: both must send the same bytes at every step.

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

    def answer(self, at_ns: int, happens: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Let it happen to both and return the switch's answer.

        Raises
        ------
        CcbenchError
            If they have not sent the same.
        """
        before = len(self._interpreted.sent)
        self._interpreted.answer(at_ns, happens)
        answer = self._driven.answer(at_ns, happens)
        sent, right = (
            sorted((packet.port, packet.data.hex()) for packet in packets)
            for packets in (self._driven.heard, self._interpreted.sent[before:])
        )
        if sent != right:
            raise CcbenchError(
                f"at {at_ns} ns, {happens}: the switch sends {sent}, the interpreter {right}"
            )
        return answer
