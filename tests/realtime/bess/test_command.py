# SPDX-License-Identifier: Apache-2.0
"""Commands behind BESS: a machine and a server, which are network namespaces for the test.

The switch is the stand-in for bessd, and the real one if ``CCBENCH_BESS_DIR`` names it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.bess.engine import BessEngine
from ccbench.emulate.recording import CommandRecording
from tests.realtime.disturbance import skip_if_busy

if TYPE_CHECKING:
    import pandas as pd

_FILE_BYTES = 1_500_000
_LINK: dict[str, Any] = {"bandwidth_mbps": 6, "queue_packets": 31}
_RTT_MS = 40

#: A machine with a wire to a server, whose only neighbour is the machine, and which sends
#: super-packets as to a network card. $0 is the served folder.
_MACHINE = """
ip link set lo up && sysctl -qw net.ipv4.ip_forward={forwarding} && cd "$0" || exit 99
{before}
trap : INT
mkfifo ready && setsid unshare --net sh -c 'echo >ready; exec sleep infinity' & far=$!
until [ -p ready ]; do sleep 0.01; done
read -r _ <ready; rm ready
ip link add to-server type veth peer name to-machine netns $far
ip address add 203.0.113.1/24 dev to-server && ip link set to-server up || exit 98
setsid nsenter --net=/proc/$far/ns/net sh -c 'ip address add 203.0.113.2/24 dev to-machine
ip link set to-machine up; exec "$0" -m http.server 8000' "$1" >server 2>&1 & server=$!
shift
"$@"
status=$?
for _ in $(seq 30); do # what is left of ccbench may take a moment
  iptables -t nat -S | grep -q -e -A || ip -br link | grep -q ccbench || break
  sleep 0.5
done
iptables -t nat -S >rules
ip -br link >devices
kill $server $far
exit $status
"""

#: Runs ccbench. The lateness of links is not tested here, as this machine may have other load.
_CCBENCH = """
import os
from ccbench.cli.main import main
from ccbench.emulate.bess import records as of_bess
from ccbench.emulate.realtime import records
of_bess.LARGEST_RATE_ERROR, records.LATE_MS = 0.5, 500
print(os.getpid(), flush=True)
main()
"""

#: Downloads a file; prints the shortest round trip, the number of bytes, and the user.
_DOWNLOAD = """
import os, socket, sys, time, urllib.request
trips_ms = []
for _ in range(50):
    begin_s = time.monotonic()
    try:
        socket.create_connection(("203.0.113.2", 8000)).close()
    except ConnectionRefusedError:  # the server has just been started
        time.sleep(0.1)
    else:
        trips_ms.append((time.monotonic() - begin_s) * 1e3)
        if len(trips_ms) == 5:
            size = len(urllib.request.urlopen("http://203.0.113.2:8000/file").read())
            print(min(trips_ms), size, os.getuid())
            sys.exit(7)
"""


@pytest.fixture(scope="module", autouse=True)
def _can(bess: Path) -> None:
    missing = [
        check.name
        for check in BessEngine(bess).link_checks()
        if not check.ok and check.name != "forwarding"
    ]
    if missing:
        pytest.skip(f"missing on this machine: {', '.join(missing)}")


def start(
    folder: Path,
    bess: Path,
    command: list[str],
    *,
    forwarding: int = 1,
    before: str = "",
    **variables: str,
) -> subprocess.Popen[str]:
    """Record a command on that machine, after an optional preparation."""
    link = ["--bandwidth", "6", "--queue", "31", "--rtt", str(_RTT_MS)]
    output = ["-o", str(folder / "recording")]
    words = ["-c", _CCBENCH, "shell", "--engine", "bess", *link, *output, "--", *command]
    script = _MACHINE.format(forwarding=forwarding, before=before)
    machine = ["unshare", "--net", "sh", "-c", script]
    return subprocess.Popen(
        [*machine, str(folder), sys.executable, sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "CCBENCH_BESS_DIR": str(bess), **variables},
    )


def run(
    folder: Path, bess: Path, command: list[str], **how: Any
) -> subprocess.CompletedProcess[str]:
    """Record a command, and wait for it; return its output, without the process number."""
    with start(folder, bess, command, **how) as process:
        stdout, stderr = process.communicate(timeout=300)
    return subprocess.CompletedProcess(
        command, process.returncode, stdout.partition("\n")[2], stderr
    )


def left_on(folder: Path) -> list[str]:
    """Return the leftovers of ccbench on the machine."""
    rules = (folder / "rules").read_text().splitlines()
    assert rules
    devices = (folder / "devices").read_text().splitlines()
    assert any("to-server" in device for device in devices)
    return [rule for rule in rules if not rule.startswith("-P")] + [
        device for device in devices if "ccbench" in device
    ]


@dataclass(frozen=True)
class Download:
    """Results and output of a download through the link."""

    recording: CommandRecording
    trip_ms: float
    size: int
    user: int
    left: list[str]


@pytest.fixture(scope="module", params=["stand-in", "real"])
def download(
    request: pytest.FixtureRequest, bess: Path, tmp_path_factory: pytest.TempPathFactory
) -> Download:
    """Give a download, on the stand-in and on the real BESS."""
    directory = bess
    if request.param == "real":
        if "CCBENCH_BESS_DIR" not in os.environ:
            pytest.skip("CCBENCH_BESS_DIR names no BESS")
        directory = Path(os.environ["CCBENCH_BESS_DIR"])
    folder = tmp_path_factory.mktemp("machine")
    (folder / "file").write_bytes(os.urandom(_FILE_BYTES))
    done = run(folder, directory, ["python3", "-c", _DOWNLOAD])
    skip_if_busy(done.stderr)
    assert done.returncode == 7, done.stderr
    trip_ms, size, user = done.stdout.split()
    return Download(
        CommandRecording.load(folder / "recording"),
        float(trip_ms),
        int(size),
        int(user),
        left_on(folder),
    )


@pytest.fixture(scope="module")
def queue(download: Download) -> pd.DataFrame:
    """Give the queue's record."""
    return download.recording.queue


class TestRecord:
    def test_command(self, download: Download) -> None:
        """The command gets the whole file, and is not root."""
        assert download.size == _FILE_BYTES
        assert download.user != 0

    def test_delay(self, download: Download) -> None:
        """A round trip takes the added delay, within mm-delay's milliseconds each way."""
        assert _RTT_MS - 2 < download.trip_ms < _RTT_MS + 15

    def test_conservation(self, queue: pd.DataFrame) -> None:
        """All of the file passes the queue; each arriving packet leaves it or is dropped."""
        count = queue["event"].value_counts()
        assert count["enqueue"] == count["dequeue"] + count["drop"]
        assert queue["backlog_packets"].iloc[-1] == 0
        assert queue.loc[queue["event"] == "dequeue", "bytes"].sum() > _FILE_BYTES
        assert set(queue["flow"]) == {0}

    def test_limit(self, queue: pd.DataFrame) -> None:
        """The queue fills exactly to its limit."""
        waiting = queue.loc[queue["event"] != "enqueue", "backlog_packets"]
        assert waiting.max() == pytest.approx(31, abs=1)

    def test_packets(self, queue: pd.DataFrame) -> None:
        """Packets are as on a real wire, although the server sends super-packets."""
        assert queue["bytes"].max() == 1500

    def test_rate(self, download: Download, queue: pd.DataFrame) -> None:
        """Full packets pass at the link's rate of IP bytes."""
        if abs(download.recording.provenance["rate_error"]) > 0.005:
            pytest.skip("this machine was too busy")
        left = queue[queue["event"] == "dequeue"]
        gaps_ms = left["time_ns"].diff().shift(-1) / 1e6
        busy = (left["backlog_packets"] > 0) & (left["bytes"] == 1500)
        assert busy.sum() > 500
        assert gaps_ms[busy].mean() == pytest.approx(1500 * 8 / 6e3, rel=0.01)

    def test_provenance(self, download: Download) -> None:
        """The record states its origin and its precision."""
        recording = download.recording
        made_by = recording.provenance
        assert (recording.status, made_by["engine"]) == (7, "bess")
        assert (recording.bottleneck, made_by["rtt_ms"]) == (Bottleneck(**_LINK), _RTT_MS)
        assert {"rate_error", "late_ms_p99", "switch_waited_share"} <= set(made_by)
        assert not made_by["is_late"]
        assert recording.duration_s > recording.queue["time_ns"].max() / 1e9 > 2

    def test_nothing_is_left(self, download: Download) -> None:
        """The machine has no more rules and devices than before."""
        assert download.left == []


class TestEnd:
    """A command of 50 s that is ended early, and its leftovers."""

    @staticmethod
    def _end(
        folder: Path, bess: Path, alone: Any, number: int, *, terminal: bool
    ) -> subprocess.CompletedProcess[str]:
        """Send a signal to ccbench, or, like a terminal, to all its processes."""
        with start(folder, bess, ["sh", "-c", "echo ready; exec sleep 50"]) as process:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            ready = process.stdout.readline()
            assert ready == "ready\n", process.communicate()[1]
            own = alone.namespaces()
            if terminal:
                os.killpg(process.pid, number)
            else:
                os.kill(pid, number)
            stdout, stderr = process.communicate(timeout=45)  # until no process has them open
        assert alone.has_ended(own)
        return subprocess.CompletedProcess([], process.returncode, stdout, stderr)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    def test_stopped(self, tmp_path: Path, bess: Path, alone: Any, number: int) -> None:
        """A ccbench that is stopped or killed ends all its processes, and restores the machine."""
        folder = tmp_path / "machine"
        folder.mkdir()
        done = self._end(folder, bess, alone, number, terminal=False)
        assert done.returncode == 128 + number
        assert left_on(folder) == []
        left = alone.workspaces()  # of a killed run, removed by the next
        assert len(left) == (number == signal.SIGKILL)
        subprocess.run(["rm", "-rf", *left], check=True)

    def test_interrupted(self, tmp_path: Path, bess: Path, alone: Any) -> None:
        """After Ctrl-C the status is a shell's, and the record so far is saved."""
        folder = tmp_path / "machine"
        folder.mkdir()
        done = self._end(folder, bess, alone, signal.SIGINT, terminal=True)
        assert done.returncode == 130, done.stderr
        assert CommandRecording.load(folder / "recording").duration_s < 20
        assert left_on(folder) == []

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
    def test_soon(self, tmp_path: Path, bess: Path, alone: Any, number: int) -> None:
        """A ccbench ended before its command starts does not start it, and leaves nothing."""
        folder = tmp_path / "machine"
        folder.mkdir()
        with start(folder, bess, ["echo", "begun"]) as process:
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            own = alone.wait_for("sleep")
            if number == signal.SIGINT:
                os.killpg(process.pid, number)
            else:
                os.kill(pid, number)
            stdout, _ = process.communicate(timeout=45)
        assert alone.has_ended(own)
        assert (stdout, left_on(folder)) == ("", [])
        assert not CommandRecording.is_in(folder / "recording")
        for left in alone.workspaces():  # of a killed run, removed by the next
            subprocess.run(["rm", "-r", left], check=True)


class TestFailure:
    def test_status(self, tmp_path: Path, bess: Path) -> None:
        """A missing program is its shell's 127; a command without traffic has no packets."""
        done = run(tmp_path, bess, ["/no-such-program"])
        assert done.returncode == 127
        assert CommandRecording.load(tmp_path / "recording").summary()["packets"] == 0

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            ("refuse=AddTc", "BESS refuses AddTc 'link': the stand-in was told to refuse"),
            ("slow", "link has 5.8"),
            ("forgetful", "packets are missing from the record of departures"),
        ],
    )
    def test_reason(self, tmp_path: Path, bess: Path, fault: str, message: str) -> None:
        """Every fault is an error that names it, and nothing is left."""
        (tmp_path / "file").write_bytes(bytes(100_000))
        done = run(tmp_path, bess, ["python3", "-c", _DOWNLOAD], STAND_IN=fault)
        assert done.returncode == 1
        assert message in done.stderr
        assert left_on(tmp_path) == []

    def test_no_forwarding(self, tmp_path: Path, bess: Path) -> None:
        """If the machine does not forward packets, the message says how to enable it."""
        done = run(tmp_path, bess, ["true"], forwarding=0)
        assert done.returncode == 1
        assert "sudo sysctl -w net.ipv4.ip_forward=1" in done.stderr

    @pytest.mark.parametrize(
        ("link", "rtt_ms", "message"),
        [
            ({"queue_packets": 64}, 40, "write for example queue_packets = 63"),
            ({"qdisc": "codel"}, 40, "qdisc is 'codel'"),
            ({}, 0, "rtt_ms is 0"),
        ],
    )
    def test_bad_input(self, bess: Path, link: dict[str, Any], rtt_ms: float, message: str) -> None:
        """A link that BESS cannot emulate is refused with the setting and the valid values."""
        with pytest.raises(InputError, match=message):
            BessEngine(bess).record(["true"], Bottleneck(**{**_LINK, **link}), rtt_ms)

    def test_no_command(self, bess: Path) -> None:
        """A missing command is refused."""
        with pytest.raises(InputError, match="command is"):
            BessEngine(bess).record([], Bottleneck(**_LINK), 40)

    def test_no_bess(self, tmp_path: Path) -> None:
        """A folder without BESS is refused with the missing files."""
        with pytest.raises(MissingRequirement, match="has no core/bessd"):
            BessEngine(tmp_path).record(["true"], Bottleneck(**_LINK), 40)


def test_others(tmp_path: Path, bess: Path) -> None:
    """Devices of others are left alone; those of a killed run are removed by the next."""
    (tmp_path / "file").write_bytes(bytes(100_000))
    foreign = "ip link add ccbench0 type veth peer name theirs"
    stale = "iptables -t nat -A POSTROUTING -s 198.51.100.6/32 -j MASQUERADE"
    command = ["python3", "-c", _DOWNLOAD]
    done = run(tmp_path, bess, command, before=f"{foreign}; {stale}")
    skip_if_busy(done.stderr)
    assert done.returncode == 7, done.stderr
    assert ["ccbench0@theirs", "theirs@ccbench0"] == [
        device.split()[0] for device in left_on(tmp_path)
    ][::-1]


def test_ends_in_time(tmp_path: Path, bess: Path) -> None:
    """Background processes of the command end with it."""
    begin_s = time.monotonic()
    done = run(tmp_path, bess, ["sh", "-c", "sleep 60 & exit 3"])
    assert done.returncode == 3, done.stderr
    assert time.monotonic() - begin_s < 55
