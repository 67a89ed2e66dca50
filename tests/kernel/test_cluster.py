# SPDX-License-Identifier: Apache-2.0
"""Runs on a cluster: a dask scheduler and workers, processes that share only loopback.

Each worker has its own cache folder, so that no run store is shared.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import distributed
import pandas as pd
import pytest

from ccbench import Flow, emulate, harm, raygen, studies, sweeps, typical_path
from ccbench.base.cache import cache_dir
from ccbench.base.errors import CcbenchError, EngineError, MissingRequirement
from ccbench.base.figures import Figure
from ccbench.emulate import Store, cluster, run_many
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import build, lookup
from ccbench.studies import Comparison, Findings, Study, catalogue, published
from tests.kernel.conftest import dumbbell, gone, guests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from ccbench import Run, Scenario
    from ccbench.emulate.engine import Progress

pytestmark = pytest.mark.kernel

CHECKOUT = Path(__file__).parents[2]

#: A run that ends at once, and one long enough to kill its worker.
SHORT = dumbbell(duration_s=1, queue_log=False)
LONG = dumbbell(
    Flow(cca="bbr"), Flow(), bandwidth_mbps=100, queue_packets=300, duration_s=20, queue_log=False
)
ENDLESS = dumbbell(bandwidth_mbps=1000, queue_packets=3000, duration_s=1000, queue_log=False)

#: The run that :class:`Deadly` does not survive.
DEADLY = replace(SHORT, name="the deadly one", path=replace(SHORT.path, rtt_ms=41))


class Deadly(KernelEngine):
    """The virtual kernel, except for a run that kills its process."""

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run a scenario."""
        if scenario == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(scenario, on_progress=on_progress)


@dataclass
class Worker:
    """A worker's process, and the folder with its temporary files."""

    process: subprocess.Popen[bytes]
    folder: Path

    def kill_in_the_middle(self, over: threading.Event) -> bool:
        """Kill it as soon as it has a guest, or when all is over, and return whether it had one.

        Check that the guest ends too.
        """
        wait_until(lambda: bool(guests(self.folder)) or over.is_set())
        was_at_work = not over.is_set()
        self.process.kill()
        self.process.wait()
        assert gone(self.folder)
        return was_at_work


def skip_unless_killed(killed: Future[bool]) -> None:
    """Skip the test if its worker has done all its runs unobserved: luck on a busy machine."""
    if not killed.result():
        pytest.skip("the runs ended before their worker was seen at work and killed")


@dataclass
class Cluster:
    """A scheduler and its workers."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[Worker] = field(default_factory=list)

    @property
    def address(self) -> str:
        """The scheduler's address, once it is known."""
        file = self.folder / "scheduler.json"
        wait_until(lambda: file.exists() and file.read_text().endswith("}"))
        return str(json.loads(file.read_text())["address"])

    def add_worker(self, *, kernel: bool = True, **environment: str) -> Worker:
        """Start a worker, with this machine's virtual kernel or with none."""
        folder = self.folder / f"worker-{len(self.workers)}"
        temporary, cache = folder / "tmp", folder / "cache"
        temporary.mkdir(parents=True)
        cache.mkdir()
        if kernel:
            (cache / "kernel").symlink_to(cache_dir() / "kernel")
        process = start(
            folder,
            "worker",
            self.address,
            "--no-dashboard",
            "--no-nanny",
            "--nthreads=1",
            f"--local-directory={folder}",
            TMPDIR=str(temporary),
            CCBENCH_CACHE=str(cache),
            **environment,
        )
        self.workers.append(Worker(process, temporary))
        return self.workers[-1]

    def dead(self) -> list[Worker]:
        """Return the workers whose processes have ended."""
        return [worker for worker in self.workers if worker.process.poll() is not None]

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many workers are ready."""
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=300)


def start(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start one of dask's programs with its output in a file."""
    folder.mkdir(exist_ok=True)
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, "--host=127.0.0.1"],
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT), **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition up to a time limit."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)  # a look at all processes takes milliseconds of a busy core


@contextmanager
def machines(folder: Path, **environment: str) -> Iterator[Cluster]:
    """Start a scheduler without workers; all its processes end with the block."""
    process = start(
        folder,
        "scheduler",
        "--no-dashboard",
        "--port=0",
        f"--scheduler-file={folder / 'scheduler.json'}",
        **environment,
    )
    started = Cluster(folder, process)
    try:
        yield started
    finally:
        for process in (started.scheduler, *(worker.process for worker in started.workers)):
            process.kill()
            process.wait()
    for worker in started.workers:
        assert gone(worker.folder)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait long for workers, as the machine may be busy with other tests."""
    monkeypatch.setattr("ccbench.emulate._cluster._TIMEOUT_S", 300)
    monkeypatch.setattr("ccbench.emulate._cluster._WORKER_TIMEOUT_S", 300)


@pytest.fixture
def impatient(_patient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only briefly for absent workers."""
    monkeypatch.setattr("ccbench.emulate._cluster._TIMEOUT_S", 1)
    monkeypatch.setattr("ccbench.emulate._cluster._WORKER_TIMEOUT_S", 1)


def seeds(scenario: Scenario, count: int) -> list[Scenario]:
    """Return this many scenarios that differ in their seeds."""
    return [replace(scenario, seed=seed) for seed in range(count)]


def assert_same(expected: Run, actual: Run) -> None:
    """Check that two runs are the same, to the last sample."""
    assert expected.scenario == actual.scenario
    assert expected.provenance == actual.provenance
    for name in ("queue", "flows", "completions"):
        pd.testing.assert_frame_equal(getattr(expected, name), getattr(actual, name))


class TestRuns:
    def test_same(self, tmp_path: Path) -> None:
        """A cluster gives the same runs as this process, which alone stores them."""
        scenarios, store = seeds(SHORT, 3), Store(tmp_path / "store")
        with machines(tmp_path / "cluster") as started:
            worker = started.add_worker()
            with cluster(started.address) as executor:
                for i, run in run_many(scenarios, executor=executor, store=store):
                    assert_same(emulate.run(scenarios[i], store=None), run)
            assert not (worker.folder.parent / "cache" / "runs").exists()
        assert store.usage().runs == 3
        with pytest.raises(CcbenchError, match="scheduler has ended or cannot be reached"):
            list(run_many(scenarios, executor=executor, store=None))
        for i, run in run_many(scenarios, store=store):
            assert_same(emulate.run(scenarios[i], store=None), run)

    def test_failure(self, tmp_path: Path) -> None:
        """A run that fails on the cluster is an error with its reason; the others go on."""
        failures: list[tuple[int, str]] = []
        failing = replace(
            SHORT, path=replace(SHORT.path, sysctls=(("net.ipv4.no_such_thing", "1"),))
        )
        with machines(tmp_path / "cluster") as started:
            started.add_worker()
            with cluster(started.address) as executor:
                results = run_many(
                    [failing, SHORT],
                    executor=executor,
                    store=None,
                    on_failure=lambda i, error: failures.append((i, str(error))),
                )
                assert [i for i, _ in results] == [1]
        ((position, reason),) = failures
        assert position == 0
        assert "no_such_thing" in reason


class TestLosses:
    def test_worker_killed(self, tmp_path: Path) -> None:
        """The run of a killed worker is repeated by another, with the same result."""
        scenarios, over = seeds(LONG, 2), threading.Event()
        with machines(tmp_path / "cluster") as started:
            first = started.add_worker()
            with cluster(started.address) as executor, ThreadPoolExecutor(1) as pool:
                killed = pool.submit(first.kill_in_the_middle, over)
                killed.add_done_callback(lambda _: started.add_worker())
                runs = dict(run_many(scenarios, executor=executor, store=None))
                over.set()
                skip_unless_killed(killed)
        assert sorted(runs) == [0, 1]
        for i, run in runs.items():
            assert_same(emulate.run(scenarios[i], store=None), run)

    def test_deadly_run(self, tmp_path: Path) -> None:
        """A run that kills every worker is a failed run; other runs of these workers are not."""
        failures: list[tuple[int, str]] = []
        scenarios = [DEADLY, *seeds(SHORT, 6)]
        patience = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        with machines(tmp_path / "cluster", **patience) as started:
            for _ in range(3):
                started.add_worker()
            with cluster(started.address) as executor:
                results = run_many(
                    scenarios,
                    engine=Deadly(),
                    executor=executor,
                    store=None,
                    on_failure=lambda i, error: failures.append((i, str(error))),
                )
                assert sorted(i for i, _ in results) == [1, 2, 3, 4, 5, 6]
            # The scheduler notices a death before this process can: connections close first.
            wait_until(lambda: len(started.dead()) >= 2)
            assert len(started.dead()) == 2
        ((position, reason),) = failures
        assert position == 0
        assert reason.startswith("the worker that had this run was killed (1 in turn, the last")

    def test_scheduler_lost(self, tmp_path: Path) -> None:
        """The loss of the scheduler is one clear error; finished runs are stored."""
        store = Store(tmp_path / "store")
        with machines(tmp_path / "cluster") as started:
            worker = started.add_worker()
            with cluster(started.address) as executor:
                results = run_many([SHORT, ENDLESS], executor=executor, store=store)
                next(results)
                wait_until(lambda: bool(guests(worker.folder)))
                started.scheduler.kill()
                with pytest.raises(CcbenchError, match="scheduler has ended or cannot") as caught:
                    next(results)
                assert not isinstance(caught.value, EngineError)
        assert store.usage().runs == 1


def study_of_seeds() -> Study:
    """Return a study of six runs."""

    def conclude(table: pd.DataFrame) -> Findings:
        stated = published.between(0, 200, "here")
        measured = float(table["mbps"].mean())
        comparison = Comparison(quantity="throughput", measured=measured, published=stated)
        return Findings(table=table, figure=Figure(), comparisons=(comparison,))

    return Study(
        info=catalogue.info("ware-3.2"),
        scenarios=lambda *, quick: tuple(seeds(LONG, 6)),  # noqa: ARG005 - always the same
        measure=lambda run: [{"mbps": run.summary()["throughput_mbps"].sum()}],
        conclude=conclude,
    )


PAIR = harm.long_flows(
    alpha="bbr",
    beta="cubic",
    path=typical_path(bandwidth_mbps=100, rtt_ms=40, queue_bdp=1),
    duration_s=10,
)
SEARCH = raygen.SearchConfig(
    alpha="bbr", beta="cubic", duration_s=10, budget=4, population=4, confirm=1
)

#: What uses campaigns, by the name of its command; each returns a table of numbers.
CAMPAIGNS: dict[str, Callable[..., pd.DataFrame]] = {
    "harm": lambda **where: harm.repeat(PAIR, repetitions=6, **where).values(),
    "sweep": lambda **where: sweeps.Sweep.of(LONG.to_dict(), vary={"seed": list(range(6))}).run(
        **where
    ),
    "raygen": lambda **where: raygen.search(SEARCH, **where).claims,
    "study": lambda **where: studies.run_study(study_of_seeds(), **where).findings.table,
    "deployable": lambda **where: (
        harm.assess(
            harm.Assessment(
                alpha="bbr",
                beta="cubic",
                networks=(harm.Network(name="one", path=PAIR.path),),
                workloads=harm.WORKLOADS[:1],
                duration_s=20,
                repetitions=3,
                max_repetitions=3,
            ),
            **where,
        ).harms
    ),
}


@pytest.mark.long
class TestCampaigns:
    def test_workers_killed(self, tmp_path: Path) -> None:
        """Every campaign is complete on two workers, of which one is killed."""
        rows = {}
        with machines(tmp_path / "cluster") as started:
            started.add_worker()
            for name, campaign in CAMPAIGNS.items():
                victim = started.add_worker()
                started.wait_for_workers(2)  # or the other one does everything meanwhile
                over = threading.Event()
                with cluster(started.address) as executor, ThreadPoolExecutor(1) as pool:
                    killed = pool.submit(victim.kill_in_the_middle, over)
                    rows[name] = len(campaign(executor=executor, store=None))
                    over.set()
                    skip_unless_killed(killed)
        assert {"harm": 6, "sweep": 12, "raygen": 4, "study": 6, "deployable": 6} == rows


@pytest.mark.usefixtures("impatient")
class TestConnecting:
    def test_nobody(self) -> None:
        """Without a scheduler, one line says how to start one."""
        with (
            pytest.raises(CcbenchError, match=r"no dask scheduler answers at tcp:.*:9 "),
            cluster("tcp://127.0.0.1:9"),
        ):
            pass

    def test_no_workers(self, tmp_path: Path) -> None:
        """A scheduler without workers is an error that says how to start some."""
        with (
            machines(tmp_path / "cluster") as started,
            pytest.raises(CcbenchError, match=rf"no workers: .* `dask worker {started.address}"),
            cluster(started.address),
        ):
            pass


class TestVersions:
    def test_no_kernel(self, tmp_path: Path) -> None:
        """A worker that has no kernel and cannot build one reports it, and the batch ends."""
        failures: list[int] = []
        with machines(tmp_path / "cluster") as started:
            started.add_worker(kernel=False, PATH=str(tmp_path))
            with cluster(started.address) as executor:
                results = run_many(
                    [SHORT],
                    executor=executor,
                    store=None,
                    on_failure=lambda i, _: failures.append(i),
                )
                with pytest.raises(MissingRequirement) as caught:
                    next(results)
        message, version = str(caught.value), KernelEngine().kernel.version
        assert f"worker {platform.node()}: the virtual kernel here is none" in message
        assert f"but {version} is needed" in message
        assert "building the virtual kernel needs gcc" in message
        assert failures == []

    def test_unknown_code(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A cluster that lacks a module of this process names it."""
        (tmp_path / "only_here.py").write_text(
            "from ccbench.emulate.kernel.engine import KernelEngine\n"
            "class Ours(KernelEngine): pass\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        measured = importlib.import_module("only_here").Ours()
        with machines(tmp_path / "cluster") as started:
            started.add_worker()
            with (
                cluster(started.address) as executor,
                pytest.raises(MissingRequirement, match=r"No module named 'only_here'.*install"),
            ):
                list(run_many([SHORT], engine=measured, executor=executor, store=None))

    def test_built_when_needed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A missing version of the engine is built by default."""
        installed = KernelEngine()
        monkeypatch.setattr(lookup, "find", lambda _: None)
        monkeypatch.setattr(build, "build", lambda: installed.kernel)
        assert KernelEngine.of_version(installed.version()).kernel == installed.kernel

    def test_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """If that build is another kernel, the error names both and the remedy."""
        kernel, wanted = KernelEngine().kernel, "0123456789abcdef"
        monkeypatch.setattr(build, "build", lambda: kernel)
        with pytest.raises(MissingRequirement) as caught:
            KernelEngine.of_version(KernelEngine().version().replace(kernel.version, wanted))
        message = str(caught.value)
        assert f"kernel here is {kernel.version}, but {wanted} is" in message
        assert f"copy the folder {wanted} from kernel/builds" in message
        assert kernel.release in message

    def test_other_code(self) -> None:
        """A worker whose ccbench forms another guest input reports another version."""
        other = f"0123456789abcdef-{KernelEngine().kernel.version}"
        with pytest.raises(MissingRequirement, match="but 0123456789abcdef is needed: install the"):
            KernelEngine.of_version(other)

    def test_copied(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A copy of the kernel's own folder is all that a worker needs."""
        installed = KernelEngine()
        expected, path = installed.run(SHORT), installed.kernel.path
        copy = tmp_path / "cache" / "kernel" / "builds" / path.name
        copytree(path, copy)
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))
        engine = KernelEngine.of_version(installed.version())
        assert engine.kernel.path == copy
        assert_same(expected, engine.run(SHORT))
