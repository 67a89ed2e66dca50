# SPDX-License-Identifier: Apache-2.0
"""Events at a queue, from captures of the packets before and after it.

A packet in the first capture only was dropped. The waiting time of any other packet is the time
between both captures minus the time without a queue, which is the minimum over all packets of the
most frequent size. (If the queue was never empty during both captures, its length is underestimated
by its minimum: record from the start of a connection.)

The direction of the queue is that of the largest flow of each capture; all packets to the receiver
of that flow count. Packets are matched by the fields that do not change when addresses and ports
are translated: protocol, length, IP identification, and TCP's sequence and acknowledgement numbers.
"""

from __future__ import annotations

import socket
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ccbench.base import validation
from ccbench.run.captures.reader import read_capture, truncated
from ccbench.run.tables import EVENTS, QUEUE_COLUMNS, category, dtypes

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd

    from ccbench.run.captures.reader import IpPacket

__all__ = ["queue_between"]

#: Upper bound of the size of a packet on the wire that is not a jumbo frame, in bytes.
_MAX_PACKET_BYTES = 1600
#: Maximum fraction of packets that are in the second capture only.
_MAX_UNMATCHED = 0.01
#: Bytes of the transport header with ports and TCP's sequence and acknowledgement numbers.
_TRANSPORT_BYTES = 12
_IPV4 = 4
_FRAGMENT_OFFSET = 0x1FFF


class _Packet(NamedTuple):
    time_ns: int
    length: int
    receiver: bytes
    flow: bytes
    identity: bytes
    interface: int


def queue_between(before: Path, after: Path) -> pd.DataFrame:
    """Return the events of all packets at the queue between two captures.

    Parameters
    ----------
    before, after : Path
        Simultaneous captures (pcap or pcapng) before and after the queue with one clock. The first
        96 bytes of each packet suffice.

    Returns
    -------
    DataFrame
        ``queue`` of a :class:`~ccbench.run.run.Run`, with times since the first packet. The largest
        flow has the number 0, all others 1. Packets before the first and after the last packet in
        both captures are excluded, as their fate is unknown.

    Raises
    ------
    InputError
        If a file is not a capture, has packets of several interfaces or packets that a network card
        has merged or truncated, or the two captures do not match.
    """
    (arrivals, largest), (departures, _) = _packets(before), _packets(after)
    left_ns = _matched(arrivals, departures, (before, after))
    decided = np.flatnonzero(left_ns >= 0)
    window = slice(int(decided[0]), int(decided[-1]) + 1)
    return _events(arrivals[window], left_ns[window], largest)


def _packets(path: Path) -> tuple[list[_Packet], bytes]:
    """Return the packets in the queue's direction, in order of time, and the largest flow."""
    packets = [_packet(packet, path) for packet in read_capture(path)]
    if not packets:
        allowed = "a capture with IP packets"
        raise validation.bad("capture", str(path), allowed, "record on the path of the data")
    longest = max(packet.length for packet in packets)
    if longest > _MAX_PACKET_BYTES:
        allowed = f"a capture of packets as on the wire, not of up to {longest} bytes"
        step = "first run `ethtool -K IFACE gro off tso off gso off` on every interface of the path"
        raise validation.bad("capture", str(path), allowed, step)
    bytes_of: Counter[bytes] = Counter()
    for packet in packets:
        bytes_of[packet.flow] += packet.length
    ((largest, _),) = bytes_of.most_common(1)
    receiver = next(packet.receiver for packet in packets if packet.flow == largest)
    same = [packet for packet in packets if packet.receiver == receiver]
    if any(packet.interface != same[0].interface for packet in same):
        allowed = "a capture of this direction at one interface"
        step = "record the interfaces in a file each, as `ccbench run --pcap FOLDER` does"
        raise validation.bad("capture", str(path), allowed, step)
    return sorted(same, key=lambda packet: packet.time_ns), largest


def _packet(packet: IpPacket, path: Path) -> _Packet:
    header = packet.header()
    if header is None:
        raise truncated(path)
    # Identification and fragment.
    marks = packet.headers[4:8] if header.version == _IPV4 else b""
    is_first = not int.from_bytes(marks[2:], "big") & _FRAGMENT_OFFSET
    transport = packet.headers[header.size : header.size + _TRANSPORT_BYTES]
    has_ports = is_first and header.protocol in {socket.IPPROTO_TCP, socket.IPPROTO_UDP}
    needed = min(_TRANSPORT_BYTES, packet.length - header.size)
    if len(transport) < needed:
        raise truncated(path)
    kind = bytes([header.protocol])
    return _Packet(
        time_ns=packet.time_ns,
        length=packet.length,
        receiver=header.destination,
        flow=header.source + header.destination + kind + (transport[:4] if has_ports else b""),
        identity=kind + marks + packet.length.to_bytes(4, "big") + transport[4 * has_ports :],
        interface=packet.interface,
    )


def _matched(
    arrivals: list[_Packet], departures: list[_Packet], names: tuple[Path, Path]
) -> npt.NDArray[np.int64]:
    """Return the time of each packet after the queue, or -1 if it was dropped.

    Several packets can have the same identity, for example a retransmission if a server sets all IP
    identifications to 0. A departure is matched with the latest arrival before it, as a dropped
    packet is retransmitted only after a timeout.
    """
    waiting: dict[bytes, list[int]] = {}
    for i, packet in enumerate(arrivals):
        waiting.setdefault(packet.identity, []).append(i)
    left_ns = np.full(len(arrivals), -1, dtype=np.int64)
    unmatched, matched = 0, 0
    for packet in departures:
        same = waiting.get(packet.identity, [])
        position = bisect_right(same, packet.time_ns, key=lambda i: arrivals[i].time_ns)
        if position:
            left_ns[same.pop(position - 1)] = packet.time_ns
            matched += 1
        elif matched:  # the first departures may have arrived before the capture started
            unmatched += 1
    if not matched:
        allowed = "captures of the same packets with one clock, that before the queue first"
        step = "swap them if they are in reverse order, or record both again"
        raise validation.bad("pair", " ".join(map(str, names)), allowed, step)
    if unmatched > _MAX_UNMATCHED * (unmatched + matched):
        allowed = f"a capture with all packets of {names[1].name}, but {unmatched} are missing"
        step = "record it again with a larger buffer, such as tcpdump -B 65536"
        raise validation.bad("capture", str(names[0]), allowed, step)
    return left_ns


def _events(
    arrivals: list[_Packet], left_ns: npt.NDArray[np.int64], largest: bytes
) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 - not needed for a single capture

    times_ns = np.array([packet.time_ns for packet in arrivals], dtype=np.int64)
    sizes = np.array([packet.length for packet in arrivals], dtype=np.int64)
    is_other = np.array([packet.flow != largest for packet in arrivals])
    passed = left_ns >= 0
    transits_ns = left_ns - times_ns
    usual = np.bincount(sizes[passed]).argmax()
    base_ns = transits_ns[passed & (sizes == usual)].min()
    # The transit time of a smaller packet can be below that of a usual one.
    waits_ns = np.maximum(transits_ns - base_ns, 0)
    codes = {name: EVENTS.index(name) for name in ("enqueue", "drop", "dequeue")}
    parts = (
        (codes["enqueue"], times_ns, np.ones(len(sizes), dtype=bool), 1),
        (codes["drop"], times_ns, ~passed, -1),
        (codes["dequeue"], times_ns + waits_ns, passed, -1),
    )
    frame = pd.concat(
        [
            pd.DataFrame(
                {
                    "time_ns": at_ns[which] - times_ns[0],
                    "event": code,
                    "flow": is_other[which],
                    "bytes": sizes[which],
                    "change": change,
                }
            )
            for code, at_ns, which, change in parts
        ]
    ).sort_values("time_ns", kind="stable")  # of simultaneous events, arrivals come first
    frame["backlog_packets"] = frame["change"].cumsum()
    frame["backlog_bytes"] = (frame["change"] * frame["bytes"]).cumsum()
    frame["event"] = pd.Categorical.from_codes(frame["event"].to_numpy(), dtype=category("event"))
    frame["bottleneck"] = 0
    frame = frame[list(QUEUE_COLUMNS)].astype(dtypes(QUEUE_COLUMNS))
    return frame.reset_index(drop=True)
