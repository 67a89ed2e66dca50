# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ccbench.bfc.case import Case, run_cases
from ccbench.bfc.scheme import scheme
from ccbench.bfc.simulation import simulate
from ccbench.bfc.store import SimulationStore, case_key
from ccbench.bfc.topology import star
from ccbench.bfc.workload import Workload
from ccbench.errors import CcbenchError

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.bfc.simulation import Simulation

CASE = Case(
    name="small",
    topology=star(servers=4),
    workload=Workload(load=0.3),
    scheme=scheme("bfc"),
    duration_s=2e-5,
    drain_s=1e-4,
)


def _packets(_: Case, result: Simulation) -> int:
    return int(result.summary["sent_data_packets"])


@pytest.fixture
def store(tmp_path: Path) -> SimulationStore:
    """Return an empty store."""
    return SimulationStore(tmp_path / "simulations")


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that gets the duration of each simulation that is made."""
    made: list[float] = []

    def counted(*args: object, **settings: object) -> Simulation:
        made.append(float(args[3]))  # type: ignore[arg-type]
        return simulate(*args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr("ccbench.bfc.case.simulate", counted)
    return made


class TestSimulationStore:
    def test_nothing_is_simulated_twice(self, store: SimulationStore, count: list[float]) -> None:
        """What is in the store is taken from there, and measures the same."""
        first = run_cases([CASE], _packets, store=store)
        assert first == run_cases([CASE], _packets, store=store)
        assert 1 == len(count)

    def test_fresh(self, store: SimulationStore, count: list[float]) -> None:
        """What is in the store is simulated again if that is asked for."""
        run_cases([CASE], _packets, store=store)
        run_cases([CASE], _packets, store=store, fresh=True)
        assert 2 == len(count)

    def test_a_stopped_study_resumes(self, store: SimulationStore, count: list[float]) -> None:
        """What was finished before a study was stopped is not simulated again."""
        cases = [replace(CASE, seed=seed) for seed in (1, 2, 3)]

        def stop(done: float) -> None:
            if done > 0.5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_cases(cases, _packets, jobs=1, store=store, on_progress=stop)
        before = len(count)
        run_cases(cases, _packets, jobs=1, store=store)
        assert len(count) <= 4
        assert len(count) - before <= 1

    def test_same_bytes(self, store: SimulationStore) -> None:
        """A result from the store is the one that was put there."""
        (made,) = run_cases([CASE], lambda _, result: result, store=store)
        (kept,) = run_cases([CASE], lambda _, result: result, store=store)
        assert made.summary == kept.summary
        for table in ("flows", "samples", "buffers", "ports", "active_flows"):
            assert getattr(made, table).equals(getattr(kept, table))

    def test_damaged(
        self, store: SimulationStore, count: list[float], caplog: pytest.LogCaptureFixture
    ) -> None:
        """A result whose files were changed is removed with a warning, and made again."""
        run_cases([CASE], _packets, store=store)
        (file,) = store.folder.glob("*/*/flows.parquet")
        file.write_bytes(b"")
        run_cases([CASE], _packets, store=store)
        assert 2 == len(count)
        assert "damaged" in caplog.text

    def test_unwritable(self, tmp_path: Path) -> None:
        """A store that cannot be written says so."""
        (tmp_path / "file").write_text("")
        with pytest.raises(CcbenchError, match="CCBENCH_CACHE"):
            run_cases([CASE], _packets, store=SimulationStore(tmp_path / "file"))


class TestKey:
    def test_names_do_not_count(self) -> None:
        """A case has the same result by any name, its own and its scheme's."""
        other = replace(CASE, name="other", scheme=replace(CASE.scheme, name="other"))
        assert case_key(CASE) == case_key(other)

    @pytest.mark.parametrize(
        "change",
        [
            {"seed": 2},
            {"duration_s": 3e-5},
            {"drain_s": 1e-5},
            {"sample_interval_s": 1e-6},
            {"queue_delays": True},
            {"topology": star(servers=5)},
            {"workload": Workload(load=0.4)},
            {"scheme": replace(scheme("bfc"), sticky_hops=3)},
        ],
    )
    def test_all_else_counts(self, change: dict[str, object]) -> None:
        """Whatever changes the simulation changes the key."""
        assert case_key(CASE) != case_key(replace(CASE, **change))  # type: ignore[arg-type]
