# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import EngineError, InputError
from ccbench.emulate import Machine, Store, run, run_many
from tests.unit.emulate.conftest import BASE, FAILS, REFUSED, GuestEngine, seeds, wait_until

if TYPE_CHECKING:
    from ccbench.emulate.engine import Progress
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run


class Busy(GuestEngine):
    """An engine whose machine is always too busy."""

    def run(self, scenario: Scenario, *, on_progress: Progress | None = None) -> Run:
        """Return a late run."""
        result = super().run(scenario, on_progress=on_progress)
        return replace(result, provenance={**result.provenance, "is_late": True})


class Capturing(GuestEngine):
    """An engine that captures packets."""

    def capture_bytes(self, scenario: Scenario) -> float:
        """Return a gigabyte for each second."""
        return scenario.duration_s * 1e9

    def capture(
        self, scenario: Scenario, path: Path, *, on_progress: Progress | None = None
    ) -> Run:
        """Write the name of the scenario after the run."""
        result = self.run(scenario, on_progress=on_progress)
        path.write_text(scenario.name)
        return result


class TestRun:
    def test_once(self, engine: GuestEngine, store: Store) -> None:
        """A scenario is never run twice, unless a fresh run is requested."""
        first = run(BASE, engine=engine, store=store)
        again = run(BASE, engine=engine, store=store)
        assert engine.started() == 1
        assert again.throughput().equals(first.throughput())
        run(BASE, engine=engine, store=store, fresh=True)
        assert engine.started() == 2

    def test_two_at_once(self, engine: GuestEngine, store: Store) -> None:
        """Of two concurrent runs of a scenario, the later waits for the first without progress."""
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
        """A late run is not stored, because the next may be on time."""
        busy = Busy(engine.folder, engine.make_run)
        assert run(BASE, engine=busy, store=store).is_late
        assert store.usage().runs == 0
        with ThreadPoolExecutor(1) as pool:
            assert len(list(run_many(seeds(2), engine=busy, executor=pool, store=store))) == 2
        assert store.usage().runs == 0
        assert not run(BASE, engine=engine, store=store).is_late
        assert store.usage().runs == 1

    def test_no_store(self, engine: GuestEngine) -> None:
        """Without a store every call runs."""
        run(BASE, engine=engine, store=None)
        run(BASE, engine=engine, store=None)
        assert engine.started() == 2

    def test_damaged(self, engine: GuestEngine, store: Store) -> None:
        """A damaged stored run is run again, and replaced in the store."""
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
        """A scenario that the engine refuses starts nothing."""
        with pytest.raises(InputError, match="rtt_ms is 53"):
            run(REFUSED, engine=engine, store=store)
        assert engine.started() == 0

    def test_failure(self, engine: GuestEngine, store: Store) -> None:
        """A failed run is an error, and nothing is stored."""
        with pytest.raises(EngineError) as caught:
            run(FAILS, engine=engine, store=store)
        assert caught.value.console == ("Kernel panic", "not syncing")
        assert store.usage().runs == 0


def _check_capture(engine: Capturing, folder: Path, machine: Machine) -> None:
    """Run a scenario with a capture of up to 5 GB."""
    run(BASE, engine=engine, store=None, capture=folder / "packets.pcapng", machine=machine)


class TestAdvice:
    def test_logged(
        self, engine: GuestEngine, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Advice about scenarios is logged once before they run, and again for stored results."""
        (link,) = BASE.path.bottlenecks
        short = replace(
            BASE, path=replace(BASE.path, bottlenecks=(replace(link, qdisc="dualpi2"),))
        )
        with caplog.at_level(logging.WARNING, "ccbench"):
            list(run_many([short, replace(short, seed=2)], engine=engine, store=store))
            run(short, engine=engine, store=store)
            list(run_many([short], engine=engine, store=store))
        lines = [record.getMessage() for record in caplog.records]
        assert len(lines) == 3
        assert all(line.endswith("set step_ms = 2") for line in lines)


class TestCapture:
    @pytest.fixture
    def capturing(self, engine: GuestEngine, monkeypatch: pytest.MonkeyPatch) -> Capturing:
        """Give an engine that captures packets, and a disk with room for them."""
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1e12))
        return Capturing(engine.folder, engine.make_run)

    def test_stored(self, capturing: Capturing, store: Store, tmp_path: Path) -> None:
        """A stored run is run again for a capture, and remains the only one."""
        path = tmp_path / "packets.pcapng"
        run(BASE, engine=capturing, store=store)
        run(BASE, engine=capturing, store=store, capture=str(path))
        assert path.read_text() == BASE.name
        run(BASE, engine=capturing, store=store)
        assert capturing.started() == 2
        assert store.usage().runs == 1

    def test_cannot(self, engine: GuestEngine, tmp_path: Path) -> None:
        """An engine that cannot capture packets is refused, with the next step."""
        with pytest.raises(InputError, match="arithmetic cannot capture packets: use the engine"):
            run(BASE, engine=engine, store=None, capture=tmp_path / "packets")
        assert engine.started() == 0

    def test_path(self, capturing: Capturing, tmp_path: Path) -> None:
        """A path that cannot hold a capture is refused before the run."""
        with pytest.raises(InputError, match=r"ends with \.pcapng, or a folder"):
            run(BASE, engine=capturing, store=None, capture=tmp_path / "packets.pcap")
        assert capturing.started() == 0

    def test_full_disk(
        self, capturing: Capturing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A capture that does not fit on the disk is refused before the run, with its size."""
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4e9))
        with pytest.raises(InputError, match=r"takes up to 5 GB, and 4 GB are free in /"):
            _check_capture(capturing, tmp_path, Machine(scratch=Path("/proc")))
        assert capturing.started() == 0

    def test_twice(
        self, capturing: Capturing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A disk that also has the records needs room for the capture twice."""
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=9e9))
        with pytest.raises(InputError, match=r"5 GB, twice as much until .*, and 9 GB are free in"):
            _check_capture(capturing, tmp_path, Machine(scratch=tmp_path / "temporary"))
        assert capturing.started() == 0
        _check_capture(capturing, tmp_path, Machine(scratch=Path("/proc")))
        assert capturing.started() == 1

    def test_scratch(self, capturing: Capturing, tmp_path: Path) -> None:
        """The records of a capture count as scratch space."""
        machine = Machine(scratch_bytes=4e9)
        path = tmp_path / "packets.pcapng"
        with pytest.raises(InputError, match=r"records about 5 GB in .*, where 4 GB are free"):
            run(BASE, engine=capturing, store=None, capture=path, machine=machine)
        run(BASE, engine=capturing, store=None, machine=machine)
        assert capturing.started() == 1
