# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

import ccbench
from ccbench.emulate import Check, Store, cluster, get_engine, run, run_many
from ccbench.emulate._worker import Task
from ccbench.emulate.engine import ENGINES
from ccbench.emulate.realtime.host import lacking
from ccbench.errors import CcbenchError, EngineError, InputError, MissingRequirement
from ccbench.scenario import Bottleneck, Flow, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.emulate.engine import Progress
    from ccbench.run import Run

BASE = Scenario(
    flows=(Flow(),),
    bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_packets=50),),
    rtt_ms=50,
    duration_s=5,
)
#: Scenarios that the engine below treats in a special way.
FAILS = replace(BASE, rtt_ms=51, name="the bad one")
ENDLESS = replace(BASE, rtt_ms=52)
REFUSED = replace(BASE, rtt_ms=53)
KILLS = replace(BASE, rtt_ms=54)


@dataclass(frozen=True)
class GuestEngine:
    """An engine whose guest is a program that sleeps; what it started is written to `folder`."""

    folder: Path
    make_run: Callable[..., Run]
    name: str = "arithmetic"

    def version(self) -> str:
        """Return the version that the runs of `make_run` bear."""
        return "1"

    def provenance(self) -> dict[str, object]:
        """Return name and version."""
        return {"engine": self.name, "engine_version": self.version()}

    def check(self, scenario: Scenario) -> None:
        """Refuse one scenario."""
        if scenario == REFUSED:
            raise InputError("rtt_ms is 53; it must be something else: change it")

    def doctor(self) -> list[Check]:
        """Need nothing."""
        return []

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Start a guest, fail or go on until stopped if the scenario says so, and stop it."""
        with subprocess.Popen(["sleep", "60"]) as guest:
            (self.folder / str(guest.pid)).touch()
            try:
                if scenario == KILLS:
                    os.kill(os.getpid(), signal.SIGKILL)
                if scenario == FAILS:
                    raise EngineError("the guest died", ["Kernel panic", "not syncing"])
                deadline = time.monotonic() + 30
                while scenario == ENDLESS and time.monotonic() < deadline:
                    time.sleep(0.01)
                    if on_progress is not None:
                        on_progress(0.0)
                if on_progress is not None:
                    on_progress(scenario.duration_s)
            finally:
                guest.kill()
        return self.make_run(scenario, 6.0)

    def started(self) -> int:
        """Return how many guests there were."""
        return len(list(self.folder.iterdir()))

    def running(self) -> int:
        """Return how many guests there are."""
        return sum(Path(f"/proc/{path.name}").exists() for path in self.folder.iterdir())


class Changing(GuestEngine):
    """An engine that is another one whenever it is asked."""

    def version(self) -> str:
        """Return a version that nobody has had before."""
        return uuid.uuid4().hex


class Busy(GuestEngine):
    """An engine whose machine is always too busy."""

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Run too late."""
        result = super().run(scenario, on_progress=on_progress)
        return replace(result, provenance={**result.provenance, "is_late": True})


class Failures(list[tuple[int, str]]):
    """Keeps what it is called with."""

    def __call__(self, position: int, error: EngineError) -> None:
        """Keep a failure."""
        self.append((position, str(error)))


@pytest.fixture
def engine(tmp_path: Path, make_run: Callable[..., Run]) -> GuestEngine:
    """Make an engine that runs what conftest.py computes."""
    (tmp_path / "guests").mkdir()
    return GuestEngine(tmp_path / "guests", make_run)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Make a store in a new folder."""
    return Store(tmp_path / "store")


def seeds(count: int) -> list[Scenario]:
    """Make so many different scenarios."""
    return [replace(BASE, seed=i) for i in range(count)]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that takes a moment; whether it came about is for the test to say."""
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


class TestPackage:
    def test_names(self) -> None:
        """Everything that the package offers is there, and dir() tells."""
        for name in ccbench.__all__:
            assert getattr(ccbench, name) is not None
            assert name in dir(ccbench)
        assert ccbench.Scenario is Scenario
        assert ccbench.emulate.run is run

    def test_unknown_name(self) -> None:
        """What it does not offer is an AttributeError, as everywhere."""
        with pytest.raises(AttributeError, match="nonsense"):
            ccbench.nonsense  # noqa: B018

    def test_light(self) -> None:
        """Importing the package imports nothing heavy; its modules come when they are used."""
        code = "import sys, ccbench; print('pandas' in sys.modules, ccbench.harm.harm(2, 1))"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout == "False 0.5\n"


class TestWhatIsRun:
    @pytest.mark.parametrize("given", ["bbr.toml", [], None])
    def test_one(self, given: object) -> None:
        """A path or a list is no scenario: the message says how to come to one."""
        with pytest.raises(
            InputError, match=r"^scenario is .*; it must be a Scenario: load a file"
        ):
            run(given)  # type: ignore[arg-type]

    def test_many(self) -> None:
        """One alone is not several, and each of several is a scenario."""
        one = Scenario(
            flows=(Flow(),),
            bottlenecks=(Bottleneck(bandwidth_mbps=1, queue_bdp=1),),
            rtt_ms=1,
            duration_s=1,
        )
        for given, field in (
            (one, "scenarios"),
            ("bbr.toml", "scenarios"),
            ([one, 1], r"scenarios\[1\]"),
        ):
            with pytest.raises(InputError, match=f"^{field} is "):
                list(run_many(given))  # type: ignore[arg-type]


class TestLacking:
    def test_system_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who is not root finds root's programs, which a run with sudo will find, too."""
        monkeypatch.setenv("PATH", str(tmp_path))
        wanted = {"ldconfig": "libc-bin", "no-such-program": "some-package"}
        assert {"no-such-program": "some-package"} == lacking(wanted)


class TestGetEngine:
    def test_unknown(self) -> None:
        """An engine that does not exist is an input error that lists those that do."""
        with pytest.raises(InputError, match="engine is 'ns-3'; it must be one of kernel"):
            get_engine("ns-3")

    def test_known(self) -> None:
        """Each engine bears the name that it is known by."""
        for name in ENGINES:
            assert get_engine(name).name == name


class TestEngineError:
    def test_console(self) -> None:
        """The error is its message; the console's lines are kept beside it."""
        error = EngineError("the guest died", ["one", "two"])
        assert str(error) == "the guest died"
        assert error.console == ("one", "two")
        assert EngineError("it did not start").console == ()


class TestRun:
    def test_once(self, engine: GuestEngine, store: Store) -> None:
        """The same scenario is never run twice, unless a fresh run is asked for."""
        first = run(BASE, engine=engine, store=store)
        again = run(BASE, engine=engine, store=store)
        assert engine.started() == 1
        assert again.throughput().equals(first.throughput())
        run(BASE, engine=engine, store=store, fresh=True)
        assert engine.started() == 2

    def test_two_at_once(self, engine: GuestEngine, store: Store) -> None:
        """Nor by two at once: the later one waits, with reports of no progress, for the first."""
        reports: list[float] = []

        def second(_: float) -> None:
            if not other.is_alive() and not reports:
                other.start()
                wait_until(lambda: bool(reports))

        other = Thread(
            target=run,
            args=(BASE,),
            kwargs={"engine": engine, "store": store, "on_progress": reports.append},
        )
        run(BASE, engine=engine, store=store, on_progress=second)
        other.join()
        assert set(reports) == {0.0}
        assert engine.started() == 1

    def test_late(self, engine: GuestEngine, store: Store) -> None:
        """A run for which the machine was too busy is not kept: the next one may be better."""
        busy = Busy(engine.folder, engine.make_run)
        assert run(BASE, engine=busy, store=store).is_late
        assert store.usage().runs == 0
        with ThreadPoolExecutor(1) as pool:
            assert len(list(run_many(seeds(2), engine=busy, executor=pool, store=store))) == 2
        assert store.usage().runs == 0
        assert not run(BASE, engine=engine, store=store).is_late
        assert store.usage().runs == 1

    def test_no_store(self, engine: GuestEngine) -> None:
        """Without a store every run is run."""
        run(BASE, engine=engine, store=None)
        run(BASE, engine=engine, store=None)
        assert engine.started() == 2

    def test_damaged(self, engine: GuestEngine, store: Store) -> None:
        """A damaged run in the store is run again, and the store has it whole from then on."""
        run(BASE, engine=engine, store=store)
        for file in store.folder.glob("*/*/flows.parquet"):
            file.write_bytes(b"")
        run(BASE, engine=engine, store=store)
        run(BASE, engine=engine, store=store)
        assert engine.started() == 2

    def test_progress(self, engine: GuestEngine) -> None:
        """Progress is reported in seconds of the scenario."""
        done: list[float] = []
        run(BASE, engine=engine, store=None, on_progress=done.append)
        assert done == [5.0]

    def test_refused(self, engine: GuestEngine, store: Store) -> None:
        """A scenario that the engine cannot run is refused before anything is started."""
        with pytest.raises(InputError, match="rtt_ms is 53"):
            run(REFUSED, engine=engine, store=store)
        assert engine.started() == 0

    def test_failure(self, engine: GuestEngine, store: Store) -> None:
        """A failed run is an error, and nothing is stored."""
        with pytest.raises(EngineError) as caught:
            run(FAILS, engine=engine, store=store)
        assert caught.value.console == ("Kernel panic", "not syncing")
        assert store.usage().runs == 0


class TestRunMany:
    def test_all(self, engine: GuestEngine, store: Store) -> None:
        """Every scenario gives one result, with its position."""
        scenarios = seeds(5)
        results = dict(run_many(scenarios, engine=engine, store=store))
        assert [results[i].scenario for i in range(5)] == scenarios
        assert engine.started() == 5

    def test_none(self, engine: GuestEngine) -> None:
        """Nothing to run is no error."""
        assert list(run_many([], engine=engine)) == []

    @pytest.mark.parametrize("stored", [True, False])
    def test_equal_ones(self, engine: GuestEngine, store: Store, stored: bool) -> None:  # noqa: FBT001
        """Equal scenarios run once, and each result bears its own name."""
        scenarios = [replace(BASE, name=name) for name in ("a", "b", "c")]
        results = dict(run_many(scenarios, engine=engine, store=store if stored else None))
        assert [results[i].scenario.name for i in range(3)] == ["a", "b", "c"]
        assert engine.started() == 1

    def test_stored(self, engine: GuestEngine, store: Store) -> None:
        """What the store has is not run, unless fresh runs are asked for."""
        run(seeds(3)[1], engine=engine, store=store)
        assert len(list(run_many(seeds(3), engine=engine, store=store))) == 3
        assert engine.started() == 3
        assert len(list(run_many(seeds(3), engine=engine, store=store, fresh=True))) == 3
        assert engine.started() == 6

    def test_damaged(self, engine: GuestEngine, store: Store) -> None:
        """A run that turns out to be damaged in the store is run again."""
        run(BASE, engine=engine, store=store)
        for file in store.folder.glob("*/*/flows.parquet"):
            file.write_bytes(b"")
        assert len(list(run_many([BASE], engine=engine, store=store))) == 1
        assert engine.started() == 2

    def test_lazy(self, engine: GuestEngine) -> None:
        """Nothing runs before the first result is asked for."""
        results = run_many(seeds(2), engine=engine, store=None)
        assert engine.started() == 0
        results.close()

    def test_as_they_finish(self, engine: GuestEngine) -> None:
        """A result is given while others still run; leaving the loop then stops those."""
        results = run_many([ENDLESS, BASE], engine=engine, store=None, jobs=2)
        assert next(results)[0] == 1
        wait_until(lambda: engine.running() == 1)
        assert engine.running() == 1
        results.close()
        assert engine.running() == 0

    def test_jobs(self, engine: GuestEngine) -> None:
        """No more run at once than asked for."""
        endless = [replace(ENDLESS, name=str(i)) for i in range(3)]
        results = run_many([*seeds(3), *endless], engine=engine, store=None, jobs=1)
        for _ in range(3):
            next(results)
            assert engine.running() <= 1
        results.close()
        assert engine.started() <= 4
        with pytest.raises(InputError, match="jobs is 0"):
            run_many(seeds(1), engine=engine, jobs=0)

    def test_refused(self, engine: GuestEngine) -> None:
        """If one scenario cannot be run, none is, and it is said which one."""
        with pytest.raises(InputError, match=r"^scenarios\[1\]: rtt_ms is 53"):
            run_many([BASE, REFUSED], engine=engine)
        assert engine.started() == 0

    def test_failure(self, engine: GuestEngine, store: Store) -> None:
        """A failed run stops the others, and the error says which it was and what it printed."""
        with pytest.raises(EngineError) as caught:
            list(run_many([ENDLESS, FAILS, *seeds(50)], engine=engine, store=store, jobs=2))
        assert str(caught.value) == "scenarios[1] (the bad one): the guest died"
        assert caught.value.console == ("Kernel panic", "not syncing")
        assert engine.running() == 0

    def test_failures(self, engine: GuestEngine, store: Store) -> None:
        """A caller who wants to hear of failed runs gets all the others."""
        failures = Failures()
        scenarios = [FAILS, *seeds(3), replace(FAILS, name="again"), FAILS]
        results = run_many(scenarios, engine=engine, store=store, jobs=1, on_failure=failures)
        assert sorted(i for i, _ in results) == [1, 2, 3]
        assert failures == [(i, "the guest died") for i in (0, 4, 5)]
        assert store.usage().runs == 3

    def test_only_failures(self, engine: GuestEngine) -> None:
        """Nor does it matter if nothing else is left."""
        failures = Failures()
        assert list(run_many([FAILS], engine=engine, store=None, on_failure=failures)) == []
        assert failures == [(0, "the guest died")]

    def test_other_errors(self, engine: GuestEngine, tmp_path: Path) -> None:
        """What is no failed run ends everything all the same."""
        (tmp_path / "file").touch()
        store, failures = Store(tmp_path / "file" / "store"), Failures()
        with pytest.raises(CcbenchError, match="cannot write to the store"):
            list(run_many(seeds(3), engine=engine, store=store, on_failure=failures))
        assert failures == []

    def test_exception_in_on_failure(self, engine: GuestEngine) -> None:
        """An exception of the caller's function ends everything, and leaves nothing running."""

        def stop(_position: int, _error: EngineError) -> None:
            raise RuntimeError

        with pytest.raises(RuntimeError):
            list(run_many([ENDLESS, FAILS], engine=engine, store=None, jobs=2, on_failure=stop))
        assert engine.running() == 0

    def test_exception_in_loop(self, engine: GuestEngine) -> None:
        """An exception in the caller's loop leaves nothing running."""

        def caller() -> None:
            for _ in run_many([ENDLESS, BASE], engine=engine, store=None, jobs=2):
                raise RuntimeError

        with pytest.raises(RuntimeError):
            caller()
        assert engine.running() == 0

    def test_interrupt(self, tmp_path: Path, engine: GuestEngine) -> None:
        """Ctrl-C ends the program at once and leaves no guest behind."""
        program = textwrap.dedent(
            """
            import signal, sys
            # A program started in the background would otherwise not hear it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.path.insert(0, sys.argv[1])
            from pathlib import Path
            from conftest import run_with_rates
            from test_emulate import ENDLESS, GuestEngine, run_many, seeds

            engine = GuestEngine(Path(sys.argv[2]), run_with_rates)
            for _ in run_many([ENDLESS, *seeds(9)], engine=engine, store=None, jobs=2):
                pass
            """
        )
        arguments = [sys.executable, "-c", program, str(Path(__file__).parent), str(engine.folder)]
        with subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE) as process:
            wait_until(lambda: engine.started() > 0)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        assert b"KeyboardInterrupt" in errors
        assert process.returncode not in (0, None)
        assert engine.running() == 0


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


class TestCluster:
    @pytest.mark.parametrize("address", ["head", "head:8786", "http://head:8786", "tcp://head"])
    def test_bad_address(self, address: str) -> None:
        """A cluster is named by the address of its scheduler."""
        with (
            pytest.raises(InputError, match=f"^scheduler is '{address}'; .* tcp://host:8786"),
            cluster(address),
        ):
            pass

    def test_no_dask(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without dask one line says how to install it."""
        monkeypatch.setitem(sys.modules, "distributed", None)
        with (
            pytest.raises(MissingRequirement, match=r"pip install 'ccbench\[cluster\]'"),
            cluster("tcp://127.0.0.1:8786"),
        ):
            pass

    def test_lazy(self) -> None:
        """Dask is not imported before it is used."""
        code = "import sys, ccbench.emulate; print('distributed' in sys.modules)"
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert ran.stdout == "False\n"
