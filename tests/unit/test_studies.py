# SPDX-License-Identifier: Apache-2.0
"""Studies: the framework on arithmetic, and what is registered. No virtual kernel takes part."""

from __future__ import annotations

import json
import math
import pkgutil
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from matplotlib.figure import Figure

from ccbench import Bottleneck, Flow, Scenario, raygen, studies
from ccbench._sealed import check_files, unsealed
from ccbench.cli import main as cli
from ccbench.cli._status import ExitStatus
from ccbench.cli.study import _balanced
from ccbench.emulate.engine import ENGINES
from ccbench.errors import EngineError, InputError, MissingRequirement
from ccbench.raygen import SearchConfig
from ccbench.studies import (
    About,
    Comparison,
    Findings,
    Rows,
    SearchStudy,
    SimulationStudy,
    Study,
    catalogue,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.bfc.case import Case
    from ccbench.raygen import SearchResult
    from ccbench.run import Run
    from tests.unit.conftest import ArithmeticEngine

LINK_MBPS = 10.0


def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Let 1 to 4 even flows share a link; quickly, 1 to 2; with two seeds."""
    return tuple(
        Scenario(
            flows=(Flow(cca="even", count=count),),
            bottlenecks=(Bottleneck(bandwidth_mbps=LINK_MBPS, queue_bdp=1),),
            rtt_ms=40,
            duration_s=2 * count,
            seed=seed,
            name=f"{count} flows",
        )
        for count in range(1, 3 if quick else 5)
        for seed in (3, 1)
    )


def measure(run: Run) -> Rows:
    """Return a row for each flow."""
    flows, seed = run.scenario.flow_count, run.scenario.seed
    return [
        {"flows": flows, "seed": seed, "mbps": mbps} for mbps in run.summary()["throughput_mbps"]
    ]


def conclude(table: pd.DataFrame) -> Findings:
    """Compare what the flows got with fair shares, and once with nothing."""
    figure = Figure()
    figure.subplots().plot(table["flows"], table["mbps"])
    fair = float((table["flows"] * table["mbps"]).mean())
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                what="flows times share",
                ours=fair,
                published="10",
                accepted=(9.9, 10.1),
                unit="Mbit/s",
                note="Sharing is fair.",
            ),
            Comparison(what="never", ours=math.nan, published="7", accepted=(6, 8)),
        ),
    )


STUDY = Study(
    about=About(
        name="even-1",
        title="Even flows share",
        publication="Nobody 1900",
        part="Figure 1",
        runs=8,
        virtual_s=40,
    ),
    scenarios=scenarios,
    measure=measure,
    conclude=conclude,
)


def searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
    """Search in two ways for where greedy flows harm even ones; fully, among more networks."""
    config = SearchConfig(
        alpha="greedy",
        beta="even",
        budget=8 if full else 4,
        population=4,
        duration_s=2 if quick else 4,
        confirm=2,
    )
    return config, replace(config, strategy="random", seed=9)


def searches_without_full(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:  # noqa: ARG001
    """Search as above, but never fully."""
    return searches(quick=quick, full=False)


def conclude_searches(results: Sequence[SearchResult]) -> Findings:
    """Compare the strategies by their best."""
    figure = Figure()
    axes = figure.subplots()
    for result in results:
        axes.plot(result.experiments["relative_harm"])
    table = pd.concat([result.experiments for result in results])
    genetic, at_random = (float(r.experiments["relative_harm"].max()) for r in results)
    difference = Comparison(
        what="difference", ours=genetic - at_random, published="above 0", accepted=(0, 1)
    )
    return Findings(table=table, figure=figure, comparisons=(difference,))


SEARCH_STUDY = SearchStudy(
    about=About(
        name="greedy-1",
        title="Greedy flows harm",
        publication="Nobody 1900",
        part="Figure 2",
        runs=48,
        virtual_s=192,
    ),
    searches=searches,
    conclude=conclude_searches,
)


def ccbench(*args: object) -> Result:
    """Run the program in this process."""
    return CliRunner().invoke(cli.program, [str(arg) for arg in args])


@pytest.fixture
def registered(engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> ArithmeticEngine:
    """Register the studies above and let the commands use arithmetic."""
    monkeypatch.setitem(sys.modules, "arithmetic", SimpleNamespace(make=lambda: engine))
    monkeypatch.setitem(ENGINES, "kernel", ("arithmetic", "make"))
    known = {study.name: study.about for study in (STUDY, SEARCH_STUDY)}
    monkeypatch.setattr(catalogue, "_entries", lambda: known)
    for module, study in (("even_1", STUDY), ("greedy_1", SEARCH_STUDY)):
        holding = SimpleNamespace(STUDY=study)
        monkeypatch.setitem(sys.modules, f"ccbench.studies.{module}", holding)
    return engine


def size(study: Study | SearchStudy | SimulationStudy, *, quick: bool) -> tuple[int, float]:
    """Return how many runs a study is, at most, and how long they are together; all differ."""
    if isinstance(study, SearchStudy):
        searches = study.searches(quick=quick, full=False)
        assert all(2 * one.planned <= one.most_runs for one in searches)
        return (
            sum(one.most_runs for one in searches),
            sum(one.most_runs * one.duration_s for one in searches),
        )
    parts: tuple[Case, ...] | tuple[Scenario, ...]
    if isinstance(study, SimulationStudy):
        parts = study.cases(quick=quick)
        assert len({*parts}) == len(parts)
    else:
        references = study.references(quick=quick) if study.references is not None else ()
        scenarios = study.scenarios(quick=quick)
        assert len({*references, *scenarios}) == len(references) + len(scenarios)
        parts = (*references, *scenarios * max(1, len(study.engines)))
    return len(parts), sum(one.duration_s for one in parts)


class TestComparison:
    @pytest.mark.parametrize(
        ("ours", "agrees"),
        [(35, True), (45, True), (34.9, False), (45.1, False), (math.nan, False)],
    )
    def test_agrees(self, ours: float, agrees: bool) -> None:  # noqa: FBT001 - a parameter
        """Ours agrees within the accepted limits, which belong to it; NaN never does."""
        comparison = Comparison(what="", ours=ours, published="about 40", accepted=(35, 45))
        assert agrees == comparison.agrees


class TestRegistry:
    def test_names_match_files(self) -> None:
        """Every module that holds a study is registered under its own name, and no other is."""
        modules = {info.name for info in pkgutil.iter_modules(studies.__path__)}
        files = {name.replace("-", "_").replace(".", "_") for name in studies.names()}
        holding = {
            module
            for module in modules
            if hasattr(__import__(f"ccbench.studies.{module}", fromlist=["x"]), "STUDY")
        }
        assert files == holding
        for name in studies.names():
            assert name == studies.get(name).name

    @pytest.mark.parametrize("name", studies.names())
    def test_sizes(self, name: str) -> None:
        """A study runs as much as the catalogue says, nothing twice; quickly, a tenth at most."""
        study = studies.get(name)
        if missing := study.about.missing():
            with pytest.raises(MissingRequirement):
                size(study, quick=False)
            pytest.skip(missing)
        runs, virtual_s = size(study, quick=False)
        assert study.about.runs == runs
        assert study.about.virtual_s == pytest.approx(virtual_s)
        few, quick_s = size(study, quick=True)
        assert 0 < few <= runs
        assert quick_s <= 0.1 * virtual_s

    @pytest.mark.parametrize(
        ("name", "scenarios"), [("ware-5.13", 3125), ("ware-5.15", 3125), ("ware-5.17", 3125)]
    )
    def test_full(self, name: str, scenarios: int) -> None:
        """The full version has the grid of the thesis's size, and differs in nothing else."""
        study = studies.get(name)
        assert isinstance(study, SearchStudy)
        *others, sweep = study.searches(quick=False, full=False)
        *same, full = study.searches(quick=False, full=True)
        assert others == same
        assert (960, scenarios) == (sweep.planned, full.planned)

    def test_unknown(self) -> None:
        """An unknown name is refused with the nearest one."""
        with pytest.raises(InputError, match=r"study is 'ware3\.2'.*did you mean 'ware-3\.2'\?"):
            studies.get("ware3.2")


class TestRunStudy:
    def test_findings(self, engine: ArithmeticEngine) -> None:
        """The table holds the rows of all runs in the order of the scenarios."""
        result = studies.run_study(STUDY, engine=engine, store=None)
        expected = [(n, seed) for n in range(1, 5) for seed in (3, 1) for _ in range(n)]
        table = result.findings.table
        assert expected == list(zip(table["flows"], table["seed"], strict=True))
        fair, never = result.findings.comparisons
        assert fair.ours == pytest.approx(LINK_MBPS)
        assert (fair.agrees, never.agrees) == (True, False)
        assert (1, 3) == result.seeds
        assert engine.provenance() == result.provenance

    def test_references(self, engine: ArithmeticEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """References run on the installed kernel whatever is asked for; their rows come first."""
        installed = type(engine)()
        installed.version = lambda: "2"  # type: ignore[method-assign]
        monkeypatch.setitem(sys.modules, "arithmetic", SimpleNamespace(make=lambda: installed))
        monkeypatch.setitem(ENGINES, "kernel", ("arithmetic", "make"))

        def references(*, quick: bool) -> tuple[Scenario, ...]:
            return tuple(replace(one, seed=7) for one in scenarios(quick=quick) if one.seed == 1)

        study = replace(STUDY, references=references)
        result = studies.run_study(study, engine=engine, store=None)
        assert (8, 4) == (len(engine.ran), len(installed.ran))
        assert {7} == {one.seed for one in installed.ran}
        assert [7] * 10 == result.findings.table["seed"].tolist()[:10]
        assert (1, 3, 7) == result.seeds
        assert ["2", "1"] == [one["engine_version"] for one in result.provenance["engines"]]

    def test_quick(self, engine: ArithmeticEngine) -> None:
        """The quick version runs its own scenarios."""
        result = studies.run_study(STUDY, quick=True, engine=engine, store=None)
        assert [1, 1, 2, 2] == sorted(scenario.flow_count for scenario in engine.ran)
        assert result.quick

    def test_nothing_runs_twice(self, engine: ArithmeticEngine) -> None:
        """A second time everything comes out of the store, unless asked for fresh."""
        for fresh, runs in ((False, 8), (False, 8), (True, 16)):
            studies.run_study(STUDY, engine=engine, fresh=fresh)
            assert runs == len(engine.ran)

    @pytest.mark.parametrize("study", [STUDY, SEARCH_STUDY], ids=lambda study: study.name)
    def test_progress(self, study: Study | SearchStudy, engine: ArithmeticEngine) -> None:
        """The share that is done never falls, and ends at 1."""
        done: list[float] = []
        studies.run_study(study, engine=engine, store=None, on_progress=done.append)
        assert done == sorted(done)
        assert done[0] < 0.5
        assert done[-1] == pytest.approx(1)

    def test_a_run_that_cannot_be_measured(self, engine: ArithmeticEngine) -> None:
        """What is wrong with a run is no fault of the user's, and the scenario is named."""

        def refuse(run: Run) -> Rows:
            raise InputError(f"seed is {run.scenario.seed}")

        study = replace(STUDY, measure=refuse)
        with pytest.raises(EngineError, match=r"even-1, \d flows: seed is"):
            studies.run_study(study, engine=engine, store=None)


class TestRunSearchStudy:
    def test_findings(self, engine: ArithmeticEngine) -> None:
        """Each search is made with the study's engine, and concluded from in their order."""
        result = studies.run_study(SEARCH_STUDY, engine=engine, store=None)
        expected = [
            raygen.search(config, engine=engine, store=None, on_progress=lambda _: None)
            for config in searches(quick=False, full=False)
        ]
        pd.testing.assert_frame_equal(
            pd.concat([search.experiments for search in expected]), result.findings.table
        )
        assert (1, 2, 3, 9, 10, 11) == result.seeds  # those of the claims too
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
        """The quick and the full version make their own searches, and say so."""
        result = studies.run_study(SEARCH_STUDY, quick=quick, full=full, engine=engine, store=None)
        table = result.findings.table
        assert (scenarios, {end_s}) == (len(table), set(table["to_s"]))
        document = result.to_dict()
        assert (quick, full) == (document["quick"], document["full"])

    def test_nothing_runs_twice(self, engine: ArithmeticEngine) -> None:
        """A second time everything comes out of the store, unless asked for fresh."""
        studies.run_study(SEARCH_STUDY, engine=engine)
        once = len(engine.ran)
        assert 0 < once == len(set(engine.ran)) <= SEARCH_STUDY.about.runs
        studies.run_study(SEARCH_STUDY, engine=engine)
        assert once == len(engine.ran)
        again = studies.run_study(SEARCH_STUDY, engine=engine, fresh=True)
        assert set(engine.ran[:once]) == set(engine.ran[once:])
        assert 8 == len(again.findings.table)

    def test_no_full_version(self, engine: ArithmeticEngine) -> None:
        """A full version is refused where there is none, and beside the quick one."""
        same = replace(SEARCH_STUDY, searches=searches_without_full)
        for study in (STUDY, same):
            with pytest.raises(InputError, match=rf"full is True; .*left out for {study.name}"):
                studies.run_study(study, engine=engine, full=True)
        with pytest.raises(InputError, match=r"full is True; .*left out beside quick"):
            studies.run_study(SEARCH_STUDY, engine=engine, quick=True, full=True)
        assert not engine.ran


class TestSave:
    def test_files(self, engine: ArithmeticEngine, tmp_path: Path) -> None:
        """Table, figure and comparisons become files; what has no number is null."""
        result = studies.run_study(STUDY, engine=engine, store=None)
        folder = tmp_path / "a" / "b"
        files = result.save(folder)
        assert ["even-1.csv", "even-1.png", "even-1.json"] == [path.name for path in files]
        assert sorted(files) == sorted(folder.iterdir())
        pd.testing.assert_frame_equal(result.findings.table, pd.read_csv(files[0]))
        assert files[1].read_bytes().startswith(b"\x89PNG")
        document = unsealed(files[2].read_bytes())
        check_files(folder, document["files"])
        assert ["even-1.csv", "even-1.png"] == list(document["files"])
        assert ("even-1", False, [1, 3]) == (
            document["study"],
            document["quick"],
            document["seeds"],
        )
        assert engine.provenance() == document["provenance"]
        fair, never = document["comparisons"]
        assert (fair["agrees"], fair["unit"], fair["accepted"]) == (True, "Mbit/s", [9.9, 10.1])
        assert (never["agrees"], never["ours"]) == (False, None)


@pytest.mark.usefixtures("registered")
class TestCommand:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--kernel", "0" * 16), "--kernel is '0000000000000000'; it must be the version of"),
            (("--kernel", "1", "--engine", "bess"), "left out with --engine bess"),
            (("--engine", "kernels"), "it must be one of kernel"),
        ],
    )
    def test_bad_engine(self, options: tuple[str, ...], message: str, tmp_path: Path) -> None:
        """A kernel that is not built, or that the engine does not have, is bad input."""
        result = ccbench("study", "run", "even-1", *options, "-o", tmp_path)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert message in result.stderr

    def test_list(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The list says of each study what it is and how much it runs."""
        monkeypatch.setenv("COLUMNS", "140")
        shown = ccbench("study", "list").stdout
        for words in ("Nobody 1900", "even-1", "Even flows share", "Figure 1", " 8 ", "40.0 s"):
            assert words in shown
        even, greedy = json.loads(ccbench("study", "list", "--json").stdout)["studies"]
        assert (8, pytest.approx(40 / 3600)) == (even["runs"], even["virtual_hours"])
        assert ("Nobody 1900, Figure 2", None) == (greedy["source"], greedy["missing"])

    @pytest.mark.parametrize("columns", [80, 100, 140])
    def test_list_fits(self, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """The list of all studies is no wider than the terminal; wide ones see the figures too."""
        monkeypatch.undo()  # all studies, not those above
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = ccbench("study", "list").stdout.splitlines()
        assert max(map(len, lines)) <= columns
        starts = {line.split()[0] for line in lines if line.strip()}
        assert starts >= {*studies.names()}
        assert (columns == 140) == any("Figure 3.2" in line for line in lines)

    @pytest.mark.parametrize(
        ("text", "lines"),
        [
            ("with CUBIC on it", ["with CUBIC on it"]),
            ("a drop-tail link with CUBIC on it", ["a drop-tail link", "with CUBIC on it"]),
        ],
    )
    def test_no_widows(self, text: str, lines: list[str]) -> None:
        """A long title is broken where its lines are about as long as each other."""
        assert lines == _balanced(text, 30).split("\n")

    def test_run(self, tmp_path: Path) -> None:
        """A study prints ours beside the published with its notes, and leaves its files.

        The exit status is 0 although one number differs.
        """
        result = ccbench("study", "run", "even-1", "-o", tmp_path / "out")
        assert ExitStatus.OK == result.exit_code, result.output
        lines = result.stdout.splitlines()
        fair = next(line for line in lines if "flows times share" in line)
        never = next(line for line in lines if "never" in line)
        assert ["[1]", "10", "10", "Mbit/s", "yes"] == fair.split()[-5:]
        assert ["never", "-", "7", "no"] == never.split()
        assert "[1] Sharing is fair." in lines
        assert {"even-1.csv", "even-1.png", "even-1.json"} == {
            path.name for path in (tmp_path / "out").iterdir()
        }

    def test_quick(self, tmp_path: Path, registered: ArithmeticEngine) -> None:
        """A quick version is called one."""
        result = ccbench("study", "run", "even-1", "--quick", "-o", tmp_path)
        assert "quick version" in result.stdout
        assert 4 == len(registered.ran)

    def test_full(self, tmp_path: Path) -> None:
        """The full version of a study about searches is run, and refused where there is none."""
        result = ccbench("study", "run", "greedy-1", "--full", "-o", tmp_path)
        assert ExitStatus.OK == result.exit_code, result.output
        assert "difference" in result.stdout
        assert 16 == len(pd.read_csv(tmp_path / "greedy-1.csv"))
        result = ccbench("study", "run", "even-1", "--full", "-o", tmp_path)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "full is True; it must be left out for even-1" in result.stderr

    def test_json(self, tmp_path: Path) -> None:
        """With --json the same document that the file holds is printed, and the files."""
        result = ccbench("study", "run", "even-1", "-o", tmp_path, "--json")
        document = json.loads(result.stdout)
        files = document.pop("files")
        kept = unsealed((tmp_path / "even-1.json").read_bytes())
        assert {name: value for name, value in kept.items() if name != "files"} == document
        assert [str(tmp_path / f"even-1.{kind}") for kind in ("csv", "png", "json")] == files

    def test_unknown(self, tmp_path: Path, registered: ArithmeticEngine) -> None:
        """An unknown name is bad input; nothing runs and nothing is made."""
        result = ccbench("study", "run", "even1", "-o", tmp_path / "out")
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "did you mean 'even-1'?" in result.stderr
        assert not registered.ran
        assert not (tmp_path / "out").exists()

    def test_output_that_cannot_be(self, tmp_path: Path, registered: ArithmeticEngine) -> None:
        """A folder that cannot be made is refused before anything runs."""
        (tmp_path / "file").touch()
        result = ccbench("study", "run", "even-1", "-o", tmp_path / "file" / "out")
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "output folder" in result.stderr
        assert not registered.ran
