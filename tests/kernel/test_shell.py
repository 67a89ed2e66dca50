# SPDX-License-Identifier: Apache-2.0
"""``ccbench shell`` in virtual time: commands of this machine at the end of an emulated path."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench import Bottleneck, NetworkPath
from ccbench.base.errors import EngineError, InputError
from ccbench.cli.main import program
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.shell import TIMED_OUT, VirtualCommand
from ccbench.emulate.recording import CommandRecording
from tests.documentation import CHECKOUT, DOCS, blocks, commands
from tests.kernel.conftest import kernel_with

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Run a command behind the path; return its recording and what it printed."""
    recording, printed, _ = record_all(*words, server=server, **settings)
    return recording, printed


def record_all(*words: str, **settings: object) -> tuple[CommandRecording, bytes, dict[str, bytes]]:
    """Do the same, and return also the files that the command wrote."""
    printed: list[bytes] = []
    command = replace(VirtualCommand(words=words, path=PATH), **settings)  # type: ignore[arg-type]
    recording, written = command.record(KernelEngine(kernel_with()), printed.append)
    return recording, b"".join(printed), written


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


@pytest.fixture
def home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the working directory, which the guest sees."""
    folder = Path.home() / f".ccbench-test-{os.getpid()}" / "work"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    yield folder
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(folder.parent)


def test_files(home_folder: Path) -> None:
    """A command starts among the files of the working directory, which it cannot change."""
    (home_folder / "here").write_text("read\n")
    (home_folder.parent / "above").write_text("read\n")
    recording, printed = record("sh", "-c", f"cat here ../above {home_folder}/here; echo no > here")
    assert printed.startswith(b"read\nread\nread\n")
    assert recording.status != 0
    assert (home_folder / "here").read_text() == "read\n"


def test_written_files(home_folder: Path) -> None:
    """It can create files there, which are returned, and do not exist on the host."""
    words = ("sh", "-c", "mkdir logs; echo one > logs/a; echo two > b; cat logs/a b")
    recording, printed, written = record_all(*words)
    assert (0, b"one\ntwo\n") == (recording.status, printed)
    assert written == {"b": b"two\n", "logs/a": b"one\n"}
    assert not list(home_folder.iterdir())


def test_input() -> None:
    """A command reads the given standard input to its end, of any bytes; else there is none."""
    data = bytes(range(256)) * 400
    _, printed = record("wc", "-c", standard_input=data)
    assert printed.split() == [str(len(data)).encode()]
    _, printed = record("tail", "-c", "256", standard_input=data)
    assert printed == data[-256:]
    assert record("cat")[1] == b""
    with pytest.raises(InputError, match="standard input is 1000000; it must be at most"):
        record("cat", standard_input=bytes(1_000_000))


def test_live_output() -> None:
    """What a command prints is passed on while it runs, in order and once."""
    parts: list[tuple[float, bytes]] = []
    code = "import time\nfor i in range(30):\n  print(i, flush=True)\n  sum(range(10**7))"
    VirtualCommand(words=("python3", "-c", code), path=PATH).record(
        KernelEngine(kernel_with()), lambda part: parts.append((time.monotonic(), part))
    )
    assert b"".join(part for _, part in parts).split() == [str(i).encode() for i in range(30)]
    assert len(parts) > 3


def test_long_output() -> None:
    """A program that prints without end is an error that says so, not a full disk."""
    with pytest.raises(EngineError, match=r"receiver of flow 0, .*printed more than 100 MB"):
        record("cat", "/dev/zero")


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
        code = f"{CLIENT}\nopen('log', 'w').write('done')"
        words = ("--server", SERVER, "-o", str(tmp_path / "kept"), "--", "python3", "-c", code)
        result = CliRunner().invoke(program, ["shell", *OPTIONS, *words])
        assert 0 == result.exit_code, result.output
        assert str(FILE_BYTES) == result.stdout.strip()
        assert "virtual time" in result.stderr
        assert "real time" in result.stderr
        assert CommandRecording.load(tmp_path / "kept").status == 0
        assert (tmp_path / "kept/files/log").read_text() == "done"

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
