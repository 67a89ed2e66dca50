# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import platform
import uuid
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pytest

import ccbench
from ccbench.base.errors import CcbenchError, EngineError, InputError, MissingRequirement
from ccbench.emulate import Store, run, run_many
from ccbench.emulate._worker import Task
from tests.unit.emulate.conftest import BASE, FAILS, KILLS, Failures, GuestEngine, seeds

if TYPE_CHECKING:
    from pathlib import Path


class Changing(GuestEngine):
    """An engine whose version changes with every call."""

    def version(self) -> str:
        """Return a new version."""
        return uuid.uuid4().hex


class TestExecutors:
    @pytest.mark.parametrize("stored", [True, False])
    def test_processes(self, engine: GuestEngine, store: Store, stored: bool) -> None:  # noqa: FBT001
        """Runs execute in a pool of processes, which stays open for the caller."""
        with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
            chosen = store if stored else None
            results = dict(run_many(seeds(4), engine=engine, executor=pool, store=chosen))
            assert sorted(results) == [0, 1, 2, 3]
            assert pool.submit(os.getpid).result() != os.getpid()
        assert engine.started() == 4

    def test_stored_here(self, engine: GuestEngine, store: Store) -> None:
        """Results of workers are stored here, and stored runs are not sent to workers."""
        with ThreadPoolExecutor(2) as pool:
            list(run_many(seeds(3), engine=engine, executor=pool, store=store))
            assert store.usage().runs == 3
            list(run_many(seeds(4), engine=engine, executor=pool, store=store))
        assert engine.started() == 4

    def test_bounded(self, engine: GuestEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """An executor has a bounded number of runs at a time, as each takes memory of a cluster."""
        monkeypatch.setattr("ccbench.emulate._run_many._AT_ONCE", 3)
        pool = ThreadPoolExecutor(1)
        given: list[int] = []

        class Counting(Executor):
            """Executes in the pool, and records how many runs are not finished."""

            def submit(self, fn: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
                """Start a call."""
                future = pool.submit(fn, *arguments, **more)
                futures.append(future)
                given.append(len(futures) - len(returned))
                return future

        futures: list[Future[Any]] = []
        returned: list[int] = []
        with pool:
            for i, _ in run_many(seeds(8), engine=engine, executor=Counting(), store=None):
                returned.append(i)
        assert sorted(returned) == list(range(8))
        assert max(given) == 3

    def test_fresh(self, engine: GuestEngine, store: Store) -> None:
        """A fresh run replaces the stored one."""
        run(BASE, engine=engine, store=store)
        (before,) = store.folder.glob("*/*/run.json")
        inode = before.stat().st_ino
        with ThreadPoolExecutor(1) as pool:
            list(run_many([BASE], engine=engine, executor=pool, store=store, fresh=True))
        assert before.stat().st_ino != inode
        assert store.usage().runs == 1

    def test_stored_as_they_arrive(self, engine: GuestEngine, store: Store) -> None:
        """Results that arrive while the caller is busy are stored, even if it then leaves."""
        with ThreadPoolExecutor(2) as pool:
            results = run_many(seeds(5), engine=engine, executor=pool, store=store)
            next(results)
            pool.shutdown()  # waits until all have run
            results.close()
        assert store.usage().runs == 5

    def test_store_full(self, engine: GuestEngine, tmp_path: Path) -> None:
        """An unwritable store ends everything, and is not a failed run."""
        (tmp_path / "file").touch()
        store, failures = Store(tmp_path / "file" / "store"), Failures()
        with (
            ThreadPoolExecutor(2) as pool,
            pytest.raises(CcbenchError, match="cannot write to the store"),
        ):
            list(run_many(seeds(3), engine=engine, executor=pool, store=store, on_failure=failures))
        assert failures == []

    def test_failure(self, engine: GuestEngine) -> None:
        """An error keeps its console across processes."""
        with (
            ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool,
            pytest.raises(EngineError) as caught,
        ):
            list(run_many([FAILS], engine=engine, executor=pool, store=None))
        assert str(caught.value) == "scenarios[0] (the bad one): the guest died"
        assert caught.value.console == ("Kernel panic", "not syncing")

    def test_other_engine(self, engine: GuestEngine) -> None:
        """A worker with another engine is reported with its host, and is not a failed run."""
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
        """A worker with another ccbench reports its version and the required one."""
        task = replace(Task.of(engine), ccbench="99.1")
        message = f"^worker .*: ccbench here is {ccbench.__version__}, but 99.1 is needed: pip"
        with pytest.raises(MissingRequirement, match=message):
            task(BASE)

    def test_import_error(self, engine: GuestEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A module that a worker lacks is reported with the step that installs it."""

        def call_without_module(*_: object) -> None:
            raise ModuleNotFoundError("No module named 'absent'")

        monkeypatch.setattr(Task, "__call__", call_without_module)
        with (
            ThreadPoolExecutor(1) as pool,
            pytest.raises(MissingRequirement, match=r"lacks a module .*'absent'.*: install"),
        ):
            list(run_many([BASE], engine=engine, executor=pool, store=None))

    def test_killed(self, engine: GuestEngine) -> None:
        """A pool with a killed process ends everything, in one line."""
        with (
            ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool,
            pytest.raises(CcbenchError, match="a worker process was killed") as caught,
        ):
            list(run_many([KILLS], engine=engine, executor=pool, store=None))
        assert not isinstance(caught.value, EngineError)

    def test_cancels(self, engine: GuestEngine) -> None:
        """Leaving the loop cancels runs that the executor has not started."""
        with ThreadPoolExecutor(1) as pool:
            results = run_many(seeds(100), engine=engine, executor=pool, store=None)
            next(results)
            results.close()
        assert engine.started() < 100

    def test_jobs(self, engine: GuestEngine) -> None:
        """`jobs` is refused with an executor, which has its own number of workers."""
        with ThreadPoolExecutor(1) as pool, pytest.raises(InputError, match="jobs is 2"):
            run_many([BASE], engine=engine, executor=pool, jobs=2)
