# SPDX-License-Identifier: Apache-2.0
"""Packets and flows of a BFC switch, and the messages between switches."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from ccbench.base import validation
from ccbench.base.validation import Range

__all__ = ["NOT_IP", "Bitmap", "Flow", "Packet", "Queued", "Shape", "Signal"]

_ADDRESS = Range(0, 2**32 - 1)
_L4_PORT = Range(0, 2**16 - 1)
_PROTOCOL = Range(0, 255)


@dataclass(frozen=True)
class Flow:
    """The 5-tuple that identifies a flow (its FID).

    Parameters
    ----------
    source, destination : int
        IPv4 addresses as 32-bit numbers.
    source_port, destination_port : int
        Ports of the transport protocol.
    protocol : int
        Protocol number; the default is UDP.

    Notes
    -----
    Fields that packets of the flow do not have are 0: the ports of fragments and of protocols
    without ports, and all five fields of packets that are not IPv4 (:data:`NOT_IP`).

    Raises
    ------
    InputError
        If a number does not fit its field in the packet.

    Examples
    --------
    >>> Flow(0x0A000001, 0x0A000002, 1000, 2000).entry(3200)
    3160
    """

    source: int
    destination: int
    source_port: int
    destination_port: int
    protocol: int = 17

    def __post_init__(self) -> None:
        for name, allowed in (
            ("source", _ADDRESS),
            ("destination", _ADDRESS),
            ("source_port", _L4_PORT),
            ("destination_port", _L4_PORT),
            ("protocol", _PROTOCOL),
        ):
            validation.whole(name, getattr(self, name), allowed, example=1)

    def entry(self, entries: int) -> int:
        """Return the flow's index in a table of `entries` entries: its CRC-32 modulo `entries`.

        The CRC covers addresses, protocol and ports, in this order and in network byte order.
        """
        packed = (
            self.source.to_bytes(4, "big")
            + self.destination.to_bytes(4, "big")
            + self.protocol.to_bytes(1, "big")
            + self.source_port.to_bytes(2, "big")
            + self.destination_port.to_bytes(2, "big")
        )
        return zlib.crc32(packed) % entries


#: The flow of all packets that are not IPv4.
NOT_IP = Flow(0, 0, 0, 0, 0)

#: Shapes of an IPv4 packet; TCP and UDP ports are read from whole packets only.
Shape = Literal["whole", "first fragment", "fragment", "with options"]


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A data packet on arrival; routing has already determined its egress port.

    Parameters
    ----------
    flow : Flow
        The flow of the packet.
    ingress, egress : int
        Ports of arrival and departure.
    length_bytes : int
        Length as queues count it, 1 to 65,535.
    upstream_queue : int, optional
        The queue that the packet left at the upstream neighbour; None if it does not name one.
    incast : bool
        Whether the sender labelled it as incast.
    shape : str
        "whole", "first fragment", "fragment" or "with options"; with all but the first, the flow's
        ports are 0.
    """

    flow: Flow
    ingress: int
    egress: int
    length_bytes: int = 1000
    upstream_queue: int | None = None
    incast: bool = False
    shape: Shape = "whole"


@dataclass(frozen=True)
class Signal:
    """A pause or resume of `queue` at the neighbour behind `port`."""

    kind: Literal["pause", "resume"]
    port: int
    queue: int


@dataclass(frozen=True)
class Bitmap:
    """The set of queues to pause at the neighbour behind `port`; all others resume."""

    port: int
    queues: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Queued:
    """A packet within the switch, with its metadata.

    Attributes
    ----------
    number : int
        Index in order of arrival at this switch, from 0.
    packet : Packet
        The packet as it arrived.
    queue : int
        Its queue at the egress port; the packet carries it as `upstream_queue` to the next switch.
    entry : int
        Its index in the flow table.
    counted : bool
        Whether it is in the pause counter (``counterIncr`` of the pseudocode).
    sampled : bool
        Whether its header is recirculated on departure.
    signals : tuple of Signal
        The pause that it triggered, if any.
    """

    number: int
    packet: Packet
    queue: int
    entry: int
    counted: bool
    sampled: bool
    signals: tuple[Signal, ...] = ()
