# SPDX-License-Identifier: Apache-2.0
"""The events at a queue, from captures of the packets before and after it.

A packet that was seen before the queue and not after it was dropped. The others waited: for the
time between both, less what the way from one place to the other takes without waiting, which is the
shortest time that any packet of the usual size took. (A queue that never was empty while both
captures ran seems shorter by as much as it held at least: record from the beginning of a
connection.)

The queue's direction is that of the largest flow of each capture, and what is counted is all
packets to the address that receives that flow, whoever sent them. Packets are known again by what
stays as it is where addresses and ports are translated: protocol, length, IP identification, and
TCP's sequence and acknowledgement numbers.
"""

from __future__ import annotations

import socket
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from ccbench.base import validation
from ccbench.classify.capture import IPV4_BYTES, IPV6_BYTES, read_capture
from ccbench.run.tables import EVENT_DTYPE, EVENTS, QUEUE_COLUMNS

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.base.errors import InputError
    from ccbench.classify.capture import IpPacket

__all__ = ["queue_between"]

#: Longer than any packet on the wire that is not a jumbo frame.
_LONGEST_BYTES = 1600
#: More packets than this share that were seen after the queue only are no accident.
_MOST_STRANGERS = 0.01
#: Of the transport header: ports and TCP's sequence and acknowledgement numbers.
_TRANSPORT_BYTES = 12
_IPV4 = 4
_FRAGMENT_OFFSET = 0x1FFF


class _Packet(NamedTuple):
    time_ns: int
    length: int
    receiver: bytes
    flow: bytes
    identity: bytes


def queue_between(before: Path, after: Path) -> pd.DataFrame:
    """Return what happened to every packet at the queue between two places.

    Parameters
    ----------
    before, after : Path
        Captures (pcap or pcapng) of what arrived at the queue and of what left it, at the same time
        and by one clock. The first 96 bytes of each packet suffice.

    Returns
    -------
    DataFrame
        Like ``queue`` of a :class:`~ccbench.run.run.Run`, times counted from the first packet. The
        largest flow has the number 0, all others 1. What is before the first packet and after the
        last one that both have seen is left out, as its fate is not known.

    Raises
    ------
    InputError
        If a capture is none, has packets that a network card has joined or cut off, or the two do
        not belong together.
    """
    (arrivals, largest), (departures, _) = _packets(before), _packets(after)
    left_ns = _matched(arrivals, departures, (before, after))
    decided = np.flatnonzero(left_ns >= 0)
    window = slice(int(decided[0]), int(decided[-1]) + 1)
    return _events(arrivals[window], left_ns[window], largest)


def _packets(path: Path) -> tuple[list[_Packet], bytes]:
    """Return the packets in the queue's direction, in order of time, and the largest flow."""
    packets = [_packet(one, path) for one in read_capture(path)]
    if not packets:
        allowed = "one with IP packets"
        raise validation.bad("capture", str(path), allowed, "record on the data's way")
    longest = max(packet.length for packet in packets)
    if longest > _LONGEST_BYTES:
        allowed = f"one of packets as they are on the wire, not of up to {longest} bytes"
        step = "first run `ethtool -K IFACE gro off tso off gso off` on every interface on the way"
        raise validation.bad("capture", str(path), allowed, step)
    bytes_of: Counter[bytes] = Counter()
    for packet in packets:
        bytes_of[packet.flow] += packet.length
    ((largest, _),) = bytes_of.most_common(1)
    receiver = next(packet.receiver for packet in packets if packet.flow == largest)
    same = [packet for packet in packets if packet.receiver == receiver]
    return sorted(same, key=lambda packet: packet.time_ns), largest


def _packet(packet: IpPacket, path: Path) -> _Packet:
    headers = packet.headers
    is_ipv4 = headers[0] >> 4 == _IPV4
    if len(headers) < (IPV4_BYTES if is_ipv4 else IPV6_BYTES):
        raise _cut_off(path)
    if is_ipv4:
        start = (headers[0] & 0xF) * 4
        protocol, addresses = headers[9], headers[12:20]
        marks = headers[4:8]  # identification and fragment
        is_first = not int.from_bytes(headers[6:8], "big") & _FRAGMENT_OFFSET
    else:
        start, protocol, addresses = IPV6_BYTES, headers[6], headers[8:IPV6_BYTES]
        marks, is_first = b"", True
    transport = headers[start : start + _TRANSPORT_BYTES]
    has_ports = is_first and protocol in {socket.IPPROTO_TCP, socket.IPPROTO_UDP}
    needed = min(_TRANSPORT_BYTES, packet.length - start)
    if len(transport) < needed:
        raise _cut_off(path)
    kind = bytes([protocol])
    return _Packet(
        time_ns=packet.time_ns,
        length=packet.length,
        receiver=addresses[len(addresses) // 2 :],
        flow=addresses + kind + (transport[:4] if has_ports else b""),
        identity=kind + marks + packet.length.to_bytes(4, "big") + transport[4 * has_ports :],
    )


def _cut_off(path: Path) -> InputError:
    allowed = "one with the headers of every packet"
    return validation.bad("capture", str(path), allowed, "record with tcpdump -s 96 or more")


def _matched(
    arrivals: list[_Packet], departures: list[_Packet], names: tuple[Path, Path]
) -> npt.NDArray[np.int64]:
    """Return when each packet was seen after the queue; -1 if it was not.

    Of packets that are the same in all that identifies them, such as when all of a server's bear
    the identification 0 and it sends one again, the latest that fits is meant: one that was dropped
    is sent again only when its time has passed.
    """
    waiting: dict[bytes, list[int]] = {}
    for i, packet in enumerate(arrivals):
        waiting.setdefault(packet.identity, []).append(i)
    left_ns = np.full(len(arrivals), -1, dtype=np.int64)
    strangers, matched = 0, 0
    for packet in departures:
        same = waiting.get(packet.identity, [])
        place = bisect_right(same, packet.time_ns, key=lambda i: arrivals[i].time_ns)
        if place:
            left_ns[same.pop(place - 1)] = packet.time_ns
            matched += 1
        elif matched:  # those that come first may have waited when the capture began
            strangers += 1
    if not matched:
        allowed = "captures of the same packets by one clock, the one before the queue first"
        step = "swap them if they are the other way round, or record both again"
        raise validation.bad("pair", " ".join(map(str, names)), allowed, step)
    if strangers > _MOST_STRANGERS * (strangers + matched):
        allowed = f"one that has what {names[1].name} has, of which it lacks {strangers} packets"
        step = "record it again with a larger buffer, such as tcpdump -B 65536"
        raise validation.bad("capture", str(names[0]), allowed, step)
    return left_ns


def _events(
    arrivals: list[_Packet], left_ns: npt.NDArray[np.int64], largest: bytes
) -> pd.DataFrame:
    times_ns = np.array([packet.time_ns for packet in arrivals], dtype=np.int64)
    sizes = np.array([packet.length for packet in arrivals], dtype=np.int64)
    is_other = np.array([packet.flow != largest for packet in arrivals])
    passed = left_ns >= 0
    transits_ns = left_ns - times_ns
    usual = np.bincount(sizes[passed]).argmax()
    way_ns = transits_ns[passed & (sizes == usual)].min()
    # A smaller packet is on its way for less than the usual one.
    waits_ns = np.maximum(transits_ns - way_ns, 0)
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
    ).sort_values("time_ns", kind="stable")  # at one time arrivals come first
    frame["backlog_packets"] = frame["change"].cumsum()
    frame["backlog_bytes"] = (frame["change"] * frame["bytes"]).cumsum()
    frame["event"] = pd.Categorical.from_codes(frame["event"].to_numpy(), dtype=EVENT_DTYPE)
    frame["bottleneck"] = 0
    frame = frame[list(QUEUE_COLUMNS)].astype(dict(QUEUE_COLUMNS))
    return frame.reset_index(drop=True)
