# SPDX-License-Identifier: Apache-2.0
"""Programs killed at any moment lose nothing: the next one resumes, to the same bytes.

``CCBENCH_KILLS=50`` sets the number of kills of each, 2 by default; ``make soak`` does that.
"""

from __future__ import annotations

import hashlib
import io
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.base import toml_files
from ccbench.classify import implementation, training
from ccbench.cli.main import program
from ccbench.datacenter.simulation import Simulation
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.emulate.kernel.source.tree import load_tree
from ccbench.emulate.store import Store
from ccbench.experiment.scenario import Scenario
from ccbench.raygen.result import SearchResult
from ccbench.run.run import Run
from tests.kernel.conftest import gone, guests, kernel_with
from tests.kernel.test_http import needs_programs

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.kernel

_KILLS = int(os.environ.get("CCBENCH_KILLS", "2"))
#: Number of kills from which on the slow tests run too.
_MANY = 10

SCENARIO = """
rtt_ms = 20
duration_s = 20
[[flows]]
cca = "bbr"
[[flows]]
cca = "cubic"
[[bottlenecks]]
bandwidth_mbps = 40
queue_bdp = 1
"""


@pytest.fixture
def here(tmp_path: Path, own_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder for everything: cache, temporary files and results."""
    assert own_store.parent.is_relative_to(tmp_path)
    work = tmp_path / "temporary"
    work.mkdir()
    monkeypatch.setenv("TMPDIR", str(work))
    monkeypatch.setattr(tempfile, "tempdir", str(work))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(arguments: list[str]) -> int:
    """Start the program in its own process; return its number."""
    pid = os.fork()
    if pid:
        return pid
    status = 70
    with suppress(BaseException), Path("said").open("ab", buffering=0) as output:
        sys.stdout = sys.stderr = io.TextIOWrapper(output, write_through=True)
        try:
            program(arguments, prog_name="ccbench")
        except SystemExit as end:
            status = int(end.code or 0)
    os._exit(status)


def wait(pid: int, seconds: float) -> int | None:
    """Return the status of a process that ends in time."""
    with os.fdopen(os.pidfd_open(pid)) as ended:
        if not select.select([ended], [], [], seconds)[0]:
            return None
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def digest(folder: Path) -> dict[str, str]:
    """Return the names and digests of all files in a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def survives(
    here: Path,
    arguments: list[str],
    result: Path,
    check: Callable[[], None],
    *,
    seed: int,
    is_folder_given: bool = False,
) -> None:
    """Kill a program repeatedly, let it end, and compare its result with a run without kills.

    Parameters
    ----------
    here : Path
        Working folder of all processes.
    arguments : list of str
        The command.
    result : Path
        The folder that it writes.
    check : callable
        Raises if the files between two kills are unusable.
    seed : int
        Seed of the times of the kills.
    is_folder_given : bool, default False
        Create the folder beforehand.
    """
    begin_s = time.monotonic()
    assert wait(start(arguments), 600) == 0, (here / "said").read_text()
    usual_s = time.monotonic() - begin_s
    expected = digest(result)
    assert expected
    moments = random.Random(seed)
    killed = 0

    def clear() -> None:
        shutil.rmtree(result, ignore_errors=True)
        shutil.rmtree(here / "cache" / "runs", ignore_errors=True)
        if is_folder_given:
            result.mkdir()

    for attempt in range(20 * _KILLS):
        if killed == _KILLS:
            break
        if not attempt % 5:  # from the beginning, otherwise from the state left by the last kill
            clear()
        pid = start(arguments)
        status = wait(pid, moments.uniform(0, 1.1 * usual_s))
        if status is None:
            os.kill(pid, signal.SIGKILL)
            status = wait(pid, 60)
        if status == -signal.SIGKILL:
            killed += 1
        else:
            assert status == 0, (here / "said").read_text()
            clear()
        assert gone(here), guests(here)
        check()
        for run in (here / "cache" / "runs").glob("??/[!.]*"):
            Run.load(run)
    assert killed == _KILLS
    assert wait(start(arguments), 600) == 0, (here / "said").read_text()
    assert digest(result) == expected
    assert gone(here)
    work = here / "temporary" / f"ccbench-{os.getuid()}"
    assert not work.exists() or not list(work.iterdir())


def test_run(here: Path) -> None:
    """A killed run can be repeated."""
    (here / "scenario.toml").write_text(SCENARIO)
    result = here / "result"

    def check() -> None:
        if result.exists():
            Run.load(result)

    survives(here, ["run", "scenario.toml", "-o", "result"], result, check, seed=1)


@needs_programs
def test_programs(here: Path, way: str) -> None:
    """A killed run with programs in the guest leaves no process of them, and can be repeated."""
    scenario = replace(Scenario.from_dict(toml_files.loads(SCENARIO)), duration_s=4)
    scenario.save(here / "scenario.toml")
    result = here / "result"

    def check() -> None:
        if result.exists():
            Run.load(result)

    options = ["--engine", "kernel-http", "--kernel", kernel_with(way).version]
    survives(here, ["run", "scenario.toml", *options, "-o", "result"], result, check, seed=9)


def test_search(here: Path) -> None:
    """A killed search resumes; its folder can be reported on at any time."""
    words = "raygen --alpha bbr --beta cubic --budget 4 --population 4 --duration 5 --jobs 2"
    words += " --confirm 1"
    result = here / "found"

    def check() -> None:
        if (result / "search.json").exists():
            SearchResult.load(result)

    survives(here, [*words.split(), "-o", "found"], result, check, seed=2)


def test_sweep(here: Path) -> None:
    """A killed sweep leaves its table complete or absent."""
    (here / "scenario.toml").write_text(SCENARIO)
    result = here / "swept"
    vary = ["--vary", "rtt_ms=10,20", "--vary", "duration_s=4,5", "--repeat", "2"]

    def check() -> None:
        for table in result.glob("*.csv"):
            assert len(table.read_text().splitlines()) == 1 + 2 * 2 * 2 * 2

    words = ["sweep", "scenario.toml", *vary, "-o", "swept"]
    survives(here, words, result, check, seed=8)


@pytest.mark.skipif(_KILLS < _MANY, reason="takes a minute: make soak")
def test_study(here: Path) -> None:
    """A killed study resumes."""
    result = here / "results"

    def check() -> None:
        for table in result.glob("*.csv"):
            assert table.read_text().endswith("\n")

    words = ["study", "run", "rapid-fairness", "--quick", "-o", "results"]
    survives(here, words, result, check, seed=3)


@pytest.mark.skipif(_KILLS < _MANY, reason="takes minutes: make soak")
def test_training(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed training leaves its training set complete or absent."""
    # All variations would be 690 runs; a kill among them costs minutes and reaches no other code.
    monkeypatch.setattr(implementation, "IMPLEMENTATIONS", ("bbr", "cubic", "vegas"))
    for name, every in (("VARIATIONS", 7), ("TESTED_VARIATIONS", 5)):
        kinds = getattr(training, name)[::every]
        monkeypatch.setattr(training, name, kinds)
    result = here / "trained"
    result.mkdir()

    def check() -> None:
        assert {path.name for path in result.glob("[!.]*")} <= {"set.parquet"}

    words = "classify-train --noisy 0 --setting 5bw-35rtt-16q -o trained/set.parquet"
    survives(here, words.split(), result, check, seed=4, is_folder_given=True)


def test_simulation(here: Path) -> None:
    """A killed simulation of a data centre can be repeated."""
    words = "bfc simulate --clos 2x4x2 --duration 1 --scheme bfc,dctcp --seed 3 -o simulated"
    result = here / "simulated"

    def check() -> None:
        for folder in result.glob("[!.]*"):
            Simulation.load(folder)

    survives(here, words.split(), result, check, seed=5)


def test_store(here: Path) -> None:
    """Killed writes leave a store's runs complete, and missing ones are written by the next."""
    scenario = Scenario.from_dict(toml_files.loads(SCENARIO))
    run = KernelEngine().run(replace(scenario, duration_s=5))
    store = Store(here / "kept")
    path = store.put(run)
    expected = digest(path)
    moments = random.Random(6)
    for _ in range(10 * _KILLS):
        pid = os.fork()
        if not pid:
            with suppress(BaseException):
                while True:
                    store.put(run, overwrite=True)
            os._exit(70)
        assert wait(pid, moments.uniform(0.01, 0.15)) is None
        os.kill(pid, signal.SIGKILL)
        assert wait(pid, 60) == -signal.SIGKILL
        loaded = store.get(run.scenario, KernelEngine())
        assert loaded is None or digest(path) == expected
    store.put(run, overwrite=True)
    assert digest(path) == expected
    assert {path} == set((here / "kept").glob("*/*"))


@pytest.mark.skipif(_KILLS < _MANY, reason="takes minutes: make soak")
def test_modules(other_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed compilation of modules leaves no partial build, and the next build is the same."""
    monkeypatch.chdir(tmp_path)
    expected = digest(installed().path / "root")
    tree = (
        other_cache / "current"
    ).resolve()  # the working folder of make, which ends when nobody reads its output
    moments = random.Random(7)
    killed = 0
    begin_s = time.monotonic()
    shutil.rmtree(other_cache / "builds")
    installed()
    usual_s = time.monotonic() - begin_s
    while killed < _KILLS // 5:  # each is a build of half a minute
        shutil.rmtree(other_cache / "builds")
        pid = start(["kernel", "info"])
        if wait(pid, moments.uniform(0, usual_s)) is not None:
            continue
        os.kill(pid, signal.SIGKILL)
        wait(pid, 60)
        killed += 1
        for place in (tmp_path, other_cache, tree):
            assert gone(place), guests(place)
        for folder in (other_cache / "builds").glob("[!.]*"):
            assert digest(folder / "root") == expected
    assert digest(installed().path / "root") == expected
    assert not list((other_cache / "builds").glob(".*"))


@pytest.mark.skipif(_KILLS < _MANY, reason="takes minutes: make soak")
def test_kernel_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed kernel build leaves no partial tree in use, and the next build removes it."""
    source = next(iter((installed().path.parents[1] / "sources").glob("linux-source-*")), None)
    if source is None:
        pytest.skip("the cache has no kernel source")
    monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    trees = tmp_path / "cache" / "kernel" / "trees"
    moments = random.Random(8)
    for _ in range(_KILLS // 5):
        pid = start(["kernel", "build", "--source", str(source)])
        status = wait(pid, moments.uniform(1, 40))
        if status is not None:  # a fast machine
            assert status == 0, (tmp_path / "said").read_text()
            shutil.rmtree(tmp_path / "cache")
            continue
        os.kill(pid, signal.SIGKILL)
        wait(pid, 60)
        assert gone(tmp_path), guests(tmp_path)
        for tree in trees.glob("[!.]*"):  # compiled already: its modules would have been next
            assert (load_tree(tree).path / "linux").is_file()
        assert len(list(trees.glob(".*"))) <= 1
