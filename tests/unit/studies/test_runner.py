# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench import Scenario, raygen, studies
from ccbench.base.errors import EngineError, InputError, MissingRequirement
from ccbench.base.sealed import check_files, unsealed
from ccbench.emulate.registry import ENGINES
from tests.unit.conftest import stand_in
from tests.unit.studies.conftest import (
    LINK_MBPS,
    SEARCH_STUDY,
    STUDY,
    scenarios,
    searches,
    searches_without_full,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.run.run import Run
    from ccbench.studies import (
        Rows,
        SearchStudy,
        Study,
    )
    from tests.unit.conftest import ArithmeticEngine

pytestmark = pytest.mark.slow


def only_two(*runs: Run) -> Rows:
    """Refuse to measure a single run."""
    if len(runs) == 1:
        raise InputError("not two")
    return [{"flows": 2, "seed": 1, "mbps": 5.0}]


class TestRunStudy:
    def test_findings(self, engine: ArithmeticEngine) -> None:
        """The table holds the rows of all runs in the order of the scenarios."""
        result = studies.run_study(STUDY, engine=engine, store=None)
        expected = [(n, seed) for n in range(1, 5) for seed in (3, 1) for _ in range(n)]
        table = result.findings.table
        assert expected == list(zip(table["flows"], table["seed"], strict=True))
        fair, never = result.findings.comparisons
        assert fair.measured == pytest.approx(LINK_MBPS)
        assert (fair.verdict, never.verdict) == ("agrees", "differs")
        assert (1, 3) == result.seeds
        assert engine.provenance() == result.provenance

    def test_references(self, engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """References run on the installed kernel in any case; their rows come first."""
        installed = type(engine)()
        installed.version = lambda: "2"  # type: ignore[method-assign]
        monkeypatch.setitem(ENGINES, "kernel", stand_in(installed))

        def references(*, quick: bool) -> tuple[Scenario, ...]:
            return tuple(
                replace(scenario, seed=7)
                for scenario in scenarios(quick=quick)
                if scenario.seed == 1
            )

        study = replace(STUDY, references=references)
        result = studies.run_study(study, engine=engine, store=None)
        assert (8, 4) == (len(engine.ran), len(installed.ran))
        assert {7} == {scenario.seed for scenario in installed.ran}
        assert [7] * 10 == result.findings.table["seed"].tolist()[:10]
        assert (1, 3, 7) == result.seeds
        assert ["2", "1"] == [item["engine_version"] for item in result.provenance["engines"]]

    def test_kernels(self, engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A study of several kernels runs each scenario on each of them, in their order."""
        kernels = {}
        for release in ("6.1", "7.3"):
            kernels[release] = type(engine)()
            version = partial(str, release)
            kernels[release].version = version  # type: ignore[method-assign]
        make: Any = lambda *, kernel: kernels[kernel]  # noqa: E731 - an annotated function
        info = replace(ENGINES["kernel"], load=lambda: make)
        monkeypatch.setitem(ENGINES, "kernel", info)
        study = replace(STUDY, kernels=tuple(kernels))
        result = studies.run_study(study, engine=engine, store=None)
        assert [[], *[8, 8]] == [engine.ran, *(len(each.ran) for each in kernels.values())]
        assert ["6.1", "7.3"] == [item["engine_version"] for item in result.provenance["engines"]]

    def test_missing_kernel(self, engine: ArithmeticEngine) -> None:
        """A study on a kernel that is not built names it, and how to build it."""
        study = replace(STUDY, kernels=("5.4",))
        with pytest.raises(
            MissingRequirement, match=r"even-1 runs on Linux 5.4: .* build Linux 6.1 or newer"
        ):
            studies.run_study(study, engine=engine, store=None)

    def test_follow_ups(self, engine: ArithmeticEngine) -> None:
        """Scenarios that follow from runs run once each, and their rows come last."""

        def follow_ups(run: Run) -> tuple[Scenario, ...]:
            return (replace(run.scenario, seed=7),) if run.scenario.seed == 1 else ()

        study = replace(STUDY, follow_ups=follow_ups)
        done: list[float] = []
        result = studies.run_study(study, engine=engine, store=None, on_progress=done.append)
        assert 12 == len(engine.ran)
        assert [7] * 10 == result.findings.table["seed"].tolist()[-10:]
        assert (1, 3, 7) == result.seeds
        assert done == sorted(done)
        assert 1 == done[-1]

    def test_follow_ups_of_follow_ups(self, engine: ArithmeticEngine) -> None:
        """What follows from a run that follows runs, too, until nothing new follows."""

        def follow_ups(run: Run) -> tuple[Scenario, ...]:
            return (replace(run.scenario, seed=min(run.scenario.seed + 1, 6)),)

        study = replace(STUDY, follow_ups=follow_ups)
        done: list[float] = []
        result = studies.run_study(study, engine=engine, store=None, on_progress=done.append)
        assert (1, 2, 3, 4, 5, 6) == result.seeds
        assert 4 * 6 == len(engine.ran)
        assert done == sorted(done)
        assert 1 == done[-1]

    def test_groups(self, engine: ArithmeticEngine) -> None:
        """The runs of a group are measured together, and scenarios of several groups run once."""
        alone, *others = scenarios(quick=False)

        def groups(*, quick: bool) -> tuple[Scenario | tuple[Scenario, ...], ...]:
            assert not quick
            return (*((alone, other) for other in others), alone)

        study = replace(
            STUDY,
            scenarios=groups,
            measure=lambda *runs: [{"flows": len(runs), "seed": runs[-1].scenario.seed, "mbps": 5}],
        )
        result = studies.run_study(study, engine=engine, store=None)
        assert [2] * len(others) + [1] == result.findings.table["flows"].tolist()
        assert [other.seed for other in others] + [3] == result.findings.table["seed"].tolist()
        assert 1 + len(others) == len(engine.ran)
        with pytest.raises(EngineError, match=r"even-1, 1 flows: not two"):
            studies.run_study(replace(study, measure=only_two), engine=engine, store=None)

    def test_quick(self, engine: ArithmeticEngine) -> None:
        """The quick version runs its own scenarios."""
        result = studies.run_study(STUDY, quick=True, engine=engine, store=None)
        assert [1, 1, 2, 2] == sorted(scenario.flow_count for scenario in engine.ran)
        assert result.quick

    def test_nothing_runs_twice(self, engine: ArithmeticEngine) -> None:
        """A second time everything comes from the store, unless a fresh run is requested."""
        for fresh, runs in ((False, 8), (False, 8), (True, 16)):
            studies.run_study(STUDY, engine=engine, fresh=fresh)
            assert runs == len(engine.ran)

    @pytest.mark.parametrize("study", [STUDY, SEARCH_STUDY], ids=lambda study: study.name)
    def test_progress(self, study: Study | SearchStudy, engine: ArithmeticEngine) -> None:
        """The reported share never falls, and ends at 1."""
        done: list[float] = []
        studies.run_study(study, engine=engine, store=None, on_progress=done.append)
        assert done == sorted(done)
        assert done[0] < 0.5
        assert done[-1] == pytest.approx(1)

    def test_a_run_that_cannot_be_measured(self, engine: ArithmeticEngine) -> None:
        """A run that cannot be measured is a failure that names the scenario, not bad input."""

        def refuse(run: Run) -> Rows:
            raise InputError(f"seed is {run.scenario.seed}")

        study = replace(STUDY, measure=refuse)
        with pytest.raises(EngineError, match=r"even-1, \d flows: seed is"):
            studies.run_study(study, engine=engine, store=None)


class TestRunSearchStudy:
    def test_findings(self, engine: ArithmeticEngine) -> None:
        """Each search runs on the study's engine, and their order is preserved."""
        result = studies.run_study(SEARCH_STUDY, engine=engine, store=None)
        expected = [
            raygen.search(config, engine=engine, store=None, on_progress=lambda _: None)
            for config in searches(quick=False, full=False)
        ]
        pd.testing.assert_frame_equal(
            pd.concat([search.experiments for search in expected]), result.findings.table
        )
        assert (1, 9) == result.seeds  # the seeds of networks derive from these
        assert engine.provenance() == result.provenance

    @pytest.mark.parametrize(
        ("quick", "full", "scenarios", "end_s"),
        [(False, False, 8, 4), (True, False, 8, 2), (False, True, 16, 4)],
    )
    def test_versions(
        self,
        quick: bool,  # noqa: FBT001 - a parameter
        full: bool,  # noqa: FBT001 - a parameter
        scenarios: int,
        end_s: float,
        engine: ArithmeticEngine,
    ) -> None:
        """The quick and the full version run their own searches, and are marked as such."""
        result = studies.run_study(SEARCH_STUDY, quick=quick, full=full, engine=engine, store=None)
        table = result.findings.table
        assert (scenarios, {end_s}) == (len(table), set(table["to_s"]))
        document = result.to_dict()
        assert (quick, full) == (document["quick"], document["full"])

    def test_nothing_runs_twice(self, engine: ArithmeticEngine) -> None:
        """A second time everything comes from the store, unless a fresh run is requested."""
        studies.run_study(SEARCH_STUDY, engine=engine)
        once = len(engine.ran)
        most = sum(config.most_runs() for config in searches(quick=False, full=False))
        assert 0 < once == len(set(engine.ran)) <= most
        studies.run_study(SEARCH_STUDY, engine=engine)
        assert once == len(engine.ran)
        again = studies.run_study(SEARCH_STUDY, engine=engine, fresh=True)
        assert set(engine.ran[:once]) == set(engine.ran[once:])
        assert 8 == len(again.findings.table)

    def test_no_full_version(self, engine: ArithmeticEngine) -> None:
        """A missing full version is refused, and so is a full version beside the quick one."""
        same = replace(SEARCH_STUDY, searches=searches_without_full)
        for study in (STUDY, same):
            with pytest.raises(InputError, match=rf"full is True; .*left out for {study.name}"):
                studies.run_study(study, engine=engine, full=True)
        with pytest.raises(InputError, match=r"full is True; .*left out with quick"):
            studies.run_study(SEARCH_STUDY, engine=engine, quick=True, full=True)
        assert not engine.ran


class TestSave:
    def test_files(self, engine: ArithmeticEngine, tmp_path: Path) -> None:
        """Table, figure and comparisons become files; a missing number is null."""
        result = studies.run_study(STUDY, engine=engine, store=None)
        folder = tmp_path / "a" / "b"
        files = result.save(folder)
        names = ["even-1.csv", "even-1.png", "even-1.svg", "even-1.json"]
        assert names == [path.name for path in files]
        assert sorted(files) == sorted(folder.iterdir())
        pd.testing.assert_frame_equal(result.findings.table, pd.read_csv(files[0]))
        assert files[1].read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in files[2].read_bytes()
        document = unsealed(files[3].read_bytes())
        check_files(folder, document["files"])
        assert names[:3] == list(document["files"])
        assert ("even-1", False, [1, 3]) == (
            document["study"],
            document["quick"],
            document["seeds"],
        )
        assert engine.provenance() == document["provenance"]
        fair, never = document["comparisons"]
        assert (fair["verdict"], fair["unit"], fair["where"]) == ("agrees", "Mbit/s", "Figure 1")
        assert (fair["low"], fair["high"], fair["half_width"]) == (7.5, 12.5, None)
        assert (never["verdict"], never["measured"]) == ("differs", None)
