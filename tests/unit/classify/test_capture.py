# SPDX-License-Identifier: Apache-2.0
"""Captures, and queues between two of them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from click.testing import CliRunner

from ccbench.base.errors import InputError
from ccbench.classify.pcap_pair import queue_between
from ccbench.classify.recording import read_all
from ccbench.classify.setting import SETTINGS
from ccbench.cli.main import program
from ccbench.run.captures.reader import IpPacket, read_capture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    Headers: TypeAlias = Callable[..., bytes]
    Write: TypeAlias = Callable[..., Path]

TIMES_NS = (1_700_000_000_123_456_789, 1_700_000_020_000_000_001)
IP = bytes([0x45, 0, 0, 60, *range(56)])


def classic(order: str, magic: int, unit_ns: int, frame: bytes = IP, link: int = 101) -> bytes:
    """Return a pcap file, byte for byte."""
    packets = [
        struct.pack(f"{order}IIII", t // 10**9, t % 10**9 // unit_ns, len(frame), len(frame))
        + frame
        for t in TIMES_NS
    ]
    header = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, link)
    return header + b"".join(packets)


def block(order: str, kind: int, body: bytes) -> bytes:
    """Return a block of a pcapng file."""
    body += bytes(-len(body) % 4)
    size = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + size + body + size


def section(order: str) -> bytes:
    """Return the block that begins a section."""
    return block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, *options: tuple[int, bytes], link: int = 101) -> bytes:
    """Return the block of an interface."""
    body = struct.pack(f"{order}HHI", link, 0, 262144)
    for code, value in options:
        body += struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)
    return block(order, 1, body)


def packet(order: str, ticks: int, number: int = 0) -> bytes:
    """Return the block of a packet."""
    body = struct.pack(f"{order}5I", number, ticks >> 32, ticks & 0xFFFFFFFF, len(IP), len(IP))
    return block(order, 6, body + IP)


def pcapng(order: str, *options: tuple[int, bytes], ticks: Callable[[int], int]) -> bytes:
    """Return a pcapng file with a block of an unknown type."""
    packets = [packet(order, ticks(t)) for t in TIMES_NS]
    unknown = block(order, 5, b"statistics")
    return section(order) + interface(order, *options) + packets[0] + unknown + packets[1]


class TestReadCapture:
    @pytest.mark.parametrize(
        ("content", "unit_ns"),
        [
            (classic("<", 0xA1B2C3D4, 1000), 1000),
            (classic(">", 0xA1B2C3D4, 1000), 1000),
            (classic("<", 0xA1B23C4D, 1), 1),
            (classic(">", 0xA1B23C4D, 1), 1),
            (pcapng("<", ticks=lambda t: t // 1000), 1000),
            (pcapng(">", (2, b"eth0"), (9, b"\x09"), ticks=lambda t: t), 1),
            (pcapng("<", (9, b"\x06"), (0, b""), ticks=lambda t: t // 1000), 1000),
            (
                pcapng("<", (9, b"\x09"), (14, struct.pack("<q", 100)), ticks=lambda t: t - 10**11),
                1,
            ),
        ],
    )
    def test_formats(self, tmp_path: Path, content: bytes, unit_ns: int) -> None:
        """Packet times are read exactly in all formats."""
        (tmp_path / "a.pcap").write_bytes(content)
        expected = [IpPacket(t // unit_ns * unit_ns, IP, 60) for t in TIMES_NS]
        assert expected == list(read_capture(tmp_path / "a.pcap"))

    def test_binary_resolution(self, tmp_path: Path) -> None:
        """Units of time may be powers of 2."""
        content = pcapng("<", (9, b"\x94"), ticks=lambda t: t * 2**20 // 10**9)
        (tmp_path / "a.pcapng").write_bytes(content)
        actual = [item.time_ns for item in read_capture(tmp_path / "a.pcapng")]
        np.testing.assert_allclose(actual, TIMES_NS, rtol=0, atol=1000)

    def test_interfaces(self, tmp_path: Path) -> None:
        """Each interface has its own unit of time."""
        both = interface("<") + interface("<", (9, b"\x09"))
        packets = packet("<", TIMES_NS[0] // 1000) + packet("<", TIMES_NS[1], 1)
        (tmp_path / "a.pcapng").write_bytes(section("<") + both + packets)
        actual = [item.time_ns for item in read_capture(tmp_path / "a.pcapng")]
        assert [TIMES_NS[0] // 1000 * 1000, TIMES_NS[1]] == actual

    @pytest.mark.parametrize(
        ("link", "header"),
        [
            (1, bytes(12) + b"\x08\x00"),
            (1, bytes(12) + b"\x81\x00\x00\x05\x08\x00"),
            (1, bytes(12) + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00"),
            (0, b"\x02\x00\x00\x00"),
            (113, bytes(14) + b"\x08\x00"),
            (276, b"\x08\x00" + bytes(18)),
            (228, b""),
        ],
    )
    def test_links(self, tmp_path: Path, link: int, header: bytes) -> None:
        """Headers of all usual link types are removed, and padding is not counted."""
        content = classic("<", 0xA1B23C4D, 1, header + IP + bytes(6), link)
        (tmp_path / "a.pcap").write_bytes(content)
        assert [60, 60] == [item.length for item in read_capture(tmp_path / "a.pcap")]
        assert all(one.headers[:60] == IP for one in read_capture(tmp_path / "a.pcap"))

    def test_others(self, tmp_path: Path) -> None:
        """Packets other than IP are ignored."""
        arp = classic("<", 0xA1B23C4D, 1, bytes(12) + b"\x08\x06" + IP, 1)
        (tmp_path / "a.pcap").write_bytes(arp)
        assert [] == list(read_capture(tmp_path / "a.pcap"))

    def test_shorter_than_a_header(self, tmp_path: Path, write_pcap: Write) -> None:
        """IP packets shorter on the wire than an IP header are ignored."""
        file = write_pcap(tmp_path / "a.pcap", [(0, bytes([0x45, *bytes(39)]), 3)])
        assert [] == list(read_capture(file))

    @pytest.mark.parametrize(
        "content", [classic("<", 0xA1B23C4D, 1), pcapng("<", (9, b"\x09"), ticks=lambda t: t)]
    )
    def test_cut_off(self, tmp_path: Path, content: bytes) -> None:
        """A truncated file yields its complete packets."""
        (tmp_path / "a.pcap").write_bytes(content[:-9])
        assert [TIMES_NS[0]] == [item.time_ns for item in read_capture(tmp_path / "a.pcap")]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "empty file"),
            (b"time_s,occupancy_packets\n" * 9, "its header is invalid"),
            (classic("<", 0xA1B23C4D, 1, link=147), "its link type is 147"),
            (section("<") + packet("<", 1), "has no interface"),
            (section("<") + block("<", 3, bytes(64)), "have no times"),
            (section("<") + bytes(40), "the block at byte 28 is invalid"),
            (section("<") + interface("<", (9, b"")) + packet("<", 1), "record it with tcpdump"),
            (
                section("<") + interface("<", (14, struct.pack("<q", 2**62))) + packet("<", 1),
                "a packet has the time 4611686018427387904",
            ),
            (
                section("<") + interface("<", (14, struct.pack("<q", -9))) + packet("<", 1),
                "a packet has the time -",
            ),
        ],
    )
    def test_damaged(self, tmp_path: Path, content: bytes, message: str) -> None:
        """A file that is not a capture is an input error with the reason."""
        (tmp_path / "a.pcap").write_bytes(content)
        with pytest.raises(InputError, match=f"capture is .*a.pcap.*{message}"):
            list(read_capture(tmp_path / "a.pcap"))


#: Nanoseconds of the link for a packet of 1500 bytes.
PACKET_NS = 1_000_000


def drop_tail(
    arrivals_ns: list[int], room: int, way_ns: int = 0
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return times and numbers of packets before and after a queue on a link.

    The packet on the link does not wait; `way_ns` is the delay of the wire.
    """
    left: list[tuple[int, int]] = []
    free_ns = 0
    starts: list[int] = []
    for number, time_ns in enumerate(arrivals_ns):
        if sum(start > time_ns for start in starts) < room:
            starts.append(max(time_ns, free_ns))
            free_ns = starts[-1] + PACKET_NS
            left.append((free_ns + way_ns, number))
    return list(zip(arrivals_ns, range(len(arrivals_ns)), strict=True)), left


@pytest.fixture
def pair(tmp_path: Path, tcp_headers: Headers, write_pcap: Write) -> Callable[..., pd.DataFrame]:
    """Give a function that writes two captures and returns the queue between them."""

    def between(
        before: list[tuple[int, int]], after: list[tuple[int, int]], **headers: int
    ) -> pd.DataFrame:
        files = [
            write_pcap(tmp_path / name, [(t, tcp_headers(n, **headers), 1500) for t, n in some])
            for name, some in (("before.pcap", before), ("after.pcap", after))
        ]
        return queue_between(*files)

    return between


class TestQueueBetween:
    @pytest.mark.parametrize("way_ns", [0, 7_000_000])
    def test_waiting(self, pair: Callable[..., pd.DataFrame], way_ns: int) -> None:
        """Of four simultaneous packets three wait, and each leaves when the previous one is sent.

        This holds for wires of any length.
        """
        actual = pair(*drop_tail([0, 0, 0, 0, 9_000_000], 10, way_ns))
        expected = [
            *[(0, "enqueue", n) for n in (1, 2, 3, 4)],
            (0, "dequeue", 3),
            *((n * PACKET_NS, "dequeue", 3 - n) for n in (1, 2, 3)),
            (9_000_000, "enqueue", 1),
            (9_000_000, "dequeue", 0),
        ]
        columns = ["time_ns", "event", "backlog_packets"]
        assert expected == list(actual[columns].itertuples(index=False, name=None))

    def test_drops(self, pair: Callable[..., pd.DataFrame]) -> None:
        """A packet that does not leave was dropped on arrival; no arrival is unaccounted for."""
        rng = np.random.default_rng(5)
        arrivals = np.sort(rng.integers(0, 400 * PACKET_NS, 500)).tolist()
        before, after = drop_tail([*arrivals, 10**9], 5, 3_000)
        actual = pair(before, after)
        counts = actual["event"].value_counts()
        assert len(before) == counts["enqueue"] == counts["dequeue"] + counts["drop"]
        assert len(before) - len(after) == counts["drop"] > 20
        settled = actual.groupby("time_ns").last()["backlog_packets"]
        assert 5 == settled.max()
        assert 0 == actual["backlog_packets"].iloc[-1] == actual["backlog_bytes"].iloc[-1]

    def test_resent(self, pair: Callable[..., pd.DataFrame]) -> None:
        """A packet that is dropped and resent with the same headers waits only once."""
        start_ns = 10**9
        before = [(0, 0), (start_ns, 1), (start_ns + 50_000_000, 1), (start_ns + 60_000_000, 2)]
        after = [(1_000_000, 0), (start_ns + 52_000_000, 1), (start_ns + 61_000_000, 2)]
        actual = pair(before, after, identification=0)
        dropped = actual.loc[actual["event"] == "drop", "time_ns"].tolist()
        assert [start_ns] == dropped  # the first of the two

    def test_end(self, pair: Callable[..., pd.DataFrame]) -> None:
        """Packets still queued at the end, or sent before the start, are no drops."""
        before, after = drop_tail([i * PACKET_NS // 2 for i in range(40)], 100)
        actual = pair(before, after[5:20])
        assert 0 == (actual["event"] == "drop").sum()
        assert 15 == (actual["event"] == "dequeue").sum()

    def test_direction(self, tmp_path: Path, tcp_headers: Headers, write_pcap: Write) -> None:
        """Acknowledgements travel the other way and do not count; other senders' packets do."""
        before, after = drop_tail([0, 0, 0, 5_000_000], 10)
        other = {"source": b"\x0a\x00\x00\x09"}

        def packets(some: list[tuple[int, int]], ack_ns: int) -> list[tuple[int, bytes, int]]:
            back = {"source": b"\x0a\x00\x00\x02", "target": b"\x0a\x00\x00\x01"}
            data = [(t, tcp_headers(n, **(other if n == 1 else {})), 1500) for t, n in some]
            acks = [(t + ack_ns, tcp_headers(n, 52, **back), 52) for t, n in after]
            return sorted([*data, *acks])

        actual = queue_between(
            write_pcap(tmp_path / "b.pcap", packets(before, 400)),
            write_pcap(tmp_path / "a.pcap", packets(after, 200)),
        )
        assert 4 == (actual["event"] == "enqueue").sum() == (actual["event"] == "dequeue").sum()
        assert [0, 1, 0, 0] == actual.loc[actual["event"] == "enqueue", "flow"].tolist()

    def test_translated(self, tmp_path: Path, tcp_headers: Headers, write_pcap: Write) -> None:
        """Packets are matched through translation of addresses and ports."""
        before, after = drop_tail([0, 0, 0, 9_000_000], 1)
        there = {"target": b"\x0a\x00\x07\x07", "port": 1234}
        actual = queue_between(
            write_pcap(tmp_path / "b.pcap", [(t, tcp_headers(n), 1500) for t, n in before]),
            write_pcap(tmp_path / "a.pcap", [(t, tcp_headers(n, **there), 1500) for t, n in after]),
        )
        counts = actual["event"].value_counts()
        assert (4, 1, 3) == (counts["enqueue"], counts["drop"], counts["dequeue"])

    def test_small(self, tmp_path: Path, tcp_headers: Headers, write_pcap: Write) -> None:
        """A small packet, with its shorter time on the wire, does not make others seem to wait."""
        sizes = [60, 1500, 1500]
        starts = [0, 5_000_000, 10_000_000]
        rows = [(t, tcp_headers(n, size), size) for n, (t, size) in
                enumerate(zip(starts, sizes, strict=True))]  # fmt: skip
        later = [(t + 800 * size, headers, size) for t, headers, size in rows]
        actual = queue_between(
            write_pcap(tmp_path / "b.pcap", rows), write_pcap(tmp_path / "a.pcap", later)
        )
        assert (actual.groupby("time_ns").last()["backlog_packets"] == 0).all()

    def test_ipv6(self, tmp_path: Path, write_pcap: Write) -> None:
        """IPv6 has no identification; packets are matched by sequence number."""
        before, after = drop_tail([0, 0, 0, 9_000_000], 1)

        def headers(number: int) -> bytes:
            ports = struct.pack(">HHIIHHHH", 443, 5000, number, 1, 0x5010, 9, 0, 0)
            return struct.pack(">IHBB", 0x60000000, 1460, 6, 64) + bytes(range(32)) + ports

        files = []
        for name, some in (("b.pcap", before), ("a.pcap", after)):
            path = write_pcap(tmp_path / name, [(t, headers(n), 1500) for t, n in some])
            path.write_bytes(
                path.read_bytes().replace(bytes(12) + b"\x08\x00", bytes(12) + b"\x86\xdd")
            )
            files.append(path)
        counts = queue_between(*files)["event"].value_counts()
        assert (4, 1, 3) == (counts["enqueue"], counts["drop"], counts["dequeue"])

    def test_swapped(self, pair: Callable[..., pd.DataFrame]) -> None:
        """Captures in the wrong order are an input error."""
        with pytest.raises(InputError, match="that before the queue first: swap them"):
            pair(*drop_tail([0, 0, 0], 10)[::-1])

    def test_missing_packets(self, pair: Callable[..., pd.DataFrame]) -> None:
        """Packets missing before the queue, as on a busy machine, are an input error."""
        before, after = drop_tail([i * PACKET_NS for i in range(100)], 10)
        with pytest.raises(InputError, match=r"but 2 are missing: record it again with a larger"):
            pair([one for one in before if one[1] not in {50, 60}], after)
        without_packet = pair([item for item in before if item[1] != 50], after)
        assert 99 == (without_packet["event"] == "dequeue").sum()

    def test_several_interfaces(self, tmp_path: Path) -> None:
        """A capture of one direction at several interfaces is refused, with the next step."""
        packets = packet("<", TIMES_NS[0]) + packet("<", TIMES_NS[1], 1)
        path = tmp_path / "both.pcapng"
        path.write_bytes(section("<") + 2 * interface("<", (9, b"\x09")) + packets)
        with pytest.raises(InputError, match=r"both\.pcapng'.*one interface.*run --pcap FOLDER"):
            queue_between(path, path)

    def test_offloads(self, tmp_path: Path, tcp_headers: Headers, write_pcap: Write) -> None:
        """Segments joined by a network card are an input error that says how to avoid it."""
        file = write_pcap(tmp_path / "a.pcap", [(0, tcp_headers(1, 2948), 2948)])
        with pytest.raises(InputError, match="ethtool -K IFACE gro off tso off gso off"):
            queue_between(file, file)

    def test_zero_length(self, tmp_path: Path, tcp_headers: Headers, write_pcap: Write) -> None:
        """Segments that state no length are recognised too."""
        file = write_pcap(tmp_path / "a.pcap", [(0, tcp_headers(1, 0), 65226)])
        with pytest.raises(InputError, match="not of up to 65226 bytes"):
            queue_between(file, file)

    @pytest.mark.parametrize("kept_bytes", [24, 8, 1])
    def test_cut_headers(
        self, tmp_path: Path, tcp_headers: Headers, write_pcap: Write, kept_bytes: int
    ) -> None:
        """Packets with incomplete headers are an input error."""
        file = write_pcap(tmp_path / "a.pcap", [(0, tcp_headers(1)[:kept_bytes], 1500)])
        with pytest.raises(InputError, match="tcpdump -s 128"):
            queue_between(file, file)

    def test_empty(self, tmp_path: Path, write_pcap: Write) -> None:
        """Captures without packets are an input error."""
        file = write_pcap(tmp_path / "a.pcap", [])
        with pytest.raises(InputError, match="it must be a capture with IP packets"):
            queue_between(file, file)


class TestReadAll:
    @pytest.fixture
    def files(self, tmp_path: Path, tcp_headers: Headers, write_pcap: Write) -> list[Path]:
        """Give a pair of captures of 21 s."""
        before, after = drop_tail([i * PACKET_NS * 10 for i in range(2101)], 10)
        return [
            write_pcap(tmp_path / name, [(t, tcp_headers(n), 1500) for t, n in some])
            for name, some in (("before.pcap", before), ("after.pcap", after))
        ]

    def test_mixed(self, tmp_path: Path, files: list[Path]) -> None:
        """Two consecutive captures are one recording, among files of other kinds."""
        csv = tmp_path / "queue.csv"
        csv.write_text("time_s,occupancy_packets\n0,1\n", encoding="utf-8")
        actual = read_all([*files, csv, *files], SETTINGS[0])
        names = ["before.pcap, after.pcap", "queue.csv", "before.pcap, after.pcap"]
        assert names == [item.name for item in actual]
        assert {SETTINGS[0]} == {one.setting for one in actual}

    def test_single(self, tmp_path: Path, files: list[Path]) -> None:
        """A single capture is an input error."""
        for paths in (files[:1], [files[0], tmp_path / "queue.csv"]):
            with pytest.raises(InputError, match="one with the ACKs too, or two captures"):
                read_all(paths, SETTINGS[0])

    def test_no_setting(self, files: list[Path]) -> None:
        """Captures require a setting."""
        with pytest.raises(InputError, match=r"setting of .* is None; it must be that of"):
            read_all(files)

    def test_command(self, files: list[Path]) -> None:
        """`ccbench classify` accepts captures; an empty queue is classified as unknown."""
        done = CliRunner().invoke(
            program, ["classify", *map(str, files), "--setting", "5bw-85rtt-64q"]
        )
        assert 0 == done.exit_code, done.output
        assert "before.pcap, after.pcap" in done.stdout
        assert "congestion control: unknown" == done.stdout.splitlines()[-1]
