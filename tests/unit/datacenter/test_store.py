# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import _native
from ccbench.base import code_digests
from ccbench.base.errors import CcbenchError, EngineError
from ccbench.datacenter.case import SimulationCase, run_cases
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.simulation.simulator import prepared
from ccbench.datacenter.store import SimulationStore, core_version, simulation_key
from ccbench.datacenter.topology import star
from ccbench.datacenter.workload import Workload, flow_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

CASE = SimulationCase(
    name="small",
    topology=star(servers=4),
    workload=Workload(load=0.3),
    scheme=scheme("bfc"),
    duration_s=2e-5,
    drain_s=1e-4,
)


def case_key(case: SimulationCase) -> str:
    """Return the key of a case's result in the store."""
    return simulation_key(prepared(**case.settings()))


def _packets(_: SimulationCase, result: Simulation) -> int:
    return int(result.summary["sent_data_packets"])


@pytest.fixture
def store(tmp_path: Path) -> SimulationStore:
    """Return an empty store."""
    return SimulationStore(tmp_path / "simulations")


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a list that collects the durations of simulations."""
    made: list[float] = []

    def counted(**settings: Any) -> Simulation:
        made.append(settings["duration_s"])
        return simulate(**settings)

    monkeypatch.setattr("ccbench.datacenter.case.simulate", counted)
    return made


class TestSimulationStore:
    def test_nothing_is_simulated_twice(self, store: SimulationStore, count: list[float]) -> None:
        """A stored result is used instead of a simulation, and measures the same."""
        first = run_cases([CASE], _packets, store=store)
        assert first == run_cases([CASE], _packets, store=store)
        assert 1 == len(count)

    def test_traffic_is_drawn_once(
        self, store: SimulationStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A case's traffic is drawn once for key and core."""
        drawn: list[int] = []
        flows = Workload.flows

        def counted(workload: Workload, *arguments: Any) -> pd.DataFrame:
            drawn.append(1)
            return flows(workload, *arguments)

        monkeypatch.setattr(Workload, "flows", counted)
        run_cases([CASE], _packets, store=store)
        assert [1] == drawn

    def test_fresh(self, store: SimulationStore, count: list[float]) -> None:
        """A fresh simulation is run on request."""
        run_cases([CASE], _packets, store=store)
        run_cases([CASE], _packets, store=store, fresh=True)
        assert 2 == len(count)

    def test_a_stopped_study_resumes(self, store: SimulationStore, count: list[float]) -> None:
        """Cases finished before a study was stopped are not simulated again."""
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

    def test_failures(self, store: SimulationStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """A failed case is named with its reason, after the others have finished."""

        def fail(**settings: Any) -> Simulation:
            if settings["seed"] == 2:
                raise EngineError("no luck")
            return simulate(**settings)

        monkeypatch.setattr("ccbench.datacenter.case.simulate", fail)
        cases = [replace(CASE, name=f"seed {seed}", seed=seed) for seed in (1, 2, 3)]
        words = r"1 of 3 failed: seed 2: no luck \(the others finished\)"
        with pytest.raises(EngineError, match=words):
            run_cases(cases, _packets, store=store)
        assert 2 == len(list(store.folder.glob("*/*/flows.parquet")))

    def test_same_bytes(self, store: SimulationStore) -> None:
        """A result from the store equals the result stored."""
        (made,) = run_cases([CASE], lambda _, result: result, store=store)
        (stored,) = run_cases([CASE], lambda _, result: result, store=store)
        assert made.summary == stored.summary
        for table in ("flows", "samples", "buffers", "ports", "active_flows"):
            assert getattr(made, table).equals(getattr(stored, table))

    def test_damaged(
        self, store: SimulationStore, count: list[float], caplog: pytest.LogCaptureFixture
    ) -> None:
        """A result with changed files is removed with a warning, and simulated again."""
        run_cases([CASE], _packets, store=store)
        (file,) = store.folder.glob("*/*/flows.parquet")
        file.write_bytes(b"")
        run_cases([CASE], _packets, store=store)
        assert 2 == len(count)
        assert "damaged" in caplog.text

    def test_unwritable(self, tmp_path: Path) -> None:
        """An unwritable store is reported."""
        (tmp_path / "file").write_text("")
        with pytest.raises(CcbenchError, match="CCBENCH_CACHE"):
            run_cases([CASE], _packets, store=SimulationStore(tmp_path / "file"))


#: Another case for each field except the name.
OTHERS: dict[str, SimulationCase] = {
    "topology": replace(CASE, topology=star(servers=5)),
    "workload": replace(CASE, workload=Workload(load=0.4)),
    "scheme": replace(CASE, scheme=replace(CASE.scheme, sticky_hops=3)),
    "duration_s": replace(CASE, duration_s=3e-5),
    "seed": replace(CASE, seed=2),
    "drain_s": replace(CASE, drain_s=1e-5),
    "sample_interval_s": replace(CASE, sample_interval_s=1e-6),
    "queue_delays": replace(CASE, queue_delays=True),
}


@pytest.fixture
def fresh_digests() -> Iterator[Callable[[], None]]:
    """Give a function that clears the cached digests of code."""

    def forget() -> None:
        core_version.cache_clear()
        code_digests.code_digest.cache_clear()

    yield forget
    forget()


class TestKey:
    def test_names_do_not_count(self) -> None:
        """The names of a case and its scheme do not change the result."""
        other = replace(CASE, name="other", scheme=replace(CASE.scheme, name="other"))
        assert case_key(CASE) == case_key(other)

    def test_all_fields(self) -> None:
        """Every field of a case except its name is covered here."""
        assert {field.name for field in fields(SimulationCase)} == {"name", *OTHERS}

    @pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
    def test_every_change_counts(self, other: SimulationCase) -> None:
        """Every change of the simulation changes the key."""
        assert case_key(CASE) != case_key(other)

    def test_same_input(self) -> None:
        """Cases with the same input of the core share one result, however they are written."""
        star_of_4, flow = star(servers=4), (0, 1, 1000)
        one = replace(CASE, workload=Workload(load=0, transfers=(flow,)))
        other = replace(one, workload=Workload(load=0, sizes="facebook", transfers=(flow,)))
        measured = replace(one, topology=replace(star_of_4, capacity_gbps=50.0))
        assert case_key(one) == case_key(other) == case_key(measured)

    @pytest.mark.parametrize("column", ["start_ps", "source", "destination", "bytes", "kind"])
    def test_flows(self, column: str) -> None:
        """Every column of the flows counts."""
        rows = [(0.0, 0, 1, 1000, "background"), (1e-6, 2, 3, 2000, "incast")]
        flows = flow_table(rows)
        other = flows.assign(**{column: flows[column].to_numpy()[::-1]})
        assert core_digest(flows) != core_digest(other)

    def test_core(self, monkeypatch: pytest.MonkeyPatch, fresh_digests: Callable[[], None]) -> None:
        """Another core makes other results."""
        before = case_key(CASE)
        fresh_digests()
        monkeypatch.setattr(_native, "datacenter_digest", "0" * 64)
        assert before != case_key(CASE)

    @pytest.mark.parametrize(
        ("module", "text", "same"),
        [
            ("ccbench.datacenter.simulation.tables", "\nADDED = 1\n", False),
            ("ccbench.datacenter.simulation.tables", "\n# a comment\n", True),
            ("ccbench.classify.dtw", "\nADDED = 1\n", True),
            ("ccbench.datacenter.simulation.result", "\nADDED = 1\n", True),
            ("ccbench.datacenter.workload", "\nADDED = 1\n", True),
        ],
    )
    def test_reader(
        self,
        monkeypatch: pytest.MonkeyPatch,
        fresh_digests: Callable[[], None],
        module: str,
        text: str,
        same: bool,  # noqa: FBT001 - a case of this test
    ) -> None:
        """Of the Python code only the reader of the core's answer counts by its source."""
        before, source = case_key(CASE), code_digests._source
        fresh_digests()
        monkeypatch.setattr(
            code_digests, "_source", lambda name: source(name) + (text if name == module else "")
        )
        assert same == (before == case_key(CASE))


def core_digest(flows: pd.DataFrame) -> str:
    """Return the digest of the core's input for these flows."""
    return prepared(CASE.topology, flows.sort_values("start_ps"), CASE.scheme, 1e-5).digest()


NATIVE = Path(__file__).parents[3] / "native"


@pytest.mark.skipif(not NATIVE.is_dir(), reason="the compiled cores have no sources here")
class TestCoreDigest:
    #: A source with a comment, a literal that resembles one, and a number with a separator.
    SOURCE = "f(\"//\", /* two\nlines */ '\"', 1'000);  // one\ng();\n"

    def digest(self, folder: Path, sources: Iterable[Path]) -> str:
        """Return the digest that is compiled in for these sources."""
        header = folder / "digest.h"
        program = [NATIVE / "source_digest.py", header, "DIGEST", *sources]
        subprocess.run([sys.executable, *map(str, program)], check=True)
        return header.read_text().removeprefix('#define DIGEST "').removesuffix('"\n')

    def test_simulator_alone(self, tmp_path: Path) -> None:
        """The core's digest is that of the simulator's sources, not of DTW, probes or a library."""
        sources = [
            path
            for path in (NATIVE / "datacenter").iterdir()
            if path.suffix in (".cpp", ".h") and not path.name.startswith("probe")
        ]
        assert _native.datacenter_digest == self.digest(tmp_path, sources)

    @pytest.mark.parametrize(
        ("before", "after", "same"),
        [
            ("// one", "// another", True),
            ("/* two\nlines */", "", True),
            (";  //", ";\n\n//", True),
            ("g()", "h()", False),
            ('"//"', '"///"', False),
            ("1'000", "1'001", False),
        ],
    )
    def test_comments(
        self,
        tmp_path: Path,
        before: str,
        after: str,
        same: bool,  # noqa: FBT001 - a case of this test
    ) -> None:
        """The digest changes with code, not with comments and white space."""
        assert before in self.SOURCE
        source = tmp_path / "core.cpp"
        digests = []
        for text in (self.SOURCE, self.SOURCE.replace(before, after)):
            source.write_text(text)
            digests.append(self.digest(tmp_path, [source]))
        assert same == (digests[0] == digests[1])
