# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import CcbenchError, EngineError, InputError
from ccbench.emulate import Store, run, run_many
from tests.unit.emulate.conftest import (
    BASE,
    ENDLESS,
    FAILS,
    REFUSED,
    Failures,
    GuestEngine,
    seeds,
    wait_until,
)

if TYPE_CHECKING:
    from ccbench.run.run import Run


class TestRunMany:
    def test_all(self, engine: GuestEngine, store: Store) -> None:
        """Every scenario has one result, with its position."""
        scenarios = seeds(5)
        results = dict(run_many(scenarios, engine=engine, store=store))
        assert [results[i].scenario for i in range(5)] == scenarios
        assert engine.started() == 5

    def test_none(self, engine: GuestEngine) -> None:
        """An empty list is no error."""
        assert list(run_many([], engine=engine)) == []

    @pytest.mark.parametrize("stored", [True, False])
    def test_equal_ones(self, engine: GuestEngine, store: Store, stored: bool) -> None:  # noqa: FBT001
        """Equal scenarios run once, and each result has its own name."""
        scenarios = [replace(BASE, name=name) for name in ("a", "b", "c")]
        results = dict(run_many(scenarios, engine=engine, store=store if stored else None))
        assert [results[i].scenario.name for i in range(3)] == ["a", "b", "c"]
        assert engine.started() == 1

    def test_stored(self, engine: GuestEngine, store: Store) -> None:
        """Stored runs are not repeated, unless fresh runs are requested."""
        run(seeds(3)[1], engine=engine, store=store)
        assert len(list(run_many(seeds(3), engine=engine, store=store))) == 3
        assert engine.started() == 3
        assert len(list(run_many(seeds(3), engine=engine, store=store, fresh=True))) == 3
        assert engine.started() == 6

    def test_damaged(self, engine: GuestEngine, store: Store) -> None:
        """A damaged stored run is run again."""
        run(BASE, engine=engine, store=store)
        for file in store.folder.glob("*/*/flows.parquet"):
            file.write_bytes(b"")
        assert len(list(run_many([BASE], engine=engine, store=store))) == 1
        assert engine.started() == 2

    def test_lazy(self, engine: GuestEngine) -> None:
        """Nothing runs before the first result is requested."""
        results = run_many(seeds(2), engine=engine, store=None)
        assert engine.started() == 0
        results.close()

    def test_as_they_finish(self, engine: GuestEngine) -> None:
        """A result is returned while others still run; leaving the loop stops those."""
        results = run_many([ENDLESS, BASE], engine=engine, store=None, jobs=2)
        assert next(results)[0] == 1
        wait_until(lambda: engine.running() == 1)
        assert engine.running() == 1
        results.close()
        assert engine.running() == 0

    def test_jobs(self, engine: GuestEngine) -> None:
        """At most `jobs` runs are in progress at once."""
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
        """If one scenario is refused, none is run, and the message gives its position."""
        with pytest.raises(InputError, match=r"^scenarios\[1\]: rtt_ms is 53"):
            run_many([BASE, REFUSED], engine=engine)
        assert engine.started() == 0

    def test_failure(self, engine: GuestEngine, store: Store) -> None:
        """A failed run stops the others, and the error has its position, name and console."""
        with pytest.raises(EngineError) as caught:
            list(run_many([ENDLESS, FAILS, *seeds(50)], engine=engine, store=store, jobs=2))
        assert str(caught.value) == "scenarios[1] (the bad one): the guest died"
        assert caught.value.console == ("Kernel panic", "not syncing")
        assert engine.running() == 0

    def test_failures(self, engine: GuestEngine, store: Store) -> None:
        """With `on_failure` a failed run does not stop the others."""
        failures = Failures()
        scenarios = [FAILS, *seeds(3), replace(FAILS, name="again"), FAILS]
        results = run_many(scenarios, engine=engine, store=store, jobs=1, on_failure=failures)
        assert sorted(i for i, _ in results) == [1, 2, 3]
        assert failures == [(i, "the guest died") for i in (0, 4, 5)]
        assert store.usage().runs == 3

    def test_only_failures(self, engine: GuestEngine) -> None:
        """With `on_failure`, it is no error if every run fails."""
        failures = Failures()
        assert list(run_many([FAILS], engine=engine, store=None, on_failure=failures)) == []
        assert failures == [(0, "the guest died")]

    def test_other_errors(self, engine: GuestEngine, tmp_path: Path) -> None:
        """Errors other than failed runs end everything even with `on_failure`."""
        (tmp_path / "file").touch()
        store, failures = Store(tmp_path / "file" / "store"), Failures()
        with pytest.raises(CcbenchError, match="cannot write to the store"):
            list(run_many(seeds(3), engine=engine, store=store, on_failure=failures))
        assert failures == []

    def test_import_error(self, engine: GuestEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A missing module of a run in this process is not reported as one of a worker."""

        def run_without_module(*_: object, **__: object) -> Run:
            raise ModuleNotFoundError("No module named 'absent'")

        monkeypatch.setattr(GuestEngine, "run", run_without_module)
        with pytest.raises(ModuleNotFoundError, match="absent"):
            list(run_many([BASE], engine=engine, store=None))

    def test_exception_in_on_failure(self, engine: GuestEngine) -> None:
        """An exception in `on_failure` ends everything and leaves nothing running."""

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
            import sys
            sys.path.insert(0, sys.argv[1])
            from pathlib import Path
            from ccbench.emulate import run_many
            from tests.unit.conftest import run_with_rates
            from tests.unit.emulate.conftest import ENDLESS, GuestEngine, seeds

            engine = GuestEngine(Path(sys.argv[2]), run_with_rates)
            for _ in run_many([ENDLESS, *seeds(9)], engine=engine, store=None, jobs=2):
                pass
            """
        )
        checkout = Path(__file__).parents[3]
        arguments = [sys.executable, "-c", program, str(checkout), str(engine.folder)]
        with subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.PIPE) as process:
            wait_until(lambda: engine.started() > 0)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=600)
        assert b"KeyboardInterrupt" in errors
        assert process.returncode not in (0, None)
        assert engine.running() == 0
