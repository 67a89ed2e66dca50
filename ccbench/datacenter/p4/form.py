# SPDX-License-Identifier: Apache-2.0
"""The P4 program as a form of the switch: test vectors become packets, packets become answers."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Protocol

from ccbench.base.errors import CcbenchError, InputError
from ccbench.datacenter.p4.interpreter import Machine, Sent, Waiting
from ccbench.datacenter.packet import NOT_IP
from ccbench.datacenter.switch import Bitmap, Packet, Settings, Signal, pause_threshold_bytes
from ccbench.datacenter.vectors import Answer, Departure, Refresh

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.datacenter.p4.program import Program

__all__ = [
    "DRIVER_PORT",
    "HOLDING_PORT",
    "RECIRCULATION_DEPTH",
    "RECIRCULATION_PORT",
    "RECIRCULATION_SESSION",
    "Interpreted",
    "TableEntry",
    "configure",
    "data_packet",
    "message_packet",
    "pause_counter_place",
    "queue_named",
    "queues_of",
    "read_driver_message",
    "read_message",
    "refresh_packet",
    "table_entries",
]

#: Where the driver hears of pauses: the twin of the constant in ``p4/v1model/sizes.p4``.
DRIVER_PORT = 510
#: Where it gets packets to hold, as there.
HOLDING_PORT = 508
#: The mirroring session of the headers that go back to ingress, as there.
RECIRCULATION_SESSION = 1
#: Its egress port, from which nothing leaves.
RECIRCULATION_PORT = 509
#: How many headers wait there at most: those of all packets in 8 queues of 16 ports, 64 in each,
#: which is BMv2's default for any queue.
RECIRCULATION_DEPTH = 16 * 8 * 64

_CONTROL_QUEUE = 7
_NO_QUEUE = 0xFF
_ETHERTYPE_BFC, _ETHERTYPE_IPV4, _ETHERTYPE_ARP = 0x88B5, 0x0800, 0x0806
_TCP, _UDP = 6, 17
#: The first byte of an IPv4 header without and with 4 bytes of options.
_BARE, _WITH_OPTIONS = 0x45, 0x46
#: Flags and fragment offset.
_MORE_FRAGMENTS, _AT_1480_BYTES = 0x2000, 1480 // 8
_DATA, _PAUSE, _RESUME, _BITMAP, _REFRESH = range(5)
_ETHERNET = struct.Struct("!6s6sH")
_BFC = struct.Struct("!BBHH")
_SOURCE_MAC = bytes.fromhex("02000000ff00")
_NEIGHBOUR_MAC = bytes.fromhex("0180c2000001")
#: What the program's registers hold at most: the twins of ``p4/v1model/sizes.p4``.
_MOST_PORTS, _MOST_QUEUES, _MOST_UPSTREAM_QUEUES, _MOST_ENTRIES = 16, 8, 32, 800


#: A table's name, the key (None: its default), the action's name and what is handed to it.
TableEntry = tuple[str, tuple[int, ...] | None, str, tuple[int, ...]]


class Interpreted:
    """The compiled program in the interpreter, as a :class:`~ccbench.datacenter.vectors.Form`.

    Packets of flows wait in the queue that the program has put them in, until the vector lets them
    leave; all others go on at once, as the queue of highest priority does.

    Parameters
    ----------
    program : Program
        The compiled ``bfc.p4``.
    settings : Settings
        What the switch is configured with.

    Attributes
    ----------
    sent : list of Sent
        All that has left the switch.

    Raises
    ------
    InputError
        If the settings exceed what the program is compiled for.
    """

    def __init__(self, program: Program, settings: Settings) -> None:
        self.machine = Machine(program, {RECIRCULATION_SESSION: RECIRCULATION_PORT})
        configure(self.machine, settings)
        self.sent: list[Sent] = []
        self._held: list[Waiting] = []

    def answer(self, at_ns: int, happens: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Let it happen and say what the program made of it."""
        time_us = at_ns // 1000
        if isinstance(happens, Packet):
            waiting = self.machine.ingress(data_packet(happens), happens.ingress, time_us)
            sent, (held,) = self._settle(waiting, time_us)
            self._held.append(held)
            sampled = bool(self.machine.value(held, "sampled"))
            return Answer(queue=held.priority, sampled=sampled, signals=_signals(sent))
        if isinstance(happens, Departure):
            leaving = self._held[happens.packet]
            left, waiting = self.machine.egress(leaving, time_us)
            _check_named(left, leaving)
            self.sent += left
            sent, _ = self._settle(waiting, time_us)
            return Answer(signals=_signals(sent))
        if isinstance(happens, Refresh):
            waiting = self.machine.ingress(refresh_packet(happens.port), DRIVER_PORT, time_us)
            sent, _ = self._settle(waiting, time_us)
            (told,) = (read_message(packet) for packet in sent)
            return Answer(bitmap=told.queues if isinstance(told, Bitmap) else None)
        waiting = self.machine.ingress(message_packet(happens), happens.port, time_us)
        sent, _ = self._settle(waiting, time_us)
        if [packet.port for packet in sent] != [DRIVER_PORT]:
            raise CcbenchError(f"{happens} did not reach the driver: {sent}")
        return Answer(paused=queues_of(self.machine.read("paused", happens.port)))

    def _settle(self, waiting: list[Waiting], time_us: int) -> tuple[list[Sent], list[Waiting]]:
        """Let everything go on that does not wait in a flow's queue."""
        sent: list[Sent] = []
        held: list[Waiting] = []
        waiting = list(waiting)
        while waiting:
            first = waiting.pop(0)
            passing = first.is_copy or first.port == DRIVER_PORT
            if passing or first.priority == _CONTROL_QUEUE:
                left, following = self.machine.egress(first, time_us)
                sent += left
                waiting += following
            else:
                held.append(first)
        self.sent += sent
        return sent, held


class _Tables(Protocol):
    """What can be configured: the interpreter, or a switch."""

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Put an entry into a table."""

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set what a table does with packets that match no entry."""

    def write(self, register: str, index: int, value: int) -> None:
        """Set a cell of a register."""


def configure(switch: _Tables, settings: Settings) -> None:
    """Write a switch's tables, and the seed.

    Raises
    ------
    InputError
        If the settings exceed what the program is compiled for.
    """
    for table, key, action, data in table_entries(settings):
        if key is None:
            switch.set_default(table, action, data)
        else:
            switch.insert(table, key, action, data)
    switch.write("random_state", 0, settings.seed)


def pause_counter_place(ingress_port: int, upstream_queue: int) -> int:
    """Return where in the register ``pause_counter`` an upstream queue is counted."""
    return ingress_port * _MOST_UPSTREAM_QUEUES + upstream_queue


def table_entries(settings: Settings) -> Iterator[TableEntry]:
    """Return what the control plane writes into the program's tables.

    Raises
    ------
    InputError
        If the settings exceed what the program is compiled for.
    """
    for name, value, most in (
        ("number of ports", len(settings.speeds_mbps), _MOST_PORTS),
        ("queues", settings.queues, _MOST_QUEUES),
        ("upstream_queues", settings.upstream_queues, _MOST_UPSTREAM_QUEUES),
        ("flow_entries", settings.flow_entries, _MOST_ENTRIES),
    ):
        if value > most:
            raise InputError(
                f"{name} is {value}; bfc.p4 for BMv2 is compiled for at most {most}: make it "
                "smaller, or p4/v1model/sizes.p4 larger"
            )
    configured = (
        settings.data_queues,
        settings.upstream_queues,
        settings.flow_entries,
        settings.sticky_ns // 1000,
        settings.sampled,
        int(settings.skip_paused),
    )
    yield "settings", None, "configure", configured
    for port, speed in enumerate(settings.speeds_mbps):
        yield "forward", (int.from_bytes(_mac(port), "big"),), "to_port", (port, port)
        for active in range(settings.queues):
            threshold = pause_threshold_bytes(settings.hrtt_ns, speed, active)
            yield "pause_threshold", (port, active), "set_threshold", (min(threshold, 2**32 - 1),)
    for ingress, egress in sorted(settings.no_backpressure):
        yield "backpressure_allowed", (ingress, egress), "deny", ()


def data_packet(packet: Packet) -> bytes:
    """Return a packet of a flow as it is on the wire, `length_bytes` long from Ethernet on.

    Raises
    ------
    InputError
        If it is too short for its headers, or its flow has ports that it has no place for.
    """
    ethertype, inner = _network_packet(packet)
    if packet.upstream_queue is None and not packet.incast:
        data = _ETHERNET.pack(_mac(packet.egress), _SOURCE_MAC, ethertype) + inner
    else:
        queue = _NO_QUEUE if packet.upstream_queue is None else packet.upstream_queue
        kind = packet.incast << 4 | _DATA
        data = _ETHERNET.pack(_mac(packet.egress), _SOURCE_MAC, _ETHERTYPE_BFC)
        data += _BFC.pack(kind, queue, 0, ethertype) + inner
    if len(data) > packet.length_bytes:
        raise InputError(
            f"length_bytes is {packet.length_bytes}, but the headers are {len(data)}: make it more"
        )
    return data + bytes(packet.length_bytes - len(data))


def _network_packet(packet: Packet) -> tuple[int, bytes]:
    """Return the EtherType of a packet of a flow, and its network and transport headers."""
    flow, shape = packet.flow, packet.shape
    # Where a switch that reads ports without looking finds them: other bytes in other packets.
    no_ports = zlib.crc32(repr(packet).encode()).to_bytes(4, "big")
    if flow == NOT_IP:
        return _ETHERTYPE_ARP, bytes(20) + no_ports + bytes(4)
    ports = struct.pack("!HH", flow.source_port, flow.destination_port)
    if flow.protocol not in (_TCP, _UDP) or shape != "whole":
        if any(ports):
            raise InputError(
                f"the flow has ports {flow.source_port} and {flow.destination_port}, but a packet "
                f"of protocol {flow.protocol}, {shape}, has none to a switch: make them 0"
            )
        ports = no_ports
    first = _WITH_OPTIONS if shape == "with options" else _BARE
    fragment = {"first fragment": _MORE_FRAGMENTS, "fragment": _AT_1480_BYTES}.get(shape, 0)
    ip = struct.pack(
        "!BBHHHBBHII", first, 0, 28, 0, fragment, 64, flow.protocol, 0, flow.source,
        flow.destination,
    )  # fmt: skip
    return _ETHERTYPE_IPV4, ip + ports + struct.pack("!HH", 8, 0)


def message_packet(message: Signal | Bitmap) -> bytes:
    """Return a neighbour's pause, resume or bitmap as it is on the wire."""
    ethernet = _ETHERNET.pack(_NEIGHBOUR_MAC, _SOURCE_MAC, _ETHERTYPE_BFC)
    if isinstance(message, Signal):
        kind = _PAUSE if message.kind == "pause" else _RESUME
        return (ethernet + _BFC.pack(kind, message.queue, 0, 0)).ljust(64, b"\0")
    bits = sum(1 << queue for queue in message.queues)
    return (ethernet + _BFC.pack(_BITMAP, 0, 0, 0) + bits.to_bytes(4, "big")).ljust(64, b"\0")


def refresh_packet(port: int) -> bytes:
    """Return the driver's call for the bitmap of a port."""
    ethernet = _ETHERNET.pack(_NEIGHBOUR_MAC, _SOURCE_MAC, _ETHERTYPE_BFC)
    return (ethernet + _BFC.pack(_REFRESH, 0, port, 0)).ljust(64, b"\0")


def read_message(packet: Sent) -> Signal | Bitmap | None:
    """Return the pause, resume or bitmap that a packet is; None for others.

    Examples
    --------
    >>> read_message(Sent(3, message_packet(Signal("pause", 0, 5))))
    Signal(kind='pause', port=3, queue=5)
    """
    ethertype = int.from_bytes(packet.data[12:14], "big")
    if ethertype != _ETHERTYPE_BFC:
        return None
    kind, queue, _, _ = _BFC.unpack_from(packet.data, _ETHERNET.size)
    if kind == _BITMAP:
        (bits,) = struct.unpack_from("!I", packet.data, _ETHERNET.size + _BFC.size)
        return Bitmap(packet.port, queues_of(bits))
    if kind in (_PAUSE, _RESUME):
        return Signal("pause" if kind == _PAUSE else "resume", packet.port, queue)
    return None


def read_driver_message(data: bytes) -> Signal | Bitmap:
    """Return the pause, resume or bitmap that the switch hands to its driver.

    Raises
    ------
    CcbenchError
        If it is none.

    Examples
    --------
    >>> told = bytearray(message_packet(Signal("pause", 0, 5)))
    >>> told[17] = 2  # the port that it came in by
    >>> read_driver_message(bytes(told))
    Signal(kind='pause', port=2, queue=5)
    """
    _, _, port, _ = _BFC.unpack_from(data, _ETHERNET.size)
    message = read_message(Sent(port, data))
    if message is None:
        raise CcbenchError(f"the driver got {data.hex()}, no message: a fault of the program")
    return message


def queue_named(packet: Sent) -> int:
    """Return the queue that a data packet says it has left."""
    _, queue, _, _ = _BFC.unpack_from(packet.data, _ETHERNET.size)
    return int(queue)


def _check_named(left: list[Sent], leaving: Waiting) -> None:
    """Make sure that a packet names the queue that it has left."""
    (packet,) = left
    _, queue, _, following = _BFC.unpack_from(packet.data, _ETHERNET.size)
    if (packet.port, queue) != (leaving.port, leaving.priority) or following not in (
        _ETHERTYPE_IPV4,
        _ETHERTYPE_ARP,
    ):
        raise CcbenchError(
            f"the packet that left queue {leaving.priority} of port {leaving.port} says queue "
            f"{queue} at port {packet.port}: a fault of the program"
        )


def _signals(sent: list[Sent]) -> tuple[Signal, ...]:
    read = (read_message(packet) for packet in sent)
    return tuple(message for message in read if isinstance(message, Signal))


def queues_of(bits: int) -> frozenset[int]:
    """Return the queues of which a bitmap has the bits."""
    return frozenset(queue for queue in range(bits.bit_length()) if bits >> queue & 1)


def _mac(port: int) -> bytes:
    return bytes.fromhex("020000000000")[:5] + bytes([port])
