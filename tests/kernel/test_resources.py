# SPDX-License-Identifier: Apache-2.0
"""Estimated and actual resources of a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.emulate._load import packets
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.experiment.impairments import BurstLoss
from ccbench.experiment.receiver import Receiver
from tests.kernel.conftest import check_estimate, dumbbell, run

pytestmark = pytest.mark.kernel

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))

#: An estimate is at least the actual use, and at most this many times as much.
FACTOR = 2.5

#: Links of the reverse path, of which the second is too slow for the ACKs.
_ACK_LINK = Bottleneck(bandwidth_mbps=100, queue_packets=2000)
_SLOW = Bottleneck(bandwidth_mbps=0.1, queue_packets=20)

#: Runs a scenario, makes the tables of ``ccbench run`` and prints the peak use of each part: memory
#: of guest and reader, the latter above its initial use, and records on the disk. The guest's
#: memory is an unlinked file, of /dev/shm or a file system of its own, that only its process has.
MEASURE = r"""
import gc, json, os, re, sys, tempfile
from contextlib import suppress
from pathlib import Path

import pandas, pyarrow.parquet
from ccbench import Scenario, emulate
from ccbench.emulate.kernel.engine import KernelEngine

def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))

def look(_):
    for process in filter(lambda path: path.name.isdigit(), Path("/proc").iterdir()):
        with suppress(OSError):  # it may end meanwhile
            if process.joinpath("cwd").readlink().is_relative_to(tempfile.gettempdir()):
                for link in process.joinpath("fd").iterdir():
                    if re.match(r"(/dev/shm)?/#\d+ \(deleted\)", str(link.readlink())):
                        took["running"] = max(took["running"], link.stat().st_blocks * 512)
    records = sum(file.stat().st_size for file in Path(tempfile.gettempdir()).glob("*/*/*.bin"))
    took["scratch"] = max(took["scratch"], records)

took = {"running": 0, "scratch": 0}
scenario = Scenario.from_toml(sys.argv[1])
engine = KernelEngine()
engine.check(scenario)
gc.collect()
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak is measured from here on
run = emulate.run(scenario, engine=engine, on_progress=look)
run.summary()
run.bottleneck_summary()
took["reading"] = status("VmHWM") - before
print(json.dumps(took))
"""


@dataclass(frozen=True, kw_only=True)
class PeakUse:
    """The most that a run used, in bytes."""

    running: int
    reading: int
    scratch: int

    @property
    def peak(self) -> int:
        """Peak memory."""
        return max(self.running, self.reading)


def measured(scenario: Scenario, folder: Path) -> PeakUse:
    """Run a scenario in its own process and return its peak use."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, scenario.to_toml()],
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return PeakUse(**json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.usefixtures("own_store")
@pytest.mark.parametrize(
    "scenario",
    [
        dumbbell(Flow(count=2), bandwidth_mbps=100, queue_packets=333, duration_s=60),
        dumbbell(Flow(count=2), bandwidth_mbps=1000, queue_packets=3333, duration_s=5),
        dumbbell(
            Flow(count=2),
            bandwidth_mbps=1000,
            queue_packets=3333,
            duration_s=5,
            queue_log="summary",
        ),
        dumbbell(
            Flow(cca="bbr", count=4),
            bandwidth_mbps=200,
            queue_packets=30,
            rtt_ms=20,
            duration_s=10,
        ),
        dumbbell(
            Flow(cca="bbr", count=2),
            bandwidth_mbps=1000,
            queue_packets=33_000,
            rtt_ms=200,
            duration_s=5,
            queue_log=False,
        ),
        dumbbell(
            Flow(count=20), bandwidth_mbps=100, duration_s=10, queue_log=False, sample_interval_ms=1
        ),
        dumbbell(Flow(), duration_s=4, queue_log="summary", sample_interval_ms=0.01),
        dumbbell(
            Flow(count=10_000, kind="bytes", size_bytes=10_000),
            bandwidth_mbps=1000,
            queue_packets=3333,
            duration_s=5,
            queue_log=False,
        ),
        dumbbell(Flow(kind="cbr", rate_mbps=60, packet_bytes=100), bandwidth_mbps=50, duration_s=5),
        Scenario(
            flows=(Flow(), Flow(cca="bbr", first_bottleneck=1)),
            path=NetworkPath(
                bottlenecks=(
                    Bottleneck(bandwidth_mbps=200, queue_bdp=1),
                    Bottleneck(bandwidth_mbps=400, queue_bdp=1, qdisc="fq_codel"),
                ),
                rtt_ms=40,
            ),
            duration_s=10,
        ),
        dumbbell(
            Flow(count=20, receiver=Receiver(read_mbps=1, window_bytes=10_000_000)),
            bandwidth_mbps=1000,
            queue_packets=333,
            duration_s=5,
            queue_log=False,
        ),
        dumbbell(Flow(receiver=Receiver(duplicate_acks=200)), reverse_bottlenecks=(_ACK_LINK,)),
        dumbbell(Flow(count=2), bandwidth_mbps=400, queue_packets=1333, duration_s=60),
    ],
    ids=[
        *(
            "100 Mbit",
            "1 Gbit",
            "summary",
            "drops",
            "long fat",
            "samples",
            "often",
            "short",
            "small",
        ),
        *("path", "slow readers", "more ACKs", "long"),
    ],
)
def test_estimate(scenario: Scenario, tmp_path: Path) -> None:
    """Estimates of memory and records are upper bounds, but not much higher."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    took, needs = measured(scenario, folder), KernelEngine().needs(scenario)
    peak = max(needs.running_bytes, needs.reading_bytes)
    assert took.peak <= peak <= FACTOR * took.peak
    assert took.running <= needs.running_bytes
    assert took.scratch <= needs.scratch_bytes


@pytest.mark.parametrize(
    ("flow", "ack_link"),
    [
        (Flow(), _SLOW),
        (Flow(), replace(_SLOW, qdisc="cake", qdisc_options=(("ack_filter", 2),))),
        (Flow(receiver=Receiver(duplicate_acks=200)), _SLOW),
        (Flow(receiver=Receiver(ack_parts=10)), _ACK_LINK),
        (Flow(receiver=Receiver(optimistic_mbps=40)), _ACK_LINK),
        (Flow(cca="reno", receiver=Receiver(optimistic_mbps=4)), _ACK_LINK),
    ],
    ids=["slow reverse path", "filter", "copies", "parts", "optimist", "slow optimist"],
)
def test_arrivals(flow: Flow, ack_link: Bottleneck) -> None:
    """At most as many packets as estimated arrive at queues, even at those that drop most."""
    scenario = dumbbell(flow, reverse_bottlenecks=(ack_link,), duration_s=4)
    run = KernelEngine().run(scenario)
    arrived = [int((run.queue_events(i)["event"] == "enqueue").sum()) for i in range(2)]
    estimates = packets(scenario)
    assert all(a <= e for a, e in zip(arrived, estimates, strict=True))
    assert sum(estimates) <= FACTOR * sum(arrived)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    """Estimates of the examples are close to what they actually need."""
    check_estimate(run(Scenario.load(path)))


@pytest.mark.parametrize(
    "rates_mbps", [(1000, 10, 1000), (10_000,) * 5 + (10,)], ids=["dumbbell", "fast links"]
)
def test_slowest_link(rates_mbps: tuple[float, ...]) -> None:
    """Fast links on the path of a flow need no more than its slowest link lets through."""
    links = tuple(
        Bottleneck(bandwidth_mbps=rate, queue_packets=round(rate * 4)) for rate in rates_mbps
    )
    scenario = Scenario(
        flows=(Flow(),), path=NetworkPath(bottlenecks=links, rtt_ms=50), duration_s=60
    )
    check_estimate(run(scenario))
    fast = replace(scenario, path=replace(scenario.path, bottlenecks=links[:1]))
    assert KernelEngine().needs(scenario).running_bytes < KernelEngine().needs(fast).running_bytes


def test_unfinished_transfer() -> None:
    """Estimates of a transfer that losses slow down so much that it does not finish are close."""
    forward = Bottleneck(
        bandwidth_mbps=12, queue_bdp=1.2, burst_loss=BurstLoss(to_bad=0.01, to_good=0.167)
    )
    scenario = Scenario(
        flows=(Flow(kind="bytes", size_bytes=20_000_000),),
        path=NetworkPath(
            bottlenecks=(forward,),
            reverse_bottlenecks=(Bottleneck(bandwidth_mbps=3, queue_bdp=1.2),),
            rtt_ms=500,
        ),
        duration_s=600,
    )
    result = run(scenario)
    assert result.outcomes()["transfers"]["finished"].tolist() == [0]
    check_estimate(result)


#: The command line where a log of 20 MB is a large one, so that a short run has one.
_WITH_LARGE_LOGS = """
from ccbench.cli.main import main
from ccbench.emulate import outlook

outlook._LARGE_LOG_BYTES = 20e6
main()
"""


@pytest.mark.usefixtures("own_store")
def test_table(tmp_path: Path) -> None:
    """A table needs no large queue log, and is the one computed from the log."""
    fast = dumbbell(Flow(count=2), bandwidth_mbps=1000, queue_packets=3333, duration_s=3)
    fast.save(tmp_path / "fast.toml")

    def ccbench(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _WITH_LARGE_LOGS, "run", "fast.toml", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    short, whole, stored = ccbench(), ccbench("-o", "whole"), ccbench()
    (line,) = short.stderr.splitlines()
    assert 'queue_log = "summary"' in line
    assert "-o FOLDER" in line
    assert whole.stderr == stored.stderr == ""
    assert short.stdout == stored.stdout
    assert whole.stdout.startswith(short.stdout[: short.stdout.index("made by")])
    assert len(Run.load(tmp_path / "whole").queue)
    assert Run.load(tmp_path / "whole").scenario == fast
