# SPDX-License-Identifier: Apache-2.0
"""What comes to a BFC switch, waits in it, and passes between it and its neighbours."""

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
    """The five numbers that name a flow: its FID.

    Parameters
    ----------
    source, destination : int
        IPv4 addresses as 32-bit numbers.
    source_port, destination_port : int
        Ports of the transport protocol.
    protocol : int
        Its number; the default is UDP's.

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
        """Return the place of this flow in a table of so many entries: its CRC-32 modulo them.

        The bytes are those of the packet: addresses, protocol, ports, each in network order.
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

#: What an IPv4 packet looks like; the ports of a TCP or UDP packet are read from whole ones only.
Shape = Literal["whole", "first fragment", "fragment", "with options"]


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A data packet as it arrives, its egress port already known from routing.

    Parameters
    ----------
    flow : Flow
        Which flow it belongs to.
    ingress, egress : int
        Ports at which it arrives and must leave.
    length_bytes : int
        Its length, 1 to 65,535, as queues count it.
    upstream_queue : int, optional
        The queue that it left at the upstream neighbour; None if it does not say.
    incast : bool
        Whether the sender has labelled it as part of an incast.
    shape : str
        "whole", "first fragment", "fragment" or "with options"; of all but the first the flow has
        ports 0.
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
    """One pause or resume: of `queue` at the neighbour behind `port`."""

    kind: Literal["pause", "resume"]
    port: int
    queue: int


@dataclass(frozen=True)
class Bitmap:
    """All queues that are to be paused at the neighbour behind `port`; all others are to run."""

    port: int
    queues: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Queued:
    """A packet within the switch, and what it carries through it.

    Attributes
    ----------
    number : int
        The how-manyth packet of this switch it is, from 0 on.
    packet : Packet
        As it arrived.
    queue : int
        The queue of its egress port that it waits in. This is what it says as `upstream_queue` when
        it arrives at the next switch.
    entry : int
        Its place in the flow table.
    counted : bool
        Whether it is in the pause counter (``counterIncr`` of the pseudocode).
    sampled : bool
        Whether its header is recirculated when it leaves.
    signals : tuple of Signal
        The pause that it caused, if any.
    """

    number: int
    packet: Packet
    queue: int
    entry: int
    counted: bool
    sampled: bool
    signals: tuple[Signal, ...] = ()
