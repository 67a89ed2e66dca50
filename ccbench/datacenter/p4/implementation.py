# SPDX-License-Identifier: Apache-2.0
"""The P4 program as an implementation of the switch: conversion between events and packets."""

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
    "ConfigurableTables",
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

#: Port of messages to the driver; must equal the constant in ``p4/v1model/sizes.p4``.
DRIVER_PORT = 510
#: Port of packets for the driver to hold, likewise.
HOLDING_PORT = 508
#: Mirroring session of recirculated headers, likewise.
RECIRCULATION_SESSION = 1
#: Egress port of that session; no packet leaves it.
RECIRCULATION_PORT = 509
#: Maximum number of headers waiting there: those of 64 packets, BMv2's default queue depth, in each
#: of 8 queues of 16 ports.
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
#: Capacities of the program's registers; must equal the constants in ``p4/v1model/sizes.p4``.
_MOST_PORTS, _MOST_QUEUES, _MOST_UPSTREAM_QUEUES, _MOST_ENTRIES = 16, 8, 32, 800


#: A table's name, key (None: default action), action name and action data.
TableEntry = tuple[str, tuple[int, ...] | None, str, tuple[int, ...]]


class Interpreted:
    """The program in the interpreter, as a switch for test vectors.

    Data packets wait in the queue that the program selected until the vector lets them leave; all
    other packets continue immediately, as in the queue of highest priority.

    Parameters
    ----------
    program : Program
        The compiled ``bfc.p4``.
    settings : Settings
        The switch's configuration.

    Attributes
    ----------
    sent : list of Sent
        All packets that have left the switch.

    Raises
    ------
    InputError
        If the settings exceed the limits of the compiled program.
    """

    def __init__(self, program: Program, settings: Settings) -> None:
        self.machine = Machine(program, {RECIRCULATION_SESSION: RECIRCULATION_PORT})
        configure(self.machine, settings)
        self.sent: list[Sent] = []
        self._held: list[Waiting] = []

    def answer(self, at_ns: int, event: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Process an event and return the program's answer."""
        time_us = at_ns // 1000
        if isinstance(event, Packet):
            waiting = self.machine.ingress(data_packet(event), event.ingress, time_us)
            sent, (held,) = self._settle(waiting, time_us)
            self._held.append(held)
            sampled = bool(self.machine.value(held, "sampled"))
            return Answer(queue=held.priority, sampled=sampled, signals=_signals(sent))
        if isinstance(event, Departure):
            leaving = self._held[event.packet]
            left, waiting = self.machine.egress(leaving, time_us)
            _check_named(left, leaving)
            self.sent += left
            sent, _ = self._settle(waiting, time_us)
            return Answer(signals=_signals(sent))
        if isinstance(event, Refresh):
            waiting = self.machine.ingress(refresh_packet(event.port), DRIVER_PORT, time_us)
            sent, _ = self._settle(waiting, time_us)
            (message,) = (read_message(packet) for packet in sent)
            return Answer(bitmap=message.queues if isinstance(message, Bitmap) else None)
        waiting = self.machine.ingress(message_packet(event), event.port, time_us)
        sent, _ = self._settle(waiting, time_us)
        if [packet.port for packet in sent] != [DRIVER_PORT]:
            raise CcbenchError(f"{event} did not reach the driver: {sent}")
        return Answer(paused=queues_of(self.machine.read("paused", event.port)))

    def _settle(self, waiting: list[Waiting], time_us: int) -> tuple[list[Sent], list[Waiting]]:
        """Process all packets that do not wait in a flow's queue."""
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


class ConfigurableTables(Protocol):
    """The configurable part of an interpreter or a switch."""

    def insert(self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()) -> None:
        """Insert an entry into a table."""

    def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
        """Set the action of a table for packets that match no entry."""

    def write(self, register: str, index: int, value: int) -> None:
        """Set the value of a register cell."""


def configure(switch: ConfigurableTables, settings: Settings) -> None:
    """Write a switch's tables and its seed.

    Raises
    ------
    InputError
        If the settings exceed the limits of the compiled program.
    """
    for table, key, action, data in table_entries(settings):
        if key is None:
            switch.set_default(table, action, data)
        else:
            switch.insert(table, key, action, data)
    switch.write("random_state", 0, settings.seed)


def pause_counter_place(ingress_port: int, upstream_queue: int) -> int:
    """Return the index of an upstream queue in the register ``pause_counter``."""
    return ingress_port * _MOST_UPSTREAM_QUEUES + upstream_queue


def table_entries(settings: Settings) -> Iterator[TableEntry]:
    """Yield the control plane's entries of the program's tables.

    Raises
    ------
    InputError
        If the settings exceed the limits of the compiled program.
    """
    for name, value, limit in (
        ("number of ports", len(settings.speeds_mbps), _MOST_PORTS),
        ("queues", settings.queues, _MOST_QUEUES),
        ("upstream_queues", settings.upstream_queues, _MOST_UPSTREAM_QUEUES),
        ("flow_entries", settings.flow_entries, _MOST_ENTRIES),
    ):
        if value > limit:
            raise InputError(
                f"{name} is {value}; bfc.p4 for BMv2 is compiled for at most {limit}: choose a "
                "smaller value, or increase it in p4/v1model/sizes.p4"
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
    """Return a data packet as on the wire, `length_bytes` long including Ethernet.

    Raises
    ------
    InputError
        If it is too short for its headers, or its flow has ports that the packet cannot carry.
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
            f"length_bytes is {packet.length_bytes}, but the headers take {len(data)}: increase it"
        )
    return data + bytes(packet.length_bytes - len(data))


def _network_packet(packet: Packet) -> tuple[int, bytes]:
    """Return the EtherType of a data packet, and its network and transport headers."""
    flow, shape = packet.flow, packet.shape
    # Different bytes in each packet, to detect a switch that reads ports where there are none.
    no_ports = zlib.crc32(repr(packet).encode()).to_bytes(4, "big")
    if flow == NOT_IP:
        return _ETHERTYPE_ARP, bytes(20) + no_ports + bytes(4)
    ports = struct.pack("!HH", flow.source_port, flow.destination_port)
    if flow.protocol not in (_TCP, _UDP) or shape != "whole":
        if any(ports):
            raise InputError(
                f"the flow has ports {flow.source_port} and {flow.destination_port}, but a packet "
                f"of protocol {flow.protocol}, {shape}, has none: set them to 0"
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
    """Return the driver's request for the bitmap of a port."""
    ethernet = _ETHERNET.pack(_NEIGHBOUR_MAC, _SOURCE_MAC, _ETHERTYPE_BFC)
    return (ethernet + _BFC.pack(_REFRESH, 0, port, 0)).ljust(64, b"\0")


def read_message(packet: Sent) -> Signal | Bitmap | None:
    """Return the pause, resume or bitmap in a packet; None for other packets.

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
    """Return the pause, resume or bitmap in a packet for the driver.

    Raises
    ------
    CcbenchError
        If the packet contains no message.

    Examples
    --------
    >>> packet = bytearray(message_packet(Signal("pause", 0, 5)))
    >>> packet[17] = 2  # the ingress port
    >>> read_driver_message(bytes(packet))
    Signal(kind='pause', port=2, queue=5)
    """
    _, _, port, _ = _BFC.unpack_from(data, _ETHERNET.size)
    message = read_message(Sent(port, data))
    if message is None:
        raise CcbenchError(f"the driver received {data.hex()}, not a message: a bug in the program")
    return message


def queue_named(packet: Sent) -> int:
    """Return the queue named in a data packet."""
    _, queue, _, _ = _BFC.unpack_from(packet.data, _ETHERNET.size)
    return int(queue)


def _check_named(left: list[Sent], leaving: Waiting) -> None:
    """Check that a packet names the queue that it left."""
    (packet,) = left
    _, queue, _, following = _BFC.unpack_from(packet.data, _ETHERNET.size)
    if (packet.port, queue) != (leaving.port, leaving.priority) or following not in (
        _ETHERTYPE_IPV4,
        _ETHERTYPE_ARP,
    ):
        raise CcbenchError(
            f"the packet that left queue {leaving.priority} of port {leaving.port} names queue "
            f"{queue} at port {packet.port}: a bug in the program"
        )


def _signals(sent: list[Sent]) -> tuple[Signal, ...]:
    read = (read_message(packet) for packet in sent)
    return tuple(message for message in read if isinstance(message, Signal))


def queues_of(bits: int) -> frozenset[int]:
    """Return the queues in a bitmap."""
    return frozenset(queue for queue in range(bits.bit_length()) if bits >> queue & 1)


def _mac(port: int) -> bytes:
    return bytes.fromhex("020000000000")[:5] + bytes([port])
