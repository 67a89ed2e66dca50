# SPDX-License-Identifier: Apache-2.0
"""Files of BESS's hooks, and their parser."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from ccbench import Bottleneck
from ccbench.base.errors import EngineError
from ccbench.emulate.bess import pcap
from ccbench.emulate.bess.account import Account
from ccbench.emulate.bess.records import queue_record, rate_error, read_command
from ccbench.emulate.realtime import packet_record
from ccbench.emulate.realtime.packet_record import PACKET_RECORD

if TYPE_CHECKING:
    from pathlib import Path

FILE_HEADER = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1500, 1)


def frame(port: int, identification: int, sequence: int, payload: int = 1000) -> bytes:
    """Return an Ethernet frame with a TCP segment."""
    length = 40 + payload
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, length, identification, 0, 64, 6, 0, 1, 2)
    tcp = struct.pack("!HHIIHHHH", 40_000, port, sequence, 0, 0x5010, 100, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + tcp + bytes(payload)


def written(path: Path, *packets: tuple[int, bytes]) -> Path:
    """Write packets, each with its microseconds since 1970, as BESS does."""
    parts = [FILE_HEADER]
    for time_us, data in packets:
        parts.append(struct.pack("=IIII", *divmod(time_us, 1_000_000), len(data), len(data)))
        parts.append(data)
    path.write_bytes(b"".join(parts))
    return path


def packets(*times_ns: int, length: int = 1500) -> Any:
    """Return records of packets of flow 0, each with its own number."""
    rows = [(time_ns, 20_000, length, i, i) for i, time_ns in enumerate(times_ns)]
    return np.array(rows, dtype=PACKET_RECORD)


class TestPcap:
    def test_packet(self, tmp_path: Path) -> None:
        """A packet's record has its time, its receiver's port, its IP length and its numbers."""
        file = written(tmp_path / "a", (1_700_000_000_123_456, frame(20_003, 77, 123_456_789)))
        (record,) = pcap.read(file).tolist()
        assert record == (1_700_000_000_123_456_000, 20_003, 1040, 77, 123_456_789)
        assert packet_record.flow_of(pcap.read(file)).tolist() == [3]

    def test_others(self, tmp_path: Path) -> None:
        """Packets other than TCP and UDP over IPv4 belong to no flow."""
        arp = bytes(12) + b"\x08\x06" + bytes(28)
        assert pcap.read(written(tmp_path / "a", (1, arp)))["port"].tolist() == [0]

    def test_empty(self, tmp_path: Path) -> None:
        """A file without packets has none."""
        assert len(pcap.read(written(tmp_path / "a"))) == 0

    @pytest.mark.parametrize("cut", [1, 16, 1000, 1053])
    def test_cut(self, tmp_path: Path, cut: int) -> None:
        """A file that ends within a packet is an error, wherever it ends."""
        file = written(tmp_path / "a", (1, frame(20_000, 1, 1)), (2, frame(20_000, 2, 2)))
        file.write_bytes(file.read_bytes()[:-cut])
        with pytest.raises(EngineError, match="ends within a packet"):
            pcap.read(file)

    @pytest.mark.parametrize("content", [b"", b"something else that is long enough"])
    def test_no_pcap(self, tmp_path: Path, content: bytes) -> None:
        """A file of another format is an error."""
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(EngineError, match="not a pcap file"):
            pcap.read(tmp_path / "a")


class TestWhich:
    def test_lost(self) -> None:
        """Of packets that keep their order, those not seen later are returned."""
        sent = packets(*range(10))
        seen = sent[[0, 1, 3, 4, 9]]
        actual = packet_record.seen_later(sent, seen)
        assert np.flatnonzero(actual).tolist() == [0, 1, 3, 4, 9]

    def test_equal(self) -> None:
        """Of equal consecutive packets, the last ones are those that passed a full queue."""
        resets = packets(0, 10, 20, 30)
        resets["identification"] = resets["key"] = 0
        seen = resets[2:].copy()
        seen["time_ns"] += 100
        assert packet_record.seen_later(resets, seen).tolist() == [False, False, True, True]

    def test_equal_and_early(self) -> None:
        """A packet that arrived after the departure of its equal did not pass as that."""
        resets = packets(0, 10)
        resets["identification"] = resets["key"] = 0
        seen = resets[:1].copy()
        seen["time_ns"] += 5
        assert packet_record.seen_later(resets, seen).tolist() == [True, False]

    @pytest.mark.parametrize("dropped", range(4))
    def test_equal_with_arrivals(self, dropped: int) -> None:
        """Of equal packets, those passed whose times of arrival the later point knows."""
        resets = packets(0, 10, 20, 30)
        resets["identification"] = resets["key"] = 0
        arrived_ms = np.array([1, 1, 2, 3])
        passed = np.delete(np.arange(4), dropped)
        seen = resets[passed].copy()
        seen["time_ns"] += 100
        actual = packet_record.seen_later(resets, seen, (arrived_ms, arrived_ms[passed]))
        assert arrived_ms[actual].tolist() == arrived_ms[passed].tolist()

    def test_order(self) -> None:
        """Reordered packets are an error, because no record can be trusted then."""
        sent = packets(*range(4))
        with pytest.raises(EngineError, match="another order"):
            packet_record.seen_later(sent, sent[[1, 0]])


class TestQueue:
    def test_backlog(self) -> None:
        """The backlog is arrivals less departures and drops, in packets and bytes."""
        arrivals = packets(0, 10, 20, 30)
        came_out = np.array([True, True, False, True])
        departures = arrivals[came_out].copy()
        departures["time_ns"] = [5, 25, 35]
        queue = queue_record(arrivals, came_out, departures)
        assert queue["event"].tolist() == [
            *("enqueue", "dequeue", "enqueue", "enqueue", "drop", "dequeue", "enqueue", "dequeue"),
        ]
        assert queue["backlog_packets"].tolist() == [1, 0, 1, 2, 1, 0, 1, 0]
        assert (queue["backlog_bytes"] == 1500 * queue["backlog_packets"]).all()
        assert queue["time_ns"].is_monotonic_increasing

    def test_same_instant(self) -> None:
        """A packet may leave at the instant of its arrival; a drop follows its own arrival."""
        arrivals = packets(7, 7, 7)
        came_out = np.array([True, False, True])
        queue = queue_record(arrivals, came_out, arrivals[came_out])
        expected = ["enqueue", "enqueue", "drop", "enqueue", "dequeue", "dequeue"]
        assert queue["event"].tolist() == expected

    def test_impossible(self) -> None:
        """A packet that leaves before it arrives is an error."""
        arrivals = packets(10)
        departures = packets(5)
        with pytest.raises(EngineError, match="before their arrival"):
            queue_record(arrivals, np.array([True]), departures)


class TestAccount:
    FINE = Account(
        time_s=20.0,
        sent=100,
        queued=90,
        dropped=5,
        left=90,
        received=90,
        answers_sent=50,
        answers_received=50,
        waited_s=0.5,
    )

    def test_fine(self) -> None:
        """Complete records with only intended losses are accepted."""
        self.FINE.check(sent=100, arrived=95, departed=90)

    @pytest.mark.parametrize(
        ("changes", "where"),
        [
            ({"sent": 101}, "1 packets are missing between the sender and the switch"),
            ({"dropped": 9}, "4 packets are missing from the record of arrivals"),
            ({"left": 91, "received": 91}, "1 packets are missing from the record of departures"),
            ({"received": 80}, "10 packets are missing between the switch and the receiver"),
            ({"answers_received": 49}, "1 packets are missing on the reverse path"),
        ],
    )
    def test_missing(self, changes: dict[str, int], where: str) -> None:
        """A packet that is missing anywhere is an error with the place."""
        with pytest.raises(EngineError, match=where):
            replace(self.FINE, **changes).check(sent=100, arrived=95, departed=90)

    def test_waited(self) -> None:
        """The switch's waiting time is a share of the time of its counters."""
        assert self.FINE.waited_share == 0.025

    def test_since(self) -> None:
        """Counters since a time exclude earlier packets."""
        assert self.FINE.since(self.FINE) == Account(**dict.fromkeys(vars(self.FINE), 0))


class TestRate:
    @pytest.mark.parametrize("speed", [0.97, 1.0, 1.004])
    def test_busy(self, speed: float) -> None:
        """While packets wait, the gaps between departures reveal the rate."""
        n = 500
        gaps_ns = np.full(n, 1e6)
        departures = packets(*(int(i * 1e6 / speed) for i in range(n)))
        error = rate_error(packets(*([0] * n)), departures, gaps_ns)
        assert error == pytest.approx(speed - 1, abs=1e-5)

    def test_idle(self) -> None:
        """While none waits, the rate is unknown."""
        times_ns = [int(i * 5e6) for i in range(500)]
        assert rate_error(packets(*times_ns), packets(*times_ns), np.full(500, 1e6)) is None


class TestCommand:
    """The session of a command, whose packets BESS has written."""

    LINK = Bottleneck(bandwidth_mbps=12, queue_packets=3)
    ABOUT: ClassVar[dict[str, Any]] = {
        "status": 0,
        "was_interrupted": False,
        "provenance": {"bottleneck": LINK.to_dict()},
    }

    @staticmethod
    def icmp(number: int) -> bytes:
        """Return a frame without ports; all such frames of a length look alike in the records."""
        ip = struct.pack("!BBHHHBBHII", 0x45, 0, 84, number, 0, 64, 1, 0, 1, 2)
        return bytes(12) + b"\x08\x00" + ip + bytes(64)

    def left(
        self, folder: Path, arrivals: list[tuple[int, bytes]], departures: list[tuple[int, bytes]]
    ) -> Path:
        """Write the files of a session in which nothing else happened."""
        written(folder / "arrivals", *arrivals)
        written(folder / "departures", *departures)
        (folder / "zero").write_text("0", encoding="utf-8")
        came, left = len(arrivals), len(departures)
        counted = Account(
            time_s=2.0,
            sent=came,
            queued=left,
            dropped=came - left,
            left=left,
            received=left,
            answers_sent=1,
            answers_received=1,
            waited_s=0.0,
        )
        (folder / "account.json").write_text(json.dumps(asdict(counted)), encoding="utf-8")
        return folder

    def test_any_packet(self, tmp_path: Path) -> None:
        """Every dropped packet is recorded as such, even without ports; all belong to flow 0."""
        arrivals = [
            *((10, frame(443, 1, 1)), (11, self.icmp(1)), (12, self.icmp(2))),
            (13, frame(80, 2, 1)),
        ]
        departures = [(time_us + 2_000, data) for time_us, data in (*arrivals[:2], arrivals[3])]
        recording = read_command(self.left(tmp_path, arrivals, departures), self.LINK, **self.ABOUT)
        count = recording.queue["event"].value_counts()
        assert (count["enqueue"], count["dequeue"], count["drop"]) == (4, 3, 1)
        assert recording.queue["backlog_packets"].iloc[-1] == 0
        assert set(recording.queue["flow"]) == {0}
        assert recording.queue.loc[recording.queue["event"] == "drop", "bytes"].tolist() == [84]

    def test_large(self, tmp_path: Path) -> None:
        """A super-packet, which no wire carries, is an error."""
        both = [(10, frame(443, 1, 1, payload=1461))]
        with pytest.raises(EngineError, match="a packet of 1501 bytes"):
            read_command(self.left(tmp_path, both, both), self.LINK, **self.ABOUT)

    @pytest.mark.parametrize(
        ("gap_us", "word"), [(1000, None), (1020, "rate_error -0.0"), (980, "rate_error 0.0")]
    )
    def test_rate(self, tmp_path: Path, gap_us: int, word: str | None) -> None:
        """The rate of packets that waited is checked; a wrong rate is an error."""
        arrivals = [(0, frame(443, i, i, payload=1460)) for i in range(200)]
        departures = [(i * gap_us, data) for i, (_, data) in enumerate(arrivals)]
        folder = self.left(tmp_path, arrivals, departures)
        if word is None:
            assert read_command(folder, self.LINK, **self.ABOUT).provenance["rate_error"] == 0
            return
        with pytest.raises(EngineError, match=f"too busy .*{word}"):
            read_command(folder, self.LINK, **self.ABOUT)
