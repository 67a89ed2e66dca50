# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import platform
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

import ccbench
from ccbench.base.errors import CcbenchError, EngineError, InputError, MissingRequirement
from ccbench.emulate import Store, run, run_many
from ccbench.emulate._worker import Task
from tests.unit.emulate.conftest import BASE, FAILS, KILLS, Failures, GuestEngine, seeds

if TYPE_CHECKING:
    from pathlib import Path


class Changing(GuestEngine):
    """An engine that is another one whenever it is asked."""

    def version(self) -> str:
        """Return a version that nobody has had before."""
        return uuid.uuid4().hex


class TestExecutors:
    @pytest.mark.parametrize("stored", [True, False])
    def test_processes(self, engine: GuestEngine, store: Store, stored: bool) -> None:  # noqa: FBT001
        """Runs may be made by a pool of processes; it stays the caller's."""
        with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
            chosen = store if stored else None
            results = dict(run_many(seeds(4), engine=engine, executor=pool, store=chosen))
            assert sorted(results) == [0, 1, 2, 3]
            assert pool.submit(os.getpid).result() != os.getpid()
        assert engine.started() == 4

    def test_stored_here(self, engine: GuestEngine, store: Store) -> None:
        """What workers bring is in the store; what the store has they are not given."""
        with ThreadPoolExecutor(2) as pool:
            list(run_many(seeds(3), engine=engine, executor=pool, store=store))
            assert store.usage().runs == 3
            list(run_many(seeds(4), engine=engine, executor=pool, store=store))
        assert engine.started() == 4

    def test_fresh(self, engine: GuestEngine, store: Store) -> None:
        """A fresh run takes the place of the one that the store has."""
        run(BASE, engine=engine, store=store)
        (before,) = store.folder.glob("*/*/run.json")
        inode = before.stat().st_ino
        with ThreadPoolExecutor(1) as pool:
            list(run_many([BASE], engine=engine, executor=pool, store=store, fresh=True))
        assert before.stat().st_ino != inode
        assert store.usage().runs == 1

    def test_stored_as_they_arrive(self, engine: GuestEngine, store: Store) -> None:
        """What has come while the caller was busy is stored, also if the caller then leaves."""
        with ThreadPoolExecutor(2) as pool:
            results = run_many(seeds(5), engine=engine, executor=pool, store=store)
            next(results)
            pool.shutdown()  # which waits until all have been run
            results.close()
        assert store.usage().runs == 5

    def test_store_full(self, engine: GuestEngine, tmp_path: Path) -> None:
        """A store that cannot be written ends everything; that is no failed run."""
        (tmp_path / "file").touch()
        store, failures = Store(tmp_path / "file" / "store"), Failures()
        with (
            ThreadPoolExecutor(2) as pool,
            pytest.raises(CcbenchError, match="cannot write to the store"),
        ):
            list(run_many(seeds(3), engine=engine, executor=pool, store=store, on_failure=failures))
        assert failures == []

    def test_failure(self, engine: GuestEngine) -> None:
        """An error crosses the border of the process with its console."""
        with (
            ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool,
            pytest.raises(EngineError) as caught,
        ):
            list(run_many([FAILS], engine=engine, executor=pool, store=None))
        assert str(caught.value) == "scenarios[0] (the bad one): the guest died"
        assert caught.value.console == ("Kernel panic", "not syncing")

    def test_other_engine(self, engine: GuestEngine) -> None:
        """A worker whose engine is another says so, with its host, and is no failed run."""
        failures = Failures()
        with ThreadPoolExecutor(1) as pool:
            results = run_many(
                [BASE],
                engine=Changing(engine.folder, engine.make_run),
                executor=pool,
                store=None,
                on_failure=failures,
            )
            message = f"^worker {platform.node()}: engine arithmetic here is .*, but .* is needed"
            with pytest.raises(MissingRequirement, match=message):
                list(results)
        assert failures == []
        assert engine.started() == 0

    def test_other_ccbench(self, engine: GuestEngine) -> None:
        """A worker with another ccbench says which it has and which it needs."""
        task = replace(Task.of(engine), ccbench="99.1")
        message = f"^worker .*: ccbench here is {ccbench.__version__}, but 99.1 is needed: pip"
        with pytest.raises(MissingRequirement, match=message):
            task(BASE)

    def test_killed(self, engine: GuestEngine) -> None:
        """A pool one of whose processes is killed ends everything, in one line."""
        with (
            ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool,
            pytest.raises(CcbenchError, match="a worker process was killed") as caught,
        ):
            list(run_many([KILLS], engine=engine, executor=pool, store=None))
        assert not isinstance(caught.value, EngineError)

    def test_cancels(self, engine: GuestEngine) -> None:
        """Leaving the loop takes back what the executor has not started."""
        with ThreadPoolExecutor(1) as pool:
            results = run_many(seeds(100), engine=engine, executor=pool, store=None)
            next(results)
            results.close()
        assert engine.started() < 100

    def test_jobs(self, engine: GuestEngine) -> None:
        """An executor has its own number of workers."""
        with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="jobs is 2"):
            run_many([BASE], engine=engine, executor=pool, jobs=2)
