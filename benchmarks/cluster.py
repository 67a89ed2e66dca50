# SPDX-License-Identifier: Apache-2.0
"""Measure what a dask cluster adds to runs: per run, with stragglers, and when a worker is killed.

    .venv/bin/python benchmarks/cluster.py

Scheduler and workers are processes of this machine. The runs are simulated: each sleeps for a time
drawn from its seed and then returns a recorded run of the virtual kernel, so that more workers than
cores can be busy. Everything else is real: tasks, transfer of results, and the store.

- *Utilisation* is the time of all runs ÷ (workers × elapsed time).
- *Client* and *scheduler* are the processor time of this process and of the scheduler per run.
- Runs that take no time show how many runs per second one client can receive and store.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from typing_extensions import Self

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.emulate import Store, cluster, run, run_many
from ccbench.emulate.engine import Check, Progress, run_identity
from ccbench.emulate.resources import Needs

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Runs of each worker in a measurement.
RUNS_PER_WORKER = 25
#: Standard deviation of the logarithm of a run's time, and the share and the factor of stragglers.
SPREAD = 0.5
STRAGGLERS, STRAGGLER_FACTOR = 0.02, 10.0


@dataclass(frozen=True)
class SleepingEngine:
    """An engine that sleeps, and returns the run in a folder."""

    folder: str
    mean_s: float
    stragglers: float = 0.0
    name: str = "sleeping"

    @classmethod
    def of_version(cls, version: str) -> Self:
        """Refuse: tasks carry the engine itself."""
        raise NotImplementedError(version)

    def version(self) -> str:
        """Return the only version."""
        return "1"

    def provenance(self) -> dict[str, object]:
        """Return the name."""
        return {"engine": self.name}

    def identity(self, scenario: Scenario) -> str:
        """Return the identity of the run of a scenario."""
        return run_identity(self.name, scenario.key())

    def check_cca(self, cca: str, field: str = "cca") -> None:
        """Accept all."""

    def check(self, scenario: Scenario) -> None:
        """Accept all."""

    def needs(self, scenario: Scenario) -> Needs:
        """Return a run that needs nothing."""
        return Needs(
            running_bytes=0,
            reading_bytes=0,
            result_bytes=0,
            scratch_bytes=0,
            work=scenario.duration_s,
            running_remedy="",
            reading_remedy="",
        )

    def doctor(self) -> list[Check]:
        """Return no checks."""
        return []

    def time_s(self, scenario: Scenario) -> float:
        """Return the time of a run: lognormal, times ten for stragglers."""
        draw = random.Random(scenario.seed)
        factor = math.exp(draw.gauss(-(SPREAD**2) / 2, SPREAD))
        is_straggler = draw.random() < self.stragglers
        return self.mean_s * factor * (STRAGGLER_FACTOR if is_straggler else 1.0)

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Sleep, and return the recorded run as that of the scenario."""
        del on_progress
        time.sleep(self.time_s(scenario))
        recorded = Run.load(Path(self.folder))
        provenance = {**recorded.provenance, "identity": self.identity(scenario)}
        return replace(recorded, scenario=scenario, provenance=provenance)


class Machines:
    """A scheduler and workers as processes of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port=0", f"--scheduler-file={file}")
        while not file.exists():
            time.sleep(0.05)
        time.sleep(0.2)
        self._file = file
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """The scheduler's address."""
        return str(json.loads(self._file.read_text(encoding="utf-8"))["address"])

    def add(self, count: int) -> None:
        """Start workers of one thread each."""
        self.workers += [
            self._start("worker", self.address, "--no-nanny", "--nthreads=1") for _ in range(count)
        ]

    def end(self) -> None:
        """Kill all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, "--no-dashboard", "--host=127.0.0.1"],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def machines(count: int) -> Iterator[Machines]:
    """Start a scheduler with so many workers."""
    with tempfile.TemporaryDirectory() as name:
        started = Machines(Path(name))
        try:
            started.add(count)
            yield started
        finally:
            started.end()


def recorded(*, queue_log: bool | str) -> Scenario:
    """Return the recorded run: 60 s of BBR against CUBIC at 50 Mbit/s."""
    return Scenario(
        flows=(Flow(cca="bbr"), Flow(cca="cubic")),
        path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=50, queue_bdp=1),), rtt_ms=40),
        duration_s=60,
        queue_log=queue_log,
    )


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a measurement took.

    Parameters
    ----------
    runs : int
        Number of runs.
    elapsed_s : float
        Elapsed time from the first task to the last stored run.
    busy_s : float
        Time of all runs.
    client_s, scheduler_s : float
        Processor time of this process and of the scheduler.
    store_bytes : int
        Size of the store.
    """

    runs: int
    elapsed_s: float
    busy_s: float
    client_s: float
    scheduler_s: float
    store_bytes: int


def measure(
    started: Machines, engine: SleepingEngine, base: Scenario, runs: int, kill_after_s: float = 0.0
) -> Cost:
    """Run scenarios with different seeds on the workers; kill one of them after `kill_after_s`."""
    scenarios = [replace(base, seed=seed) for seed in range(1, runs + 1)]
    with tempfile.TemporaryDirectory() as name, cluster(started.address) as executor:
        store = Store(Path(name))
        warm = [replace(base, seed=10**6 + i) for i in range(2 * len(started.workers))]
        fast = replace(engine, mean_s=0.0)
        list(run_many(warm, engine=fast, executor=executor, store=None))
        before = processor_s(started.scheduler.pid)
        began_s = time.monotonic()
        if kill_after_s:
            threading.Timer(kill_after_s, started.workers[0].kill).start()
        for _ in run_many(scenarios, engine=engine, executor=executor, store=store):
            pass
        elapsed_s = time.monotonic() - began_s
        after = processor_s(started.scheduler.pid)
        return Cost(
            runs=runs,
            elapsed_s=elapsed_s,
            busy_s=sum(map(engine.time_s, scenarios)),
            client_s=after[0] - before[0],
            scheduler_s=after[1] - before[1],
            store_bytes=store.usage().size_bytes,
        )


def processor_s(scheduler_pid: int) -> tuple[float, float]:
    """Return the processor time of this process and of the scheduler in seconds."""
    own = getrusage(RUSAGE_SELF)
    fields = Path(f"/proc/{scheduler_pid}/stat").read_text(encoding="utf-8").split(") ")[1].split()
    ticks = int(fields[11]) + int(fields[12])  # utime and stime, see proc(5)
    return own.ru_utime + own.ru_stime, ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8], metavar="N")
    parser.add_argument("--mean", type=float, default=2.0, metavar="S", help="mean time of a run")
    options = parser.parse_args()
    console = Console(width=110, highlight=False)
    console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as name:
        bases = {}
        for title, log in (("no log", False), ("summary", "summary"), ("full log", True)):
            bases[title] = recorded(queue_log=log)
            run(bases[title]).save(Path(name) / title)
        sleeping = {
            title: SleepingEngine(folder=str(Path(name) / title), mean_s=options.mean)
            for title in bases
        }
        console.print(_utilisation(sleeping["no log"], bases["no log"], options.workers))
        console.print(_rates(sleeping, bases))


def _utilisation(engine: SleepingEngine, base: Scenario, workers: list[int]) -> Table:
    table = _table("workers", "runs", "condition", "elapsed\ns", "utilisation", "client\nms/run")
    most = max(workers)
    cases = [(count, "", engine, 0.0) for count in workers]
    slow = replace(engine, stragglers=STRAGGLERS)
    cases.append((most, f"{STRAGGLERS:.0%} take {STRAGGLER_FACTOR:g} times as long", slow, 0.0))
    middle_s = engine.mean_s * RUNS_PER_WORKER / 2
    if most > 1:
        cases.append((most, "a worker is killed half-way", engine, middle_s))
    for count, condition, each, kill_after_s in cases:
        with machines(count) as started:
            cost = measure(started, each, base, count * RUNS_PER_WORKER, kill_after_s)
        table.add_row(
            *(str(count), str(cost.runs), condition, f"{cost.elapsed_s:.1f}"),
            f"{cost.busy_s / (count * cost.elapsed_s):.1%}",
            f"{1e3 * cost.client_s / cost.runs:.1f}",
        )
    return table


def _rates(engines: dict[str, SleepingEngine], bases: dict[str, Scenario]) -> Table:
    table = _table(
        *("record", "stored\nkB/run", "runs per\nsecond", "client\nms/run", "scheduler\nms/run")
    )
    with machines(2) as started:
        for title, base in bases.items():
            cost = measure(started, replace(engines[title], mean_s=0.0), base, 200)
            table.add_row(
                *(title, f"{cost.store_bytes / cost.runs / 1e3:.0f}"),
                f"{cost.runs / cost.elapsed_s:.0f}",
                f"{1e3 * cost.client_s / cost.runs:.1f}",
                f"{1e3 * cost.scheduler_s / cost.runs:.1f}",
            )
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


if __name__ == "__main__":
    main()
