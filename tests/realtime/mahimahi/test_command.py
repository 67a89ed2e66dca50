# SPDX-License-Identifier: Apache-2.0
"""``ccbench shell``: a real program behind real Mahimahi, in a network namespace for the test."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from ccbench import Bottleneck
from ccbench.base.errors import InputError
from ccbench.cli.main import program
from ccbench.emulate._workspace import workspace
from ccbench.emulate.mahimahi.engine import MahimahiEngine
from ccbench.run.stored_tables import Encoded
from tests.documentation import DOCS, blocks, commands

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

_MISSING = [check.name for check in MahimahiEngine().doctor() if not check.ok]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"`ccbench doctor --engine mahimahi` misses {', '.join(_MISSING)}"
)

_LINK = ("--bandwidth", "12", "--rtt", "40", "--queue", "30")
_REAL_TIME = ("--real-time", *_LINK)
_FILE_BYTES = 1_500_000

_MAIN = "from ccbench.cli.main import main; main()"

#: A machine with forwarding on, and a web server for the folder; $1 is ccbench's Python.
_MACHINE = """
ip link set lo up && sysctl -qw net.ipv4.ip_forward={forwarding} && cd "$0" || exit 99
"$1" -m http.server 8000 >server 2>&1 &
server=$!
shift
"$@"
status=$?
kill $server
for _ in $(seq 30); do # what is left of ccbench may take a moment
  iptables -t nat -S | grep -q -e -A || break
  sleep 0.5
done
iptables -t nat -S >rules
exit $status
"""


def shell(folder: Path, *words: str, forwarding: int = 1) -> subprocess.CompletedProcess[str]:
    """Run ``ccbench shell`` with these arguments on that machine."""
    ccbench = [sys.executable, "-c", _MAIN, "shell", "--real-time"]
    machine = ["unshare", "--net", "sh", "-c", _MACHINE.format(forwarding=forwarding)]
    command = [*machine, str(folder), sys.executable, *ccbench, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


#: Downloads a file from the server, counts its bytes, and ends with its own status.
_DOWNLOAD = """
import os, sys, time, urllib.request
url = f"http://{os.environ['MAHIMAHI_BASE']}:8000/file"
for _ in range(50):
    try:
        print(len(urllib.request.urlopen(url).read()), os.getuid())
        sys.exit(7)
    except OSError:  # the server has just been started
        time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the results of a download through the link."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "file").write_bytes(os.urandom(_FILE_BYTES))
    words = ("-o", str(folder / "kept"), "--", "python3", "-c", _DOWNLOAD)
    done = shell(folder, *_LINK, *words)
    assert 7 == done.returncode, done.stderr
    (folder / "said").write_text(done.stdout)
    (folder / "summary").write_text(done.stderr)
    return folder


@pytest.fixture(scope="module")
def queue(folder: Path) -> pd.DataFrame:
    """Give the queue's record."""
    return Encoded((folder / "kept" / "queue.parquet").read_bytes()).frame()


def test_command(folder: Path) -> None:
    """The command gets the whole file, and is not root."""
    size, user = map(int, (folder / "said").read_text().split())
    assert _FILE_BYTES == size
    assert user != 0


@pytest.mark.skipif(not shutil.which("curl"), reason="the page's command needs curl")
def test_page(tmp_path: Path) -> None:
    """The command of docs/how-to/shell.md works, with a local server instead of example.com."""
    page = blocks(DOCS / "how-to" / "shell.md")
    (block,) = (b for b in page if b.language == "sh" and b.mark == "root")
    ((_, *words),) = commands(block.text)
    cut = words.index("--")
    asked = " ".join(words[cut + 1 :]).replace("https://example.com", "http://$MAHIMAHI_BASE:8000")
    assert "$MAHIMAHI_BASE" in asked
    (tmp_path / "file").write_bytes(os.urandom(_FILE_BYTES))
    patient = f'cd "$(mktemp -d)" && until {asked}; do sleep 0.1; done && wc -c file'
    done = shell(tmp_path, *words[:cut], "--", "sh", "-c", patient)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(_FILE_BYTES), "file"]
    assert (tmp_path / "recorded" / "shell.json").is_file()


def test_queue(queue: pd.DataFrame) -> None:
    """All arrivals are recorded, at least the file's bytes; each packet left or was dropped."""
    count = queue["event"].value_counts()
    assert count["enqueue"] == count["dequeue"] + count["drop"]
    assert queue.loc[queue["event"] == "dequeue", "bytes"].sum() > _FILE_BYTES
    waiting = queue.loc[queue["event"] != "enqueue", "backlog_packets"]
    assert 5 < waiting.max() <= 30


def test_rate(queue: pd.DataFrame) -> None:
    """No second has more traffic than the link can carry."""
    left = queue[queue["event"] == "dequeue"]
    per_s = left.groupby(left["time_ns"] // 1_000_000_000)["bytes"].sum()
    assert per_s.max() <= 12e6 / 8 + 1500


def test_summary(folder: Path, queue: pd.DataFrame) -> None:
    """The summary agrees with the record, has its provenance, and is separate from the output."""
    drops = (queue["event"] == "drop").sum()
    document = json.loads((folder / "kept" / "shell.json").read_text())
    assert (document["exit_status"], document["drops"]) == (7, drops)
    assert 0 < document["utilisation"] <= 1
    assert document["provenance"]["engine"] == "mahimahi"
    assert f"{drops}" in (folder / "summary").read_text()


def test_nothing_is_left(folder: Path) -> None:
    """Mahimahi's address rules are removed."""
    rules = (folder / "rules").read_text().splitlines()
    assert rules
    assert all(rule.startswith("-P") for rule in rules)


def test_up(tmp_path: Path) -> None:
    """In the upward direction the command's own packets pass the link."""
    send = (
        "dd if=/dev/zero bs=1000 count=300 status=none | timeout 2 cat >/dev/udp/$MAHIMAHI_BASE/9"
    )
    words = ("--direction", "up", "-o", str(tmp_path / "kept"), "--", "bash", "-c", send)
    done = shell(tmp_path, *_LINK, *words)
    assert 0 == done.returncode, done.stderr
    queue = Encoded((tmp_path / "kept" / "queue.parquet").read_bytes()).frame()
    assert queue.loc[queue["event"] == "enqueue", "bytes"].sum() > 300_000


def test_no_forwarding(tmp_path: Path) -> None:
    """If the machine does not forward packets, the message has the command that enables it."""
    done = shell(tmp_path, *_LINK, "--", "true", forwarding=0)
    assert 1 == done.returncode
    assert "sudo sysctl -w net.ipv4.ip_forward=1" in done.stderr


def test_two_at_once(tmp_path: Path) -> None:
    """Two commands that run at the same time have a link each."""
    ccbench = shlex.join([sys.executable, "-c", _MAIN, "shell", "--real-time", *_LINK, "--"])
    meet = "touch $1; for i in $(seq 300); do [ -e $2 ] && exit; sleep 0.1; done; exit 1"
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o777)  # for the user of the commands
        both = " & ".join(
            f"{ccbench} sh -c {shlex.quote(meet)} sh {shared}/{own} {shared}/{other}"
            for own, other in (("a", "b"), ("b", "a"))
        )
        machine = ["unshare", "--net", "sh", "-c", _MACHINE.format(forwarding=1), str(tmp_path)]
        command = [*machine, sys.executable, "bash", "-c", f"{both} & wait %1 && wait %2"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert 0 == done.returncode, done.stderr
    assert 2 == done.stderr.count("exit status            0")


@contextmanager
def workspace_after_workspace() -> Iterator[None]:
    """Start and end one run after the other, which creates and removes folders."""
    done = threading.Event()

    def work() -> None:
        while not done.wait(0.02):
            with workspace():
                pass

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class TestEnd:
    """A command of 50 s that is ended early, and its leftovers."""

    @staticmethod
    def _end(folder: Path, number: int, *, terminal: bool) -> subprocess.CompletedProcess[str]:
        """Send a signal to ccbench, or, like a terminal, to all its processes."""
        machine = ["unshare", "--net", "sh", "-c", f"trap : INT\n{_MACHINE.format(forwarding=1)}"]
        ccbench = [sys.executable, "-c", f"import os; print(os.getpid(), flush=True); {_MAIN}"]
        words = ["-o", "kept", "--", "sh", "-c", "echo ready; exec sleep 50"]
        with subprocess.Popen(
            [
                *machine,
                str(folder),
                sys.executable,
                *ccbench,
                "shell",
                "--real-time",
                *_LINK,
                *words,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)
            if terminal:
                os.killpg(process.pid, number)
            else:
                os.kill(pid, number)
            stdout, stderr = process.communicate(timeout=45)  # until no process has them open
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    def test_stopped(self, tmp_path: Path, number: signal.Signals) -> None:
        """A ccbench that is stopped or killed ends the command and removes Mahimahi's rules.

        Meanwhile another run cleans up after killed ones.
        """
        with workspace_after_workspace():
            done = self._end(tmp_path, number, terminal=False)
        assert 128 + number == done.returncode
        rules = (tmp_path / "rules").read_text().splitlines()
        assert rules
        assert [] == [rule for rule in rules if not rule.startswith("-P")]

    def test_interrupted(self, tmp_path: Path) -> None:
        """After Ctrl-C the status is a shell's, and the record so far is saved."""
        done = self._end(tmp_path, signal.SIGINT, terminal=True)
        assert 130 == done.returncode, done.stderr
        document = json.loads((tmp_path / "kept" / "shell.json").read_text())
        assert 0.3 < document["duration_s"] < 20


class TestBadInput:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--bandwidth", "12", "--rtt", "41", "--queue", "30"), "rtt_ms is 41.0"),
            (("--rtt", "40", "--queue", "30"), "either --bandwidth or --trace"),
            ((*_LINK, "--trace", "nowhere.trace"), "either --bandwidth or --trace"),
            (("--trace", "nowhere.trace", "--rtt", "40", "--queue", "30"), "nowhere.trace"),
            ((*_LINK, "--loss", "1"), "loss is 1.0"),
        ],
    )
    def test_options(self, words: tuple[str, ...], message: str) -> None:
        """A link that Mahimahi cannot emulate is one line with the setting, and status 2."""
        result: Result = CliRunner().invoke(program, ["shell", "--real-time", *words, "--", "true"])
        assert 2 == result.exit_code
        (line,) = result.stderr.splitlines()
        assert message in line

    def test_queue(self) -> None:
        """Only queues that can be reconstructed from the log are recorded."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=10, qdisc="codel")
        with pytest.raises(InputError, match="qdisc is 'codel'; it must be 'droptail'"):
            MahimahiEngine().record(["true"], link, 40)
