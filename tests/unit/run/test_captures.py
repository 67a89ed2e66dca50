# SPDX-License-Identifier: Apache-2.0
"""Captures of several points: their files, comments and paths."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.base.errors import InputError
from ccbench.run.captures import writer
from ccbench.run.captures.reader import IpPacket, read_capture

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_LINK = Bottleneck(bandwidth_mbps=10, queue_packets=63)
SCENARIO = Scenario(
    flows=(Flow(),), path=NetworkPath(bottlenecks=(_LINK,), rtt_ms=40), duration_s=20
)
NAMES = writer.points(SCENARIO)


def packet(number: int) -> IpPacket:
    """Return one of many packets, which differ in time, point and sizes."""
    bytes_of_headers = (28, 40, 52, 60)[number % 4]
    length = 1500 if number % 3 else bytes_of_headers
    headers = bytes([0x45, 0, *length.to_bytes(2, "big"), *number.to_bytes(4, "big")])
    headers += bytes(bytes_of_headers - len(headers))
    return IpPacket(5_000_000_000 * number, headers, length, number * number % len(NAMES))


def blocks(packets: list[IpPacket]) -> npt.NDArray[np.uint8]:
    """Return the packets as the virtual kernel records them."""
    parts = []
    for one in packets:
        size = writer.BLOCK_BYTES + len(one.headers)
        high, low = divmod(one.time_ns, 2**32)
        sizes = len(one.headers), one.length
        parts.append(struct.pack("=7I", 6, size, one.interface, high, low, *sizes))
        parts += [one.headers, struct.pack("=I", size)]
    return np.frombuffer(b"".join(parts), np.uint8)


def write(path: Path, packets: list[IpPacket], comments: dict[int, str] | None = None) -> None:
    """Write packets with comments on some of them by their number."""
    ends = np.cumsum([writer.BLOCK_BYTES + len(one.headers) for one in packets])
    starts = [0, *ends.tolist()]
    positions = {starts[number]: text for number, text in (comments or {}).items()}
    about = {"program": "ccbench", "description": "a run"}
    writer.write(path, blocks(packets), NAMES, comments=positions, **about)


PACKETS = [packet(number) for number in range(50)]
COMMENTS = {0: "flow 0: Zoë", 7: "flow 1", 8: "flow 2", 49: "flow 3"}


class TestWrite:
    @pytest.mark.parametrize("comments", [{}, COMMENTS])
    def test_file(self, tmp_path: Path, comments: dict[int, str]) -> None:
        """A file has all packets in order, each with the interface of its point."""
        write(tmp_path / "a.pcapng", PACKETS, comments)
        assert PACKETS == list(read_capture(tmp_path / "a.pcapng"))

    @pytest.mark.parametrize("at_once", [1, 7, 1000])
    @pytest.mark.parametrize("comments", [{}, COMMENTS])
    def test_folder(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        at_once: int,
        comments: dict[int, str],
    ) -> None:
        """A folder has a file for each point, with its packets at its only interface."""
        monkeypatch.setattr(writer, "_PACKETS_AT_ONCE", at_once)
        write(tmp_path / "packets", PACKETS, comments)
        names = writer.file_names(NAMES)
        assert {*names} == {path.name for path in (tmp_path / "packets").iterdir()}
        for number, name in enumerate(names):
            path = tmp_path / "packets" / name
            expected = [one._replace(interface=0) for one in PACKETS if one.interface == number]
            assert expected == list(read_capture(path))
            content = path.read_bytes()
            for of, comment in comments.items():
                assert (comment.encode() in content) == (PACKETS[of].interface == number)

    @pytest.mark.parametrize("name", ["a.pcapng", "packets"])
    def test_nothing(self, tmp_path: Path, name: str) -> None:
        """A run without packets has captures without packets."""
        write(tmp_path / name, [])
        files = [tmp_path / name] if name == "a.pcapng" else list((tmp_path / name).iterdir())
        assert [[]] * len(files) == [list(read_capture(file)) for file in files]

    def test_replaced(self, tmp_path: Path) -> None:
        """A capture replaces an earlier one."""
        for packets in (PACKETS, PACKETS[:3]):
            write(tmp_path / "packets", packets)
        count = sum(len(list(read_capture(file))) for file in (tmp_path / "packets").iterdir())
        assert 3 == count


class TestUntil:
    @pytest.mark.parametrize("count", [0, 1, 20, 50])
    def test_end(self, count: int) -> None:
        """Packets after the end are left out, those at the end are not."""
        end_ns = PACKETS[count - 1].time_ns if count else -1
        kept = writer.until(blocks(PACKETS), end_ns)
        np.testing.assert_array_equal(kept, blocks(PACKETS[:count]))


class TestPath:
    @pytest.mark.parametrize("name", ["a.pcapng", "packets", "older"])
    def test_accepted(self, tmp_path: Path, name: str) -> None:
        """A new file or folder, or the folder of an earlier capture, is accepted."""
        write(tmp_path / "older", PACKETS)
        assert tmp_path / name == writer.check_path(str(tmp_path / name), SCENARIO)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("a.pcap", r"must be a file that ends with \.pcapng, or a folder.*name.*a\.pcapng"),
            ("other/a.pcapng", r"its folder must exist: mkdir -p .*other$"),
            ("folder.pcapng", r"cannot be written: name another file$"),
            ("full", r"contains notes\.txt, .*: name another folder$"),
        ],
    )
    def test_refused(self, tmp_path: Path, name: str, message: str) -> None:
        """Other paths are refused with the next step."""
        (tmp_path / "folder.pcapng").mkdir()
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "notes.txt").touch()
        with pytest.raises(InputError, match=message):
            writer.check_path(tmp_path / name, SCENARIO)
