# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.cache import cache_dir
from ccbench.base.errors import CcbenchError, InputError
from ccbench.emulate import Store
from ccbench.emulate.engine import run_identity
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ccbench.run.run import Run

SCENARIO = Scenario(
    flows=(Flow(),),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_packets=50),), rtt_ms=50),
    duration_s=10,
)


@dataclass(frozen=True)
class NamedEngine:
    """The part of an engine that a store needs."""

    name: str = "arithmetic"
    number: str = "1"

    def identity(self, scenario: Scenario) -> str:
        """Return the identity of the runs of `make_run`, for their name and number."""
        return run_identity(self.name, self.number, scenario.key())


ENGINE: Any = NamedEngine()


def put_many(store: Store, runs: list[Run], _: int) -> None:
    """Put every run several times, as another process would."""
    for _ in range(5):
        for run in runs:
            store.put(run, overwrite=True)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Make a store in a new folder."""
    return Store(tmp_path / "store")


@pytest.fixture
def result(make_run: Callable[..., Run]) -> Run:
    """Make a run of SCENARIO."""
    return make_run(SCENARIO, 6.0)


class TestCacheDir:
    def test_override(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """CCBENCH_CACHE moves the cache folder, and the default store with it, at any time."""
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path))
        assert cache_dir() == tmp_path
        assert Store().folder == tmp_path / "runs"

    def test_unknown_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The home of an unknown user cannot be the cache folder."""
        monkeypatch.setenv("CCBENCH_CACHE", "~nobody-at-all/cache")
        with pytest.raises(InputError, match=r"~nobody-at-all.* home folder of an existing user"):
            cache_dir()

    @pytest.mark.parametrize("name", ["file", "file/cache"])
    def test_file_in_the_way(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A cache folder that is a file, or below one, is refused before anything starts."""
        (tmp_path / "file").touch()
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / name))
        with pytest.raises(InputError, match=r"CCBENCH_CACHE is .*file is a file: set CCB"):
            cache_dir()

    def test_default(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """By default the cache is in the user's cache folder of the XDG specification."""
        monkeypatch.delenv("CCBENCH_CACHE", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_dir() == tmp_path / "ccbench"


class TestStore:
    def test_unknown(self, store: Store) -> None:
        """A new store is empty."""
        assert not store.has(SCENARIO, ENGINE)
        assert store.get(SCENARIO, ENGINE) is None

    def test_known(self, store: Store, result: Run) -> None:
        """A stored run is returned."""
        folder = store.put(result)
        assert folder.is_relative_to(store.folder)
        assert store.has(SCENARIO, ENGINE)
        actual = store.get(SCENARIO, ENGINE)
        assert actual is not None
        assert actual.throughput().equals(result.throughput())

    @pytest.mark.parametrize(
        ("scenario", "engine"),
        [
            (replace(SCENARIO, seed=2), ENGINE),
            (SCENARIO, NamedEngine(name="other")),
            (SCENARIO, NamedEngine(number="2")),
        ],
    )
    def test_others(self, store: Store, result: Run, scenario: Scenario, engine: Any) -> None:
        """Another scenario, engine or engine version is another run."""
        store.put(result)
        assert store.get(scenario, engine) is None

    def test_another_format(
        self, store: Store, result: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A run in files of another format is not found, and stays unchanged."""
        folder = store.put(result)
        monkeypatch.setattr("ccbench.run.run_files.FORMAT", 0)
        assert store.get(SCENARIO, ENGINE) is None
        assert folder.is_dir()

    def test_names(self, store: Store, result: Run) -> None:
        """A stored run is returned with the requested names and labels."""
        store.put(result)
        named = replace(SCENARIO, name="mine", flows=(Flow(label="my flow"),))
        actual = store.get(named, ENGINE)
        assert actual is not None
        assert actual.scenario.name == "mine"
        assert list(actual.summary()["label"]) == ["my flow"]

    def test_overwrite(self, store: Store, result: Run) -> None:
        """The first run stays, unless overwriting is requested."""
        later = replace(result, provenance={**result.provenance, "wall_s": 5})
        store.put(result)
        store.put(later)
        assert "wall_s" not in getattr(store.get(SCENARIO, ENGINE), "provenance", {})
        store.put(later, overwrite=True)
        assert "wall_s" in getattr(store.get(SCENARIO, ENGINE), "provenance", {})

    def test_damaged(self, store: Store, result: Run, caplog: pytest.LogCaptureFixture) -> None:
        """A damaged run is removed with a warning, and can be stored again."""
        folder = store.put(result)
        (folder / "flows.parquet").write_bytes(b"rust")
        assert store.get(SCENARIO, ENGINE) is None
        assert "removed a damaged run" in caplog.text
        assert not folder.exists()
        store.put(result)
        assert store.get(SCENARIO, ENGINE) is not None

    def test_claim(self, store: Store) -> None:
        """A claim excludes others, ends with its block and leaves no file."""
        events = []

        def wait_and_claim() -> None:
            with store.claim(SCENARIO, ENGINE, waiting=lambda: events.append("waiting")):
                events.append("mine")

        with store.claim(SCENARIO, ENGINE):
            other = Thread(target=wait_and_claim)
            other.start()
            while not events:
                time.sleep(0.01)
            events.append("done")
        other.join()
        assert events[0] == "waiting"
        assert events[-1] == "mine"
        assert not [path for path in store.folder.rglob("*") if path.is_file()]

    def test_claim_of_the_killed(self, store: Store) -> None:
        """A claim ends with its process, even if the process is killed."""
        code = (
            "import os, sys; from pathlib import Path; from ccbench.base.locks import lock_file\n"
            "lock_file(Path(sys.argv[1])); os._exit(1)"
        )
        with store.claim(SCENARIO, ENGINE):
            (lock,) = store.folder.glob("??/.*.lock")
        subprocess.run([sys.executable, "-c", code, str(lock)], check=False)
        assert lock.exists()
        waited: list[None] = []
        with store.claim(SCENARIO, ENGINE, waiting=lambda: waited.append(None)):
            assert not waited

    def test_give_up(self, store: Store) -> None:
        """Waiting for a claim can be given up."""

        class GiveUpError(Exception):
            pass

        def give_up() -> None:
            raise GiveUpError

        with (
            store.claim(SCENARIO, ENGINE),
            pytest.raises(GiveUpError),
            store.claim(SCENARIO, ENGINE, waiting=give_up),
        ):
            pass

    def test_usage(self, store: Store, make_run: Callable[..., Run]) -> None:
        """A store reports number and size of its runs."""
        assert (store.usage().runs, store.usage().size_bytes) == (0, 0)
        folders = [store.put(make_run(replace(SCENARIO, seed=i), 6.0)) for i in range(3)]
        size = sum(file.stat().st_size for folder in folders for file in folder.iterdir())
        (folders[0].parent / "notes").touch()  # a foreign file
        assert (store.usage().runs, store.usage().size_bytes) == (3, size)

    def test_leftovers(self, store: Store, result: Run) -> None:
        """Leftovers of a killed process are removed by the next, and never count as runs."""
        folder = store.put(result).parent
        left, written = (folder / f".{name}.{uuid.uuid4().hex}.tmp" for name in ("left", "written"))
        left.mkdir()
        written.mkdir()
        descriptor = os.open(written, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # as the writer does
        store.put(result)
        assert not left.exists()
        assert written.exists()
        assert store.usage().runs == 1
        os.close(descriptor)

    def test_not_writable(self, tmp_path: Path, result: Run) -> None:
        """An unwritable store is an error with its folder and the remedy."""
        (tmp_path / "file").touch()
        with pytest.raises(CcbenchError, match=r"cannot write to the store .*CCBENCH_CACHE"):
            Store(tmp_path / "file").put(result)

    def test_many_processes(self, store: Store, make_run: Callable[..., Run]) -> None:
        """Processes that store the same runs at once leave each run whole, and nothing else."""
        runs = [make_run(replace(SCENARIO, seed=i), 6.0) for i in range(3)]
        with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
            list(pool.map(partial(put_many, store, runs), range(4)))
        for run in runs:
            assert store.get(run.scenario, ENGINE) is not None
        assert [path.name for path in store.folder.glob("*/.*")] == []
        assert store.usage().runs == 3
