# SPDX-License-Identifier: Apache-2.0
"""Assumptions about mm-link hold for the real program.

Each test uses the results of a real mm-link with more packets than it can carry, as an unprivileged
user in its own network namespace. Nothing here depends on the speed of the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Trace
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES, constant_rate
from ccbench.emulate.mahimahi.replay import replay

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

pytestmark = [
    pytest.mark.skipif(shutil.which("mm-link") is None, reason="mahimahi is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give mm-link a namespace"),
]

#: mm-link refuses root, and its link may forward nothing otherwise; `nobody` owns nothing.
_PRIVATE = f"""
ip link set lo up && sysctl -qw net.ipv4.ip_forward=1 && mkdir own && {sys.executable} -c '
from pathlib import Path
from ccbench.emulate.mahimahi.iptables import let_iptables_serve_users
let_iptables_serve_users(Path("own").resolve())' &&
exec setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
"""

#: Sends datagrams of these sizes in turn, this many each millisecond, and lets them pass.
_SENDER = """
import os, socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start = time.monotonic()
for i in range({packets}):
    time.sleep(max(0, start + i / {per_ms} / 1000 - time.monotonic()))
    out.sendto(bytes({sizes}[i % len({sizes})]), (os.environ["MAHIMAHI_BASE"], 9))
time.sleep(0.2)
"""

_IP_AND_UDP_BYTES = 28


@dataclass(frozen=True)
class Flood:
    """The load of a link: kinds of datagrams, by their payload, in turn."""

    trace: Trace
    queue: str
    sizes: tuple[int, ...]
    packets: int
    per_ms: int

    @property
    def ip_bytes(self) -> list[int]:
        """IP bytes of the packets in sending order."""
        sizes = (size + _IP_AND_UDP_BYTES for size in self.sizes)
        return list(islice(cycle(sizes), self.packets))


FLOODS = {
    "full packets": Flood(constant_rate(12), "packets=20", (1472,), 1500, 2),
    "odd rate": Flood(constant_rate(17), "packets=7", (1472, 1000, 12), 4000, 4),
    "limit in bytes": Flood(constant_rate(30), "bytes=30000", (1300, 1300, 40), 4000, 6),
    "two limits": Flood(constant_rate(5), "packets=20,bytes=9000", (1472, 1, 300), 2000, 2),
    "uneven": Flood(
        Trace(name="", opportunities_ms=(0, 0, 3, 3, 3, 40, 41, 90)),
        "packets=10",
        (1472, 700),
        500,
        1,
    ),
}


def record(flood: Flood, folder: Path) -> LinkLog:
    """Send the flood through an mm-link, and read the log."""
    flood.trace.to_file(folder / "link.trace")
    folder.chmod(0o777)  # mm-link writes as nobody
    settings = {"packets": flood.packets, "sizes": flood.sizes, "per_ms": flood.per_ms}
    sender = _SENDER.format(**settings)
    link = ["mm-link", "link.trace", "link.trace", "--uplink-queue=droptail"]
    link += [f"--uplink-queue-args={flood.queue}", "--uplink-log=up.log"]
    command = ["unshare", "-n", "-m", "sh", "-c", _PRIVATE, "sh"]
    command += [*link, "--", "python3", "-c", sender]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert 0 == done.returncode, done.stderr
    return LinkLog.read(folder / "up.log")


@pytest.fixture(scope="module", params=FLOODS)
def flood(request: pytest.FixtureRequest) -> Flood:
    """Give each flood."""
    return FLOODS[request.param]


@pytest.fixture(scope="module")
def log(flood: Flood) -> Iterator[LinkLog]:
    """Give the log of a real mm-link. `nobody` has access to its folder."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="ccbench-test-") as folder:
        yield record(flood, Path(folder))


@pytest.fixture(scope="module")
def queue(log: LinkLog) -> pd.DataFrame:
    """Give the record computed from it, which compares every departure."""
    return replay(log)


def test_arrivals(flood: Flood, queue: pd.DataFrame) -> None:
    """Every packet arrives at the queue, in order, so that its flow is known.

    The host contributes packets too: on a new device it contacts its IPv6 neighbours.
    """
    arrivals = queue.loc[queue["event"] == "enqueue", "bytes"]
    assert flood.ip_bytes == arrivals[arrivals.isin(flood.ip_bytes)].tolist()


def test_conservation(log: LinkLog, queue: pd.DataFrame) -> None:
    """All arrivals have left, were dropped or wait; the log has no further departures."""
    count = queue["event"].value_counts()
    assert count["drop"] > 0, "this was to be a flood"
    assert (log.lines["kind"] == "-").sum() == count["dequeue"]
    waiting = queue["backlog_packets"].iloc[-1]
    assert count["enqueue"] == count["dequeue"] + count["drop"] + waiting


def test_limit(flood: Flood, queue: pd.DataFrame) -> None:
    """The backlog stays within the limit, and a packet is dropped only at the limit."""
    limits = {name: int(limit) for name, limit in (s.split("=") for s in flood.queue.split(","))}
    packets = queue["backlog_packets"].astype("int64")
    header_bytes = packets * TUN_HEADER_BYTES
    full = (packets > limits.get("packets", np.inf)) | (
        queue["backlog_bytes"] + header_bytes > limits.get("bytes", np.inf)
    )
    refused = (queue["event"].shift(-1) == "drop") & (queue["event"] == "enqueue")
    assert full.tolist() == refused.tolist()


def test_opportunities(flood: Flood, log: LinkLog) -> None:
    """mm-link reads the trace as intended: each opportunity at its time, repeatedly."""
    times = np.array(flood.trace.opportunities_ms)
    logged = log.lines.loc[log.lines["kind"] == "#", "time_ms"].to_numpy()
    periods = np.arange(len(logged) // len(times) + 1) * times[-1]
    expected = (periods[:, None] + times).ravel()[: len(logged)]
    assert expected.tolist() == logged.tolist()


def test_rate(flood: Flood, queue: pd.DataFrame) -> None:
    """While packets wait, the link carries the capacity of its trace, TUN headers included."""
    empty = np.flatnonzero(queue["backlog_packets"] == 0)
    ends = np.r_[-1, empty, len(queue)]
    longest = np.argmax(np.diff(ends))
    busy = queue.iloc[ends[longest] + 1 : ends[longest + 1]]
    taken = busy.loc[busy["event"] == "dequeue", "bytes"]
    assert len(taken) > 50
    carried = taken.sum() + TUN_HEADER_BYTES * len(taken)
    start_s, end_s = busy["time_ns"].iloc[[0, -1]] / 1e9
    capacity = flood.trace.capacity_bytes(end_s) - flood.trace.capacity_bytes(start_s)
    # A packet may be on the link at both ends, and an opportunity at the first or last instant.
    most_at_once = max(Counter(flood.trace.opportunities_ms).values())
    assert capacity * 1504 / 1500 == pytest.approx(carried, abs=1504 * (1 + 2 * most_at_once))
