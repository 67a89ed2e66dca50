# SPDX-License-Identifier: Apache-2.0
"""Windows of the TCP connections in one capture, at the sender, at the receiver, or between.

The packets in flight are those sent and neither acknowledged, selectively acknowledged nor lost.
The sender knows of an ACK only after it has arrived. A capture elsewhere shows the ACK earlier, by
the round-trip time between this place and the sender, and the data later. TCP timestamps (RFC 7323)
tell which ACKs the sender had when it sent a packet: the packet echoes the timestamp of the latest.
Without them, the time between the capture and the sender is that of the handshake, which holds only
if no queue is between them.
"""

from __future__ import annotations

import socket
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ccbench.base import validation
from ccbench.classify.window import Window
from ccbench.run.captures.reader import read_capture, truncated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ccbench.run.captures.reader import IpPacket

__all__ = ["Segment", "segments_of", "windows_of"]

_FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
_TCP_BYTES = 20
_SYN, _ACK = 0x02, 0x10
#: The ports, sequence number, acknowledgement number, size of the header, and flags.
_TCP_FIELDS = struct.Struct(">4sIIBB")
#: The numbers of the option of timestamps, and of each block of selective acknowledgements.
_TWO_WORDS = struct.Struct(">II")
_END, _NO_OPERATION, _SACK, _TIMESTAMPS = 0, 1, 5, 8
#: The options of most segments: two of no operation, and the start of timestamps.
_ONLY_TIMESTAMPS, _ONLY_TIMESTAMPS_BYTES = bytes([1, 1, 8, 10]), 12
_HALF, _WHOLE = 2**31, 2**32
#: Least duration of a connection in seconds, and least size, that is worth an answer.
_LEAST_S, _LEAST_PACKETS = 5.0, 300
#: Largest share of the round-trip time between the capture and the sender that counts as none.
_NEAR = 0.1


class Segment(NamedTuple):
    """A TCP segment; times in nanoseconds, timestamps and SACK blocks if it has them."""

    time_ns: int
    source: str
    destination: str
    sequence: int
    acknowledged: int
    size: int
    is_syn: bool = False
    timestamp: int | None = None
    echo: int | None = None
    selective: tuple[tuple[int, int], ...] = ()
    interface: int = 0


def segments_of(path: Path) -> Iterator[Segment]:
    """Read the TCP segments of a capture.

    Parameters
    ----------
    path : Path
        A pcap or pcapng file.

    Raises
    ------
    InputError
        See :func:`~ccbench.run.captures.reader.read_capture`; or if headers are not complete.
    """
    for packet in read_capture(path):
        segment = _segment(packet, path)
        if segment is not None:
            yield segment


def windows_of(segments: Iterable[Segment], name: str) -> list[Window]:
    """Return the window of each long connection, the largest first.

    Parameters
    ----------
    segments : iterable of Segment
    name : str
        Name of the file.

    Raises
    ------
    InputError
        If there is no connection of at least 5 s and 300 segments, one was captured at several
        interfaces, or the sender's window cannot be seen from the place of the capture.
    """
    connections: dict[tuple[str, str], list[Segment]] = defaultdict(list)
    for segment in segments:
        ends = segment.source, segment.destination
        connections[ends if ends[0] < ends[1] else ends[::-1]].append(segment)
    directions = [_direction(own) for own in connections.values()]
    longest = sorted(directions, key=lambda each: -each.bytes)
    chosen = [each for each in longest if each.is_long and each.acks]
    if not chosen:
        if longest and not longest[0].acks and longest[0].is_long:
            allowed = "one with the ACKs too, or two captures, before and after the queue"
            step = "record both directions, without a filter by address of the source"
            raise validation.bad("capture", name, allowed, step)
        if not longest:
            allowed = "one with packets of TCP"
            step = "repeat the download without QUIC, as with curl --http2, and record it"
            raise validation.bad("capture", name, allowed, step)
        seen = f"{longest[0].packets} in {longest[0].duration_s:.3g} s"
        allowed = f"a TCP connection with {_LEAST_PACKETS} data segments in {_LEAST_S:g} s"
        step = f"record a longer download (the largest connection has {seen})"
        raise validation.bad("capture", name, allowed, step)
    if any(len({segment.interface for segment in each.segments}) > 1 for each in chosen):
        allowed = "one in which each connection is at one interface"
        step = "record the interfaces in a file each, as `ccbench run --pcap FOLDER` does"
        raise validation.bad("capture", name, allowed, step)
    return [
        each.window(name if len(chosen) == 1 else f"{name} {each.sender} to {each.receiver}")
        for each in chosen
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Direction:
    """The data of a connection in one direction, and its ACKs."""

    sender: str
    receiver: str
    segments: list[Segment] = field(repr=False)

    @cached_property
    def data(self) -> list[Segment]:
        return [each for each in self.segments if each.source == self.sender and each.size]

    @cached_property
    def acks(self) -> list[Segment]:
        return [each for each in self.segments if each.source == self.receiver and not each.is_syn]

    @cached_property
    def bytes(self) -> int:
        return sum(each.size for each in self.data)

    @property
    def packets(self) -> int:
        return len(self.data)

    @property
    def duration_s(self) -> float:
        data = self.data
        return (data[-1].time_ns - data[0].time_ns) / 1e9 if data else 0.0

    @property
    def is_long(self) -> bool:
        return self.packets >= _LEAST_PACKETS and self.duration_s >= _LEAST_S

    def window(self, name: str) -> Window:
        """Return the sender's window."""
        place = _Place.of(self, name)
        return _Reconstruction(self, place).window(name)


def _direction(segments: list[Segment]) -> _Direction:
    """Return the direction with more data."""
    sizes: dict[str, int] = defaultdict(int)
    for each in segments:
        sizes[each.source] += each.size
    one, other = segments[0].source, segments[0].destination
    sender, receiver = (one, other) if sizes[one] >= sizes[other] else (other, one)
    return _Direction(sender=sender, receiver=receiver, segments=segments)


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a connection was captured.

    Parameters
    ----------
    to_sender_ns, to_receiver_ns : int or None
        Shortest round-trip time to either end.
    has_timestamps : bool
        Whether data echo the timestamps of ACKs.
    """

    to_sender_ns: int | None
    to_receiver_ns: int | None
    has_timestamps: bool

    @classmethod
    def of(cls, direction: _Direction, name: str) -> _Place:
        data = direction.data
        has_timestamps = sum(each.echo is not None for each in data) > len(data) / 2
        to_sender, to_receiver = _handshake(direction)
        if to_receiver is None:
            to_receiver = _least_response(data, direction.acks)
        if to_sender is None and has_timestamps:
            to_sender = _least_echo(direction)
        place = cls(
            to_sender_ns=to_sender, to_receiver_ns=to_receiver, has_timestamps=has_timestamps
        )
        if place.is_at_receiver and not has_timestamps:
            allowed = "one with TCP timestamps, or at the sender: at the receiver, they alone show "
            allowed += "which packets are in flight"
            step = "run `sysctl net.ipv4.tcp_timestamps=1` at both ends, or record at the sender"
            raise validation.bad("capture", name, allowed, step)
        return place

    @property
    def base_ns(self) -> int | None:
        """The shortest round-trip time between the ends."""
        if self.to_receiver_ns is None:
            return None
        return self.to_receiver_ns + (self.to_sender_ns or 0)

    @property
    def is_at_receiver(self) -> bool:
        return (
            self.base_ns is not None
            and self.to_receiver_ns is not None
            and self.to_receiver_ns < _NEAR * self.base_ns
        )

    @property
    def is_at_sender(self) -> bool:
        return (
            self.to_sender_ns is None
            or self.base_ns is None
            or self.to_sender_ns < _NEAR * self.base_ns
        )

    @property
    def sees_sender(self) -> bool:
        """Whether the time from here to the sender and back is seen, for each segment."""
        return self.has_timestamps and not self.is_at_sender

    @property
    def words(self) -> str:
        if self.to_sender_ns is None or self.base_ns is None:
            return "capture, taken as at the sender"
        if self.is_at_sender:
            return "capture at the sender"
        if self.is_at_receiver:
            return "capture at the receiver"
        return "capture between sender and receiver"


def _handshake(direction: _Direction) -> tuple[int | None, int | None]:
    """Return the round-trip times to the sender and to the receiver, by the handshake."""
    syns = [each for each in direction.segments if each.is_syn]
    if len(syns) < 2:  # noqa: PLR2004 - both ends
        return None, None
    first = syns[0]
    answers = [each for each in syns if each.source != first.source]
    if not answers:
        return None, None
    answer = answers[0]
    # By order, as a coarse clock may give the answer and the next segment the same time.
    position = direction.segments.index(answer)
    last = [each for each in direction.segments[:position] if each.is_syn]
    third = [
        each
        for each in direction.segments[position:]
        if each.source == first.source and not each.is_syn
    ]
    if not third or not last:
        return None, None
    to_server = answer.time_ns - last[-1].time_ns
    to_client = third[0].time_ns - answer.time_ns
    if direction.sender == first.source:
        return to_client, to_server
    return to_server, to_client


def _least_response(data: list[Segment], acks: list[Segment]) -> int | None:
    """Return the shortest time between a data segment and its ACK."""
    numbers = np.maximum.accumulate(_unwrapped([each.acknowledged for each in acks], data[0]))
    times = np.array([each.time_ns for each in acks], dtype=np.int64)
    sequences = _unwrapped([each.sequence for each in data], data[0])
    ends = sequences + np.array([each.size for each in data])
    is_new = ends > np.maximum.accumulate(np.append(0, ends[:-1]))
    at = np.searchsorted(numbers, ends[is_new], side="left")
    sent = np.array([each.time_ns for each in data], dtype=np.int64)[is_new]
    answered = at < len(times)
    waits = times[at[answered]] - sent[answered]
    return int(waits[waits >= 0].min()) if (waits >= 0).any() else None


def _least_echo(direction: _Direction) -> int | None:
    """Return the shortest time between an ACK and the first segment that echoes its timestamp."""
    seen: dict[int, int] = {}
    least = None
    for each in direction.segments:
        if each.source == direction.receiver and each.timestamp is not None:
            seen[each.timestamp] = each.time_ns
        elif each.size and each.echo in seen:
            wait = each.time_ns - seen.pop(each.echo)
            least = wait if least is None else min(least, wait)
    return least


class _Reconstruction:
    """Packets in flight at the sender, segment by segment."""

    def __init__(self, direction: _Direction, place: _Place) -> None:
        self._direction, self._place = direction, place
        data = direction.data
        sizes = np.array([each.size for each in data])
        self._size = float(np.quantile(sizes, 0.9))
        self._first = data[0]
        self._acks = direction.acks
        self._ack_numbers = np.maximum.accumulate(
            _unwrapped([each.acknowledged for each in self._acks], self._first)
        )
        selective = [
            max((_ahead(end, each.acknowledged) for _, end in each.selective), default=0)
            for each in self._acks
        ]
        self._farthest = np.maximum.accumulate(self._ack_numbers + np.maximum(selective, 0))
        self._duplicates = _duplicates(self._acks, self._ack_numbers)

    def window(self, name: str) -> Window:
        data = self._direction.data
        ends = _unwrapped([each.sequence for each in data], self._first) + np.array(
            [each.size for each in data]
        )
        times = np.array([each.time_ns for each in data], dtype=np.int64)
        known = self._known_acks(data, times)
        highest = np.maximum.accumulate(ends)
        is_new = ends > np.append(0, highest[:-1])
        acknowledged = np.where(known >= 0, self._ack_numbers[known], ends[0] - data[0].size)
        farthest = np.where(known >= 0, self._farthest[known], acknowledged)
        beyond = np.maximum(farthest, acknowledged + self._duplicates[known] * self._size)
        repeated = _repeated(ends, is_new, acknowledged, np.array([each.size for each in data]))
        in_flight = np.maximum(highest - np.minimum(beyond, highest), 0) + repeated
        time_ns, packets = self._with_idle_times(
            times, in_flight / self._size, highest, acknowledged
        )
        at = np.searchsorted([each.time_ns for each in self._acks], time_ns, side="right") - 1
        delivered = np.where(at >= 0, self._farthest[at] / self._size, 0.0)
        return Window(
            name=name,
            time_ns=time_ns,
            packets=packets,
            delivered=np.maximum.accumulate(delivered),
            rtt_ms=self._rtts_ms(times, ends, known, is_new, time_ns),
            server=self._direction.sender.rpartition(" ")[0],
            is_from_start=any(each.is_syn for each in self._direction.segments),
            note=self._place.words,
        )

    def _known_acks(self, data: list[Segment], times: np.ndarray) -> np.ndarray:
        """Return the position of the latest ACK that the sender knew at each segment; or -1."""
        # It has passed here before, by at least the shortest round-trip time to the sender.
        passed = np.array([each.time_ns for each in self._acks], dtype=np.int64)
        latest = np.searchsorted(passed, times - (self._place.to_sender_ns or 0), side="right") - 1
        if self._place.has_timestamps:
            stamps = np.maximum.accumulate([each.timestamp or 0 for each in self._acks])
            echoes = np.maximum.accumulate([each.echo or 0 for each in data])
            return np.minimum(np.searchsorted(stamps, echoes, side="right") - 1, latest)
        return latest

    def _with_idle_times(
        self,
        times: np.ndarray,
        packets: np.ndarray,
        highest: np.ndarray,
        acknowledged: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add a point with 0 packets where the sender knew that everything had arrived."""
        acks = np.array([each.time_ns for each in self._acks], dtype=np.int64)
        at = np.searchsorted(self._ack_numbers, highest[:-1], side="left")
        done = acks[np.minimum(at, len(acks) - 1)] + (self._place.to_sender_ns or 0)
        idle = np.flatnonzero((acknowledged[1:] >= highest[:-1]) & (done < times[1:]))
        time_ns = np.concatenate([times, np.maximum(done[idle], times[idle])])
        both = np.concatenate([packets, np.zeros(len(idle))])
        order = np.argsort(time_ns, kind="stable")
        return time_ns[order], both[order]

    def _rtts_ms(
        self,
        times: np.ndarray,
        ends: np.ndarray,
        known: np.ndarray,
        is_new: np.ndarray,
        at_ns: np.ndarray,
    ) -> np.ndarray | None:
        """Return the latest round-trip time at each point: that to the receiver and the sender."""
        if self._place.base_ns is None:
            return None
        acks = np.array([each.time_ns for each in self._acks], dtype=np.int64)
        # The first ACK or selective ACK. One after duplicates without SACK is of a retransmission;
        # it also covers packets that waited.
        at = np.searchsorted(self._farthest, ends, side="left")
        stalled = np.append(False, np.diff(self._farthest) == 0)
        before_at = np.clip(at - 1, 0, len(acks) - 1)
        usable = is_new & (at < len(acks)) & ~stalled[before_at]
        to_sender = np.full(len(times), self._place.to_sender_ns or 0)
        if self._place.sees_sender:
            # The segment follows the latest ACK that the sender knew.
            usable &= known >= 0
            to_sender = times - acks[known]
        rtts = (acks[np.minimum(at, len(acks) - 1)] - times + to_sender)[usable] / 1e6
        before = np.searchsorted(times[usable], at_ns, side="right") - 1
        result = np.where(before >= 0, rtts[np.maximum(before, 0)], np.nan)
        return np.where(result >= self._place.base_ns / 1e6 * 0.99, result, np.nan)


def _duplicates(acks: list[Segment], numbers: np.ndarray) -> np.ndarray:
    """Return the number of duplicate ACKs without SACK in a row, by which packets have arrived."""
    result = np.zeros(len(acks) + 1)  # the last one stands for no ACK
    for i in range(1, len(acks)):
        is_same = numbers[i] == numbers[i - 1] and not acks[i].size and not acks[i].selective
        result[i] = result[i - 1] + 1 if is_same else 0
    return result


def _repeated(
    ends: np.ndarray, is_new: np.ndarray, acknowledged: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Return the bytes of retransmissions that are not acknowledged yet, at each segment."""
    result = np.zeros(len(ends))
    waiting: list[tuple[int, int]] = []
    for i in range(len(ends)):
        waiting = [each for each in waiting if each[0] > acknowledged[i]]
        if not is_new[i]:
            waiting.append((int(ends[i]), int(sizes[i])))
        result[i] = sum(dict(waiting).values())
    return result


def _ahead(number: int, other: int) -> int:
    """Return the distance of a sequence number from another one, which may have wrapped."""
    return (number - other + _HALF) % _WHOLE - _HALF


def _unwrapped(numbers: list[int], first: Segment) -> np.ndarray:
    """Return sequence numbers without wrapping, relative to the first segment."""
    start = first.sequence
    raw = np.array(numbers, dtype=np.int64)
    if not len(raw):
        return raw
    steps = (np.diff(raw, prepend=start) + _HALF) % _WHOLE - _HALF
    return np.cumsum(steps) + 1


def _segment(packet: IpPacket, path: Path) -> Segment | None:
    header = packet.header()
    if header is None or header.protocol != socket.IPPROTO_TCP:
        return None
    tcp = packet.headers[header.size :]
    size = packet.length - header.size
    if size < _TCP_BYTES:  # a fragment
        return None
    data_offset = (tcp[12] >> 4) * 4 if len(tcp) >= _TCP_BYTES else _TCP_BYTES
    if len(tcp) < min(data_offset, size):  # without its options, it is unknown what has arrived
        raise truncated(path)
    ports, sequence, acknowledged, _, flags = _TCP_FIELDS.unpack_from(tcp)
    timestamp, echo, selective = _options(tcp[_TCP_BYTES:data_offset])
    return Segment(
        packet.time_ns,
        *_ends(header.version, header.source, header.destination, ports),
        sequence,
        acknowledged if flags & _ACK else 0,
        max(0, size - data_offset),
        bool(flags & _SYN),
        timestamp,
        echo,
        selective,
        packet.interface,
    )


@lru_cache
def _ends(version: int, source: bytes, destination: bytes, ports: bytes) -> tuple[str, str]:
    """Return the names of the ends of a connection."""
    family = _FAMILIES[version]
    return (
        f"{socket.inet_ntop(family, source)} {int.from_bytes(ports[:2], 'big')}",
        f"{socket.inet_ntop(family, destination)} {int.from_bytes(ports[2:], 'big')}",
    )


def _options(options: bytes) -> tuple[int | None, int | None, tuple[tuple[int, int], ...]]:
    """Return timestamp, echoed timestamp and SACK blocks."""
    if len(options) == _ONLY_TIMESTAMPS_BYTES and options.startswith(_ONLY_TIMESTAMPS):
        return *_TWO_WORDS.unpack_from(options, 4), ()
    timestamp = echo = None
    blocks: tuple[tuple[int, int], ...] = ()
    at = 0
    while at < len(options) and options[at] != _END:
        if options[at] == _NO_OPERATION:
            at += 1
            continue
        size = options[at + 1] if at + 1 < len(options) else 0
        body = options[at + 2 : at + size]
        if size < 2 or len(body) < size - 2:  # noqa: PLR2004 - kind and size
            break
        if options[at] == _TIMESTAMPS and len(body) == _TWO_WORDS.size:
            timestamp, echo = _TWO_WORDS.unpack(body)
        elif options[at] == _SACK:
            whole = len(body) - len(body) % _TWO_WORDS.size
            blocks = tuple(_TWO_WORDS.iter_unpack(body[:whole]))
        at += size
    return timestamp, echo, blocks
