# SPDX-License-Identifier: Apache-2.0
"""Packet captures in pcap and pcapng files.

Times have the resolution of the file, at most 1 ns. A truncated file, for example of a stopped
recorder, ends with its last complete packet.

References
----------
G. Harris and M. Richardson, "PCAP Capture File Format", draft-ietf-opsawg-pcap; M. Tuexen et al.,
"PCAP Now Generic (pcapng) Capture File Format", draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, NamedTuple

from ccbench.base import validation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ccbench.base.errors import InputError

__all__ = [
    "ETHERNET",
    "ETHERNET_BYTES",
    "DamagedError",
    "Frame",
    "IpHeader",
    "IpPacket",
    "pcap_frames",
    "read_capture",
    "truncated",
]

#: Minimum sizes of IP headers, and thus of packets, in bytes.
_IPV4_BYTES, _IPV6_BYTES = 20, 40
_IPV4, _IPV6 = 4, 6

#: Bytes read of each packet: enough for the link, IPv6 and TCP headers.
_READ_BYTES = 128

#: Latest valid time, in the year 2262.
_LATEST_NS = 2**63 - 1

#: Byte order and unit of time in nanoseconds, by the first four bytes of a pcap file.
_PCAP_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_PCAP_HEADER_BYTES = 24

_SECTION = b"\x0a\x0d\x0d\x0a"
_SECTION_KIND = int.from_bytes(_SECTION, "big")  # a palindrome, equal in both byte orders
_BYTE_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 1, 2, 3, 6
_SMALLEST_BLOCK = 12
#: Of each byte order: kind and size of a block, and the fields of a packet's block.
_BLOCKS = {order: struct.Struct(f"{order}II") for order in _BYTE_ORDERS.values()}
_PACKETS = {order: struct.Struct(f"{order}5I") for order in _BYTE_ORDERS.values()}
_RESOLUTION_OPTION, _OFFSET_OPTION = 9, 14
_BINARY = 0x80  # flag of a resolution: a power of 2 instead of 10

#: Link type of Ethernet, and size of its header in bytes.
ETHERNET, ETHERNET_BYTES = 1, 14
_NULL, _RAW, _COOKED, _LOOP, _IPV4_LINK, _IPV6_LINK, _COOKED_2 = 0, 101, 113, 108, 228, 229, 276
#: Size of the link header and offset of the protocol field in it, if present, in bytes.
_LINK_HEADERS: dict[int, tuple[int, int | None]] = {
    _NULL: (4, None),
    _LOOP: (4, None),
    ETHERNET: (ETHERNET_BYTES, 12),
    _RAW: (0, None),
    12: (0, None),  # raw IP on some systems
    14: (0, None),
    _IPV4_LINK: (0, None),
    _IPV6_LINK: (0, None),
    _COOKED: (16, 14),
    _COOKED_2: (20, 0),
}
_IP_PROTOCOLS = (b"\x08\x00", b"\x86\xdd")
_VLAN_TAGS = (b"\x81\x00", b"\x88\xa8")
_VLAN_TAG_BYTES = 4


class IpHeader(NamedTuple):
    """What the IP header of a packet states.

    Attributes
    ----------
    version : int
    size : int
        Bytes before the transport header; of IPv6, without extension headers.
    protocol : int
    source, destination : bytes
    """

    version: int
    size: int
    protocol: int
    source: bytes
    destination: bytes


class IpPacket(NamedTuple):
    """The captured part of an IP packet.

    Attributes
    ----------
    time_ns : int
        Time in nanoseconds since 1970.
    headers : bytes
        The first bytes of the packet.
    length : int
        Length on the wire in bytes, without padding if the IP header states the length.
    interface : int
        Number of the interface in a pcapng file.
    """

    time_ns: int
    headers: bytes
    length: int
    interface: int = 0

    def header(self) -> IpHeader | None:
        """Return the IP header; None if it was not captured completely."""
        seen = self.headers
        version = seen[0] >> 4
        if version == _IPV4 and len(seen) >= _IPV4_BYTES:
            size = max((seen[0] & 0xF) * 4, _IPV4_BYTES)
            return IpHeader(version, size, seen[9], seen[12:16], seen[16:20])
        if version == _IPV6 and len(seen) >= _IPV6_BYTES:
            return IpHeader(version, _IPV6_BYTES, seen[6], seen[8:24], seen[24:40])
        return None


class Frame(NamedTuple):
    """The captured part of a frame, at most 128 bytes; ``link`` is the type of its header."""

    time_ns: int
    link: int
    data: bytes
    length: int
    interface: int = 0


def read_capture(path: Path) -> Iterator[IpPacket]:
    """Read the IP packets of a capture.

    Parameters
    ----------
    path : Path
        A pcap or pcapng file.

    Raises
    ------
    InputError
        If the file is not a capture, has an unsupported link type, or has packets without times.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 101)
    >>> ip = bytes([0x45, 0, 0, 20, *range(16)])
    >>> path = Path(tempfile.mkdtemp()) / "one.pcap"
    >>> path.write_bytes(header + struct.pack("<IIII", 7, 5, len(ip), len(ip)) + ip)
    60
    >>> [(packet.time_ns, packet.length) for packet in read_capture(path)]
    [(7000005000, 20)]
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            frames = _pcapng(data) if data[:4] == _SECTION else pcap_frames(data)
            for frame in frames:
                packet = _ip(frame)
                if packet is not None:
                    yield packet
    except ValueError as error:  # of mmap
        raise _bad(path, "it is an empty file") from error
    except (OSError, DamagedError, struct.error, IndexError) as error:
        raise _bad(path, str(error)) from error


def truncated(path: Path) -> InputError:
    """Return the error of a capture whose packets were cut within their headers."""
    allowed = "a capture with the headers of every packet"
    return validation.bad("capture", str(path), allowed, "record with tcpdump -s 128")


class DamagedError(Exception):
    """A damaged file; the message gives the reason."""


def _bad(path: Path, reason: str) -> InputError:
    step = f"record it with tcpdump -w ({reason})"
    return validation.bad("capture", str(path), "a pcap or pcapng file", step)


def pcap_frames(data: mmap.mmap, *, is_complete: bool = False) -> Iterator[Frame]:
    """Yield the frames of a pcap file.

    Parameters
    ----------
    data : mmap
        The file.
    is_complete : bool
        Whether the file must not be truncated.

    Raises
    ------
    DamagedError
        If it is not a pcap file, or is truncated although it must not be.
    """
    if data[:4] not in _PCAP_MAGIC or len(data) < _PCAP_HEADER_BYTES:
        raise DamagedError("its header is invalid")
    order, unit_ns = _PCAP_MAGIC[data[:4]]
    (link,) = struct.unpack_from(f"{order}I", data, _PCAP_HEADER_BYTES - 4)
    header = struct.Struct(f"{order}IIII")
    at = _PCAP_HEADER_BYTES
    while at + header.size <= len(data):
        seconds, parts, captured, length = header.unpack_from(data, at)
        start, at = at + header.size, at + header.size + captured
        if at > len(data):
            break
        time_ns = seconds * 1_000_000_000 + parts * unit_ns
        # The upper bits of the link type describe checksums after the packet.
        first_bytes = data[start : min(at, start + _READ_BYTES)]
        yield Frame(time_ns, link & 0xFFFF, first_bytes, length)
    if is_complete and at != len(data):
        raise DamagedError("it ends within a packet")


class _Interface(NamedTuple):
    link: int
    unit: tuple[int, int]  # seconds, as numerator and denominator
    offset_s: int

    def time_ns(self, units: int) -> int:
        """Return a time since 1970, or raise a DamagedError."""
        numerator, denominator = self.unit
        time_ns = units * numerator * 1_000_000_000 // denominator + self.offset_s * 1_000_000_000
        if not 0 <= time_ns <= _LATEST_NS:
            raise DamagedError(f"a packet has the time {time_ns} ns")
        return time_ns


def _pcapng(data: mmap.mmap) -> Iterator[Frame]:
    order = "<"
    block, fields = _BLOCKS[order], _PACKETS[order]
    interfaces: list[_Interface] = []
    at, last = 0, len(data)
    while at + _SMALLEST_BLOCK <= last:
        kind, size = block.unpack_from(data, at)
        if kind == _SECTION_KIND:
            order = _BYTE_ORDERS.get(data[at + 8 : at + 12], "")
            interfaces = []
            if not order:
                raise DamagedError(f"the section at byte {at + 8} is invalid")
            block, fields = _BLOCKS[order], _PACKETS[order]
            kind, size = block.unpack_from(data, at)
        if size < _SMALLEST_BLOCK or size % 4:
            raise DamagedError(f"the block at byte {at} is invalid")
        start, at = at, at + size
        if at > last:
            return
        if kind == _INTERFACE:
            interfaces.append(_interface(data[start + 8 : at - 4], order))
        elif kind == _PACKET:
            number, high, low, captured, length = fields.unpack_from(data, start + 8)
            if number >= len(interfaces):
                raise DamagedError(f"the packet at byte {start} has no interface")
            interface = interfaces[number]
            first = start + 28
            first_bytes = data[first : first + min(captured, _READ_BYTES)]
            time_ns = interface.time_ns((high << 32) + low)
            yield Frame(time_ns, interface.link, first_bytes, length, number)
        elif kind in {_OLD_PACKET, _SIMPLE_PACKET}:
            raise DamagedError("its packet blocks are obsolete or have no times")


def _interface(body: bytes, order: str) -> _Interface:
    (link,) = struct.unpack_from(f"{order}H", body)
    unit, offset_s = (1, 1_000_000), 0
    at = 8
    while at + 4 <= len(body):
        code, size = struct.unpack_from(f"{order}HH", body, at)
        value = body[at + 4 : at + 4 + size]
        if code == 0:
            break
        if code == _RESOLUTION_OPTION:
            power = value[0]
            unit = (1, 2 ** (power & ~_BINARY) if power & _BINARY else 10**power)
        elif code == _OFFSET_OPTION:
            (offset_s,) = struct.unpack(f"{order}q", value)
        at += 4 + size + -size % 4
    return _Interface(link, unit, offset_s)


def _ip(frame: Frame) -> IpPacket | None:
    """Return the IP packet in a frame, if there is one."""
    if frame.link not in _LINK_HEADERS:
        message = f"its link type is {frame.link}, not Ethernet, Linux cooked or raw IP"
        raise DamagedError(message)
    size, protocol_at = _LINK_HEADERS[frame.link]
    data = frame.data
    if protocol_at is not None:
        protocol = data[protocol_at : protocol_at + 2]
        while protocol in _VLAN_TAGS and frame.link == ETHERNET:
            protocol = data[size + 2 : size + 4]
            size += _VLAN_TAG_BYTES
        if protocol not in _IP_PROTOCOLS:
            return None
    headers = data[size:]
    version = headers[0] >> 4 if headers else 0
    if version == _IPV4:
        stated, least = int.from_bytes(headers[2:4], "big"), _IPV4_BYTES
    elif version == _IPV6:
        stated, least = int.from_bytes(headers[4:6], "big"), _IPV6_BYTES
        stated += _IPV6_BYTES if stated else 0
    else:
        return None
    # The stated length may be 0 before segmentation offload.
    length = stated or frame.length - size
    if length < least:
        return None
    return IpPacket(frame.time_ns, headers, length, frame.interface)
