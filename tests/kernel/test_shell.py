# SPDX-License-Identifier: Apache-2.0
"""``ccbench shell`` in virtual time: commands of this machine at the end of an emulated path."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from ccbench import Bottleneck, NetworkPath
from ccbench.base.errors import EngineError
from ccbench.cli.main import program
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.shell import TIMED_OUT, VirtualCommand
from ccbench.emulate.recording import CommandRecording
from tests.documentation import CHECKOUT, DOCS, blocks, commands
from tests.kernel.conftest import kernel_with

pytestmark = pytest.mark.kernel

MBPS, RTT_MS, QUEUE_PACKETS = 12, 80, 64
LINK = Bottleneck(bandwidth_mbps=MBPS, queue_packets=QUEUE_PACKETS)
PATH = NetworkPath(bottlenecks=(LINK,), rtt_ms=RTT_MS)
OPTIONS = ("--bandwidth", str(MBPS), "--rtt", str(RTT_MS), "--queue", str(QUEUE_PACKETS))

FILE_BYTES = 2_000_000
#: A server that sends a file to whoever connects, and a client that counts its bytes.
SERVER = (
    "python3 -c 'import socket\n"
    's = socket.create_server(("", {port}))\n'
    "while True:\n"
    "    c, _ = s.accept()\n"
    f"    c.sendall(bytes({FILE_BYTES}))\n"
    "    c.close()'"
)
CLIENT = (
    "import socket, sys\n"
    's = socket.create_connection(("{address}", {port}))\n'
    "total = 0\n"
    "while part := s.recv(1 << 16):\n"
    "    total += len(part)\n"
    "print(total)"
)
DOWNLOAD = ("python3", "-c", CLIENT)


def record(*words: str, server: str = "", **settings: object) -> tuple[CommandRecording, bytes]:
    """Run a command behind the path."""
    command = VirtualCommand(words=words, path=PATH, server=server)
    return replace(command, **settings).record(KernelEngine(kernel_with()))  # type: ignore[arg-type]


def test_sleep() -> None:
    """The clock runs while the command sleeps, and until it ends."""
    recording, printed = record("sh", "-c", "sleep 200; echo late")
    assert (0, b"late\n") == (recording.status, printed)
    assert recording.duration_s == pytest.approx(200, abs=0.1)
    assert recording.queue.empty


def test_status() -> None:
    """The status is the command's, of a missing program that of a shell, and at the limit 124."""
    assert 7 == record("sh", "-c", "exit 7")[0].status
    recording, printed = record("no-such-program")
    assert 127 == recording.status
    assert b"not found" in printed
    recording, _ = record("sleep", "100", limit_s=10)
    assert (TIMED_OUT, 10) == (recording.status, recording.duration_s)


@pytest.mark.skipif(not shutil.which("ping"), reason="ping is not installed")
def test_ping() -> None:
    """A ping takes the path's RTT and the transmission of one packet."""
    _, printed = record("ping", "-c1", "-s1000", "{address}")
    took_ms = float(printed.split(b"time=")[1].split()[0])
    assert took_ms == pytest.approx(RTT_MS + 1028 * 8 / MBPS / 1e3, abs=0.1)


def test_download() -> None:
    """A download crosses the link at its rate, fills the queue, and gives the same bytes again."""
    recording, printed = record(*DOWNLOAD, server=SERVER)
    assert printed.split() == [str(FILE_BYTES).encode()]
    summary = recording.summary()
    assert summary["packets"] > FILE_BYTES / 1448  # type: ignore[operator]
    assert 0.5 < summary["utilisation"] < 1  # type: ignore[operator]
    assert summary["largest_queue_packets"] == QUEUE_PACKETS
    again, _ = record(*DOWNLOAD, server=SERVER)
    assert again.queue.equals(recording.queue)
    assert again.summary() == summary


def test_upload() -> None:
    """With direction up, what the command sends passes the link."""
    receives = "while part := s.recv(1 << 16):\n    total += len(part)"
    sends = CLIENT.replace(receives, "s.sendall(bytes(500_000)); s.shutdown(1); s.recv(1)")
    takes = SERVER.replace(f"c.sendall(bytes({FILE_BYTES}))", "while c.recv(1 << 16): pass")
    carried = {
        direction: record("python3", "-c", sends, server=takes, direction=direction)[0]
        .queue.query("event == 'dequeue'")["bytes"]
        .sum()
        for direction in ("up", "down")
    }
    assert carried["up"] > 500_000 > 10 * carried["down"]


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command starts in the working directory, which it can read and not write."""
    folder = Path.home() / f".ccbench-test-{os.getpid()}"
    folder.mkdir()
    try:
        monkeypatch.chdir(folder)
        Path("here").write_text("read\n")
        recording, printed = record("sh", "-c", "cat here; echo no > here")
        assert printed.startswith(b"read\n")
        assert recording.status != 0
        assert Path("here").read_text() == "read\n"
    finally:
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(folder)


def test_failed_server() -> None:
    """A server that fails is an error with what it printed."""
    with pytest.raises(EngineError, match="ended with exit status 3"):
        record("sleep", "2", server="sh -c 'exit 3'")


class TestCommand:
    @pytest.mark.parametrize("page", ["how-to/shell.md", "coming-from.md"])
    def test_page(self, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The commands of the pages work."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
        texts = [block.text for block in blocks(DOCS / page) if block.mark == "programs"]
        for words in chain.from_iterable(map(commands, texts)):
            if missing := {*words} & {"ping", "iperf3"} - {*filter(shutil.which, words)}:
                pytest.skip(f"not installed: {', '.join(missing)}")
            result = CliRunner().invoke(program, words)
            assert 0 == result.exit_code, result.output
            assert "virtual time" in result.stderr

    def test_recorded(self, tmp_path: Path) -> None:
        """The command line prints the output, the status and both times, and saves the record."""
        words = ("--server", SERVER, "-o", str(tmp_path / "kept"), "--", *DOWNLOAD)
        result = CliRunner().invoke(program, ["shell", *OPTIONS, *words])
        assert 0 == result.exit_code, result.output
        assert str(FILE_BYTES) == result.stdout.strip()
        assert "virtual time" in result.stderr
        assert "real time" in result.stderr
        assert CommandRecording.load(tmp_path / "kept").status == 0

    def test_lines(self) -> None:
        """Without a command, each line of standard input is one."""
        result = CliRunner().invoke(program, ["shell", *OPTIONS], input="echo one\nexit 4\n")
        assert 4 == result.exit_code, result.output
        assert "one\n" in result.stdout

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ("mm-delay", "40", "mm-link", "a", "b", "--", "ls"),
                "--trace b --rtt 80 --queue 1000",
            ),
            (("--rtt", "40", "--queue", "30", "ls"), "either --bandwidth or --trace"),
            (("--bandwidth", "40", "--queue", "30", "ls"), "--rtt is missing"),
            (("--path", "x.toml", *OPTIONS, "ls"), "--path is a whole network"),
            ((*OPTIONS, "--limit", "-1", "ls"), "-1"),
            ((*OPTIONS, "--server", "'", "ls"), "server is"),
            ((*OPTIONS, "--real-time", "--server", "x", "ls"), "--server is for virtual time"),
            (
                (*OPTIONS, "--real-time", "--engine", "bess", "--limit", "1", "ls"),
                "leave it out with --engine bess",
            ),
        ],
    )
    def test_bad_input(self, words: tuple[str, ...], message: str) -> None:
        """Bad options are one line, and status 2."""
        result = CliRunner().invoke(program, ["shell", *words])
        assert 2 == result.exit_code
        (line,) = result.stderr.splitlines()
        assert message in line
