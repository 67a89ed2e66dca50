# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import json
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.errors import CcbenchError, EngineError, InputError
from ccbench.harm import measure
from ccbench.raygen import (
    RESULTS_CSV,
    SEARCH_JSON,
    WORST_PNG,
    Progress,
    SearchConfig,
    SearchResult,
    search,
    throughput_figure,
)
from ccbench.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate import Engine
    from ccbench.run import Run


def _config(**changes: Any) -> SearchConfig:
    settings: dict[str, Any] = {
        "alpha": "greedy",
        "beta": "even",
        "budget": 8,
        "population": 4,
        "duration_s": 4.0,
    }
    return SearchConfig(**settings | changes)


class _Wrapped:
    """An engine that does something before each run of another."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.ran: list[Scenario] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def run(self, scenario: Scenario, **options: Any) -> Run:
        """Run what is wrapped."""
        self.before(scenario)
        self.ran.append(scenario)
        result: Run = self._engine.run(scenario, **options)
        return result

    def before(self, scenario: Scenario) -> None:
        """Do nothing."""


class _Late(_Wrapped):
    """Takes a random time for each run."""

    def before(self, _: Scenario) -> None:
        time.sleep(random.SystemRandom().uniform(0, 0.01))


class _Breaks(_Wrapped):
    """Fails after some runs."""

    def __init__(self, engine: Any, after: int) -> None:
        super().__init__(engine)
        self._after = after

    def before(self, _: Scenario) -> None:
        if len(self.ran) == self._after:
            raise EngineError("out of luck")


class TestSearchConfig:
    def test_planned(self) -> None:
        """What is planned is the budget in whole generations."""
        assert _config(budget=23, population=8).planned == 20

    def test_experiment(self) -> None:
        """A chromosome becomes the network and the flows that its genes say."""
        scenario = _config(seed=9).experiment((100.0, 40.0, 2.0, 3, 1)).competing
        assert scenario.bottlenecks[0].bandwidth_mbps == 100
        assert scenario.bottlenecks[0].queue_packets == 667
        assert (scenario.rtt_ms, scenario.duration_s, scenario.seed) == (40, 4, 9)
        assert [(flow.cca, flow.count) for flow in scenario.flows] == [("even", 1), ("greedy", 3)]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"alpha": "Not One"}, "^alpha: cca is 'Not One'"),
            ({"beta": ""}, "^beta is ''"),
            ({"population": 6}, "^population is 6; .* take 4 or 8"),
            ({"budget": 3}, "^budget is 3; it must be at least the population, 4"),
            ({"duration_s": 0}, "^duration_s is 0"),
            ({"seed": -1}, "^seed is -1"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        """A setting that cannot be is refused before anything runs."""
        with pytest.raises(InputError, match=message):
            _config(**change)


class TestSearch:
    def test_finds_the_known_worst(self, engine: Engine) -> None:
        """It comes near the greatest harm that the engine's arithmetic can do."""
        weight = 1 + 320 / 320 + 1 / (1 + 0.25)  # the longest round trip, the smallest queue
        most = max(
            beta / (alpha + beta) - beta / (weight * alpha + beta)
            for alpha, beta in itertools.product(range(1, 6), repeat=2)
        )
        config = _config(budget=80, population=20)
        found = search(config, engine=engine, store=None).worst(1)[0].harm.relative
        assert 0.8 * most <= found <= 1.01 * most  # whole packets round the queue a little

    def test_harm_is_that_of_the_two_runs(self, engine: Engine) -> None:
        """The harm of each experiment is what its two scenarios show when they run again."""
        for evaluation in search(_config(), engine=engine).evaluations:
            solo = engine.run(evaluation.experiment.solo)
            competing = engine.run(evaluation.experiment.competing)
            assert evaluation.harm == measure(solo, competing)

    def test_nothing_runs_twice(self, engine: Engine) -> None:
        """Solo runs are shared, and neither a copy of a parent nor a second search runs again."""
        counting = _Wrapped(engine)
        search(_config(budget=40, population=4), engine=counting)
        assert len(set(counting.ran)) == len(counting.ran) < 2 * 40
        again = _Wrapped(engine)
        search(_config(budget=40, population=4), engine=again)
        assert again.ran == []

    def test_order_of_completion_does_not_matter(self, engine: Engine, tmp_path: Path) -> None:
        """Whatever the number of jobs, and whoever finishes first, the result is the same."""
        alone = search(_config(), engine=engine, store=None, jobs=1, output_dir=tmp_path / "alone")
        for _ in range(2):
            folder = tmp_path / "together"
            together = search(
                _config(), engine=_Late(engine), store=None, jobs=8, output_dir=folder
            )
            assert together == alone
            for name in (RESULTS_CSV, SEARCH_JSON, "worst-1.toml", WORST_PNG):
                assert (folder / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()

    def test_executor_of_the_caller(self, engine: Engine) -> None:
        """Runs go to the executor that the caller gives."""
        with ThreadPoolExecutor(2, thread_name_prefix="mine") as executor:
            result = search(_config(), engine=engine, executor=executor)
        assert result == search(_config(), engine=engine)

    def test_seed_decides(self, engine: Engine) -> None:
        """Another seed searches elsewhere."""
        one, other = (search(_config(seed=seed), engine=engine, store=None) for seed in (1, 2))
        assert not one.frame()["bandwidth_mbps"].equals(other.frame()["bandwidth_mbps"])

    def test_longest_first(self, engine: Engine) -> None:
        """Of a generation, the runs that take longest are started first."""
        counting = _Wrapped(engine)
        search(_config(budget=8, population=8), engine=counting, jobs=1)
        rates = [scenario.bottlenecks[0].mean_mbps for scenario in counting.ran]
        assert rates == sorted(rates, reverse=True)

    def test_goes_on_where_it_was_stopped(self, engine: Engine, tmp_path: Path) -> None:
        """What finished before a failure does not run again; the result is as if nothing failed."""
        whole = search(_config(), engine=engine, store=None, output_dir=tmp_path / "whole")
        folder = tmp_path / "stopped"
        stopped = _Breaks(engine, after=11)
        with pytest.raises(EngineError, match="out of luck"):
            search(_config(), engine=stopped, jobs=1, output_dir=folder)
        resumed = _Wrapped(engine)
        assert search(_config(), engine=resumed, output_dir=folder) == whole
        assert not set(resumed.ran) & set(stopped.ran)
        for name in (RESULTS_CSV, SEARCH_JSON, WORST_PNG):
            assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

    def test_unknown_cca(self, engine: Engine, tmp_path: Path) -> None:
        """A CCA that the engine does not know is refused before anything is run or written."""
        counting = _Wrapped(engine)
        with pytest.raises(InputError, match=r"flows\[1\]\.cca is 'unknown'"):
            search(_config(alpha="unknown"), engine=counting, output_dir=tmp_path / "new")
        assert counting.ran == []
        assert not (tmp_path / "new").exists()

    def test_failed_measurement(self, engine: Engine) -> None:
        """A run that moved no data ends the search with an error that names the scenario."""

        class Dead(_Wrapped):
            def run(self, scenario: Scenario, **options: Any) -> Run:
                run = super().run(scenario, **options)
                run.flows["throughput_bytes"] = run.flows["throughput_bytes"] * 0
                return run

        with pytest.raises(EngineError, match=r"\d greedy against \d even, .* Mbit/s, .*solo is 0"):
            search(_config(), engine=Dead(engine))


class TestProgress:
    def test_tells_how_far_it_is(self, engine: Engine) -> None:
        """Counts and the share of work grow to their ends, and every experiment is told once."""
        heard: list[Progress] = []
        result = search(_config(), engine=engine, store=None, on_progress=heard.append)
        assert (heard[0].done, heard[0].fraction, heard[0].best) == (0, 0, None)
        assert (heard[-1].done, heard[-1].generation) == (8, 3)
        assert heard[-1].fraction == pytest.approx(1)
        for before, after in itertools.pairwise(heard):
            assert before.done <= after.done
            assert before.fraction <= after.fraction <= 1.0 + 1e-9
        assert {(now.planned, now.generations) for now in heard} == {(8, 3)}
        told = [now.latest for now in heard if now.latest is not None]
        assert sorted(told, key=lambda e: e.number) == list(result.evaluations)

    def test_best_so_far(self, engine: Engine) -> None:
        """The best that is told is the most harmful of those told until then."""
        heard: list[Progress] = []
        result = search(_config(), engine=engine, store=None, on_progress=heard.append)
        most = -1.0
        for now in heard:
            most = max(most, now.latest.harm.relative) if now.latest else most
            assert (now.best.harm.relative if now.best else -1.0) == most
        assert heard[-1].best == result.worst(1)[0]

    def test_exception_of_the_listener_ends_the_search(self, engine: Engine) -> None:
        """What the listener raises comes out, Ctrl-C for example."""

        def interrupt(now: Progress) -> None:
            if now.done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            search(_config(), engine=engine, on_progress=interrupt)


@pytest.fixture
def result(engine: Engine) -> SearchResult:
    """Give the result of a small search."""
    return search(_config(budget=40), engine=engine, store=None)


class TestSearchResult:
    def test_frame(self, result: SearchResult) -> None:
        """The table has a row for each experiment, in the order of proposal."""
        table = result.frame()
        assert list(table["number"]) == list(range(40))
        assert list(table["relative_harm"]) == [e.harm.relative for e in result.evaluations]
        parts = table["absolute_harm"] - table["expected_harm"]
        pd.testing.assert_series_equal(table["relative_harm"], parts, check_names=False)

    def test_worst_are_different_and_sorted(self, result: SearchResult) -> None:
        """The worst are different scenarios, the most harmful first."""
        worst = result.worst(10)
        assert len({evaluation.experiment.competing for evaluation in worst}) == len(worst) == 10
        harms = [evaluation.harm.relative for evaluation in worst]
        assert harms == sorted(harms, reverse=True)
        assert harms[0] == result.frame()["relative_harm"].max()

    def test_top_table(self, result: SearchResult) -> None:
        """The table for people has the worst, ranked from 1."""
        table = result.top_table(3)
        assert list(table.index) == [1, 2, 3]
        assert list(table["relative_harm"]) == [e.harm.relative for e in result.worst(3)]

    def test_json(self, result: SearchResult) -> None:
        """The document for machines is JSON, and its scenarios can be read back."""
        document = json.loads(json.dumps(result.to_dict(2)))
        assert document["experiments"] == 40
        assert document["provenance"]["engine"] == "arithmetic"
        scenarios = [Scenario.from_dict(entry["scenario"]) for entry in document["worst"]]
        assert scenarios == [e.experiment.competing for e in result.worst(2)]


class TestFolder:
    def test_files(self, engine: Engine, tmp_path: Path) -> None:
        """A finished search leaves its table, its settings, its worst scenarios and a picture."""
        result = search(_config(), engine=engine, output_dir=tmp_path / "a" / "b")
        folder = tmp_path / "a" / "b"
        assert {path.name for path in folder.iterdir()} == {
            *(RESULTS_CSV, SEARCH_JSON, WORST_PNG),
            *(f"worst-{rank}.toml" for rank in range(1, 6)),
        }
        table = pd.read_csv(
            folder / RESULTS_CSV, keep_default_na=False, na_values={"converged_at_s": ""}
        )
        pd.testing.assert_frame_equal(table, result.frame())
        document = json.loads((folder / SEARCH_JSON).read_text())
        assert document["search"] == result.config.to_dict()
        assert document["engine_version"] == "1"
        assert document["experiments_done"] == document["experiments_planned"] == 8
        for rank, evaluation in enumerate(result.worst(5), start=1):
            assert Scenario.load(folder / f"worst-{rank}.toml") == evaluation.experiment.competing
        assert (folder / WORST_PNG).read_bytes().startswith(b"\x89PNG")

    def test_experiments_are_kept_as_they_finish(self, engine: Engine, tmp_path: Path) -> None:
        """There is a table as soon as one experiment has finished."""
        rows = []

        def look(now: Progress) -> None:
            if now.done:
                rows.append(len(pd.read_csv(tmp_path / RESULTS_CSV)))

        search(_config(), engine=engine, store=None, output_dir=tmp_path, on_progress=look)
        assert rows[0] == 1
        assert rows == sorted(rows)

    @pytest.mark.parametrize(
        "change",
        [
            *({"seed": 2}, {"budget": 12}, {"alpha": "even"}, {"duration_s": 5.0}),
            {"strategy": "random"},
        ],
    )
    def test_another_search(self, engine: Engine, tmp_path: Path, change: dict[str, Any]) -> None:
        """A folder that holds another search is refused, and nothing in it is touched."""
        folder = tmp_path / "results"
        search(_config(), engine=engine, output_dir=folder)
        before = {path: path.read_bytes() for path in folder.iterdir()}
        (name,) = change
        with pytest.raises(InputError, match=rf"^output folder is .* differs in {name}: choose"):
            search(_config(**change), engine=engine, output_dir=folder)
        assert {path: path.read_bytes() for path in folder.iterdir()} == before

    def test_from_before_there_were_strategies(self, engine: Engine, tmp_path: Path) -> None:
        """A folder that names no strategy is one of the genetic algorithm."""
        search(_config(), engine=engine, output_dir=tmp_path)
        document = json.loads((tmp_path / SEARCH_JSON).read_text())
        del document["search"]["strategy"]
        (tmp_path / SEARCH_JSON).write_text(json.dumps(document))
        with pytest.raises(InputError, match="differs in strategy: choose"):
            search(_config(strategy="random"), engine=engine, output_dir=tmp_path)
        search(_config(), engine=engine, output_dir=tmp_path)

    def test_another_engine(self, engine: Engine, tmp_path: Path) -> None:
        """So is one whose results another version of the engine made."""

        class Newer(_Wrapped):
            def provenance(self) -> dict[str, object]:
                return {"engine": "arithmetic", "engine_version": "2"}

        search(_config(), engine=engine, output_dir=tmp_path)
        with pytest.raises(InputError, match="differs in engine_version: choose"):
            search(_config(), engine=Newer(engine), output_dir=tmp_path)

    @pytest.mark.parametrize("content", ["", "[]", "{", "null"])
    def test_damaged(self, engine: Engine, tmp_path: Path, content: str) -> None:
        """So is one whose description cannot be read."""
        (tmp_path / SEARCH_JSON).write_text(content)
        with pytest.raises(InputError, match=r"^output folder is"):
            search(_config(), engine=engine, output_dir=tmp_path)

    def test_not_a_folder(self, engine: Engine, tmp_path: Path) -> None:
        """A path that cannot be a folder is refused before anything runs."""
        (tmp_path / "file").touch()
        for path in (tmp_path / "file", tmp_path / "file" / "below"):
            counting = _Wrapped(engine)
            with pytest.raises(InputError, match=r"^output folder is .* can be written"):
                search(_config(), engine=counting, output_dir=path)
            assert counting.ran == []

    def test_cannot_be_written_any_more(self, engine: Engine, tmp_path: Path) -> None:
        """A folder that can no longer be written ends the search with one line that says so."""
        folder = tmp_path / "results"

        def vanish(now: Progress) -> None:
            if now.done == 1:
                shutil.rmtree(folder, ignore_errors=True)

        with pytest.raises(CcbenchError, match=r"^cannot write .*No such file or directory"):
            search(_config(), engine=engine, output_dir=folder, on_progress=vanish)


class TestThroughputFigure:
    def test_shows_both_sides_and_the_solo_level(self, engine: Engine) -> None:
        """Each side is a line of its own colour, and beta's solo throughput is a level."""
        evaluation = search(_config(), engine=engine).worst(1)[0]
        experiment = evaluation.experiment
        figure = throughput_figure(
            evaluation, engine.run(experiment.solo), engine.run(experiment.competing)
        )
        (axes,) = figure.axes
        lines = {str(line.get_label()): line for line in axes.get_lines()}
        n_alpha, n_beta = evaluation.harm.n_alpha, evaluation.harm.n_beta
        alpha, beta = lines[f"{n_alpha} greedy"], lines[f"{n_beta} even"]
        assert np.asarray(alpha.get_ydata()) == pytest.approx(evaluation.harm.alpha_mbps)
        assert np.asarray(beta.get_ydata()) == pytest.approx(evaluation.harm.competing_mbps)
        assert alpha.get_color() != beta.get_color()
        level = lines[f"{n_beta} even alone (mean)"]
        assert np.asarray(level.get_ydata()) == pytest.approx(evaluation.harm.solo_mbps)
