# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import json
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.errors import CcbenchError, EngineError, InputError
from ccbench.harm import measure
from ccbench.raygen import (
    CLAIMS_CSV,
    RESULTS_CSV,
    SEARCH_JSON,
    WORST_PNG,
    Progress,
    SearchConfig,
    SearchResult,
    search,
)
from ccbench.scenario import Scenario
from tests.unit.conftest import ArithmeticEngine, assert_same

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
    """Ends the batch after some runs, as a full disk does."""

    def __init__(self, engine: Any, after: int) -> None:
        super().__init__(engine)
        self._after = after

    def before(self, _: Scenario) -> None:
        if len(self.ran) == self._after:
            raise CcbenchError("out of luck")


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
            ({"duration_s": -4}, "^duration_s is -4"),
            ({"duration_s": "4"}, "^duration_s is '4'"),
            ({"seed": -1}, "^seed is -1"),
            ({"seed": 2**63 - 1}, f"^seed is {2**63 - 1}; .* at most {2**62}"),
            ({"budget": 10**9}, "^budget is 1000000000; .* at most 1000000"),
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
        found = float(search(config, engine=engine, store=None).worst(1)["relative_harm"].iloc[0])
        assert 0.8 * most <= found <= 1.01 * most  # whole packets round the queue a little

    def test_harm_is_that_of_the_two_runs(self, engine: Engine) -> None:
        """The harm of each experiment is what its two scenarios show when they run again."""
        result = search(_config(), engine=engine)
        for row in result.experiments.to_dict("records"):
            experiment = result.experiment(row["number"])
            harm = measure(engine.run(experiment.solo), engine.run(experiment.competing))
            assert row["relative_harm"] == harm.relative
            assert row["solo_mbps"] == harm.solo_mbps
            assert row["competing_key"] == experiment.competing.key()

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
            assert_same(together, alone)
            for name in (RESULTS_CSV, CLAIMS_CSV, SEARCH_JSON, "worst-1.toml", WORST_PNG):
                assert (folder / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()

    def test_executor_of_the_caller(self, engine: Engine) -> None:
        """Runs go to the executor that the caller gives."""
        with ThreadPoolExecutor(2, thread_name_prefix="mine") as executor:
            result = search(_config(), engine=engine, executor=executor)
        assert_same(result, search(_config(), engine=engine))

    def test_seed_decides(self, engine: Engine) -> None:
        """Another seed searches elsewhere."""
        one, other = (search(_config(seed=seed), engine=engine, store=None) for seed in (1, 2))
        bandwidths = (result.experiments["bandwidth_mbps"] for result in (one, other))
        assert not set.intersection(*map(set, bandwidths))

    def test_longest_first(self, engine: Engine) -> None:
        """Of a generation, the runs that take longest are started first."""
        counting = _Wrapped(engine)
        search(_config(budget=8, population=8), engine=counting, jobs=1)
        rates = [scenario.bottlenecks[0].mean_mbps for scenario in counting.ran[:16]]
        assert rates == sorted(rates, reverse=True)

    def test_goes_on_where_it_was_stopped(self, engine: Engine, tmp_path: Path) -> None:
        """What finished before a full disk does not run again; the result is as if nothing was."""
        whole = search(_config(), engine=engine, store=None, output_dir=tmp_path / "whole")
        folder = tmp_path / "stopped"
        stopped = _Breaks(engine, after=11)
        with pytest.raises(CcbenchError, match="out of luck"):
            search(_config(), engine=stopped, jobs=1, output_dir=folder)
        resumed = _Wrapped(engine)
        assert_same(search(_config(), engine=resumed, output_dir=folder), whole)
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

    def test_nothing_can_be_measured(self, engine: Engine) -> None:
        """If no run of the first generation moves data, the search ends and says so."""

        class Dead(_Wrapped):
            def run(self, scenario: Scenario, **options: Any) -> Run:
                run = super().run(scenario, **options)
                run.flows["throughput_bytes"] = run.flows["throughput_bytes"] * 0
                return run

        message = r"^all 4 scenarios of generation 1 failed; the first: .*solo is 0"
        with pytest.raises(EngineError, match=message):
            search(_config(), engine=Dead(engine))

    def test_settings_or_config(self, engine: Engine) -> None:
        """Settings may stand in the call; beside a config they are refused."""
        settings: dict[str, Any]
        settings = {"alpha": "greedy", "beta": "even", "budget": 8, "population": 4}
        assert_same(
            search(**settings, duration_s=4.0, engine=engine), search(_config(), engine=engine)
        )
        with pytest.raises(InputError, match=r"^settings is 'budget'; it must be left out"):
            search(_config(), budget=12, engine=engine)


class _FailsAbove(_Wrapped):
    """Cannot run fast links with greedy flows."""

    def before(self, scenario: Scenario) -> None:
        greedy = "greedy" in set(scenario.flow_table()["cca"])
        if greedy and scenario.bottlenecks[0].mean_mbps > 100:
            raise EngineError("too fast")


class TestFailures:
    def test_are_recorded(self, engine: Engine, tmp_path: Path) -> None:
        """Scenarios that fail have a reason and no harm; the others are as if none had failed."""
        result = search(_config(), engine=_FailsAbove(engine), output_dir=tmp_path)
        fast = result.experiments["bandwidth_mbps"] > 100
        assert 0 < fast.sum() < len(fast)
        assert list(fast) == list(result.experiments["error"].str.contains("too fast"))
        assert list(fast) == list(result.experiments["relative_harm"].isna())
        assert not (result.claims["bandwidth_mbps"] > 100).any()
        assert_same(result, SearchResult.load(tmp_path))
        whole = search(_config(), engine=engine, store=None).experiments
        first = slice(0, 4)  # later generations learn of the failures
        expected = whole[first]["relative_harm"].where(~fast[first])
        pd.testing.assert_series_equal(expected, result.experiments[first]["relative_harm"])

    def test_are_tried_again(self, engine: Engine, tmp_path: Path) -> None:
        """The same search started again where nothing fails has the result of one without."""
        search(_config(), engine=_FailsAbove(engine), output_dir=tmp_path)
        assert_same(
            search(_config(), engine=engine, output_dir=tmp_path),
            search(_config(), engine=engine, store=None),
        )

    def test_of_a_whole_later_generation(self, engine: Engine) -> None:
        """The search goes on behind a generation, maybe of one scenario, that fails as a whole."""

        class FirstFew(_Wrapped):
            def before(self, _: Scenario) -> None:
                if len(self.ran) >= 2 * 4:
                    raise EngineError("too late")

        config = _config(strategy="random", budget=5)
        result = search(config, engine=FirstFew(engine), store=None, jobs=1)
        assert result.experiments["error"].tolist() == [*[""] * 4, "too late"]

    def test_one_seed_fails(self, engine: Engine) -> None:
        """A scenario that fails with one of its seeds has failed, and says why."""

        class SecondSeedFails(_Wrapped):
            def before(self, scenario: Scenario) -> None:
                if scenario.seed == 2 and scenario.bottlenecks[0].mean_mbps > 100:
                    raise EngineError("bad seed")

        result = search(_config(repeat=2), engine=SecondSeedFails(engine)).experiments
        fast = result["bandwidth_mbps"] > 100
        assert list(fast) == list(result["error"].str.contains("bad seed"))
        assert list(fast) == list(result["relative_harm"].isna())


class _Noisy(_Wrapped):
    """Greedy flows get more or less, by the seed alone."""

    def run(self, scenario: Scenario, **options: Any) -> Run:
        run = super().run(scenario, **options)
        if scenario.flow_count > 1 and "greedy" in set(scenario.flow_table()["cca"]):
            even = (scenario.flow_table()["cca"] == "even").to_numpy()[run.flows["flow"]]
            factor = 1 + random.Random(scenario.seed).uniform(-0.2, 0.2)
            column = run.flows["throughput_bytes"]
            scaled = (column * factor).astype(column.dtype)
            run.flows["throughput_bytes"] = column.mask(even, scaled)
        return run


class TestRepetitions:
    def test_fitness_is_the_mean(self, engine: Engine) -> None:
        """With N seeds a scenario's harm is the mean of what each shows, with its spread."""
        noisy = _Noisy(engine)
        result = search(_config(repeat=3), engine=noisy, store=None)
        assert {"1 2 3"} == set(result.experiments["seeds"])
        for row in result.experiments.to_dict("records"):
            harms = []
            for seed in (1, 2, 3):
                experiment = result.experiment(row["number"], seed)
                pair = noisy.run(experiment.solo), noisy.run(experiment.competing)
                harms.append(measure(*pair).relative)
            assert row["relative_harm"] == pytest.approx(np.mean(harms))
            assert row["relative_harm_sd"] == pytest.approx(np.std(harms, ddof=1))
            assert (row["relative_harm_min"], row["relative_harm_max"]) == (min(harms), max(harms))

    def test_claims_have_fresh_seeds(self, engine: Engine) -> None:
        """The most harmful are run again with seeds that the search has not seen, and ranked so."""
        noisy = _Noisy(engine)
        result = search(_config(repeat=2, confirm=4), engine=noisy, store=None)
        assert {"3 4 5 6"} == set(result.claims["seeds"])
        assert set(result.worst(5)["number"]) == set(result.claims["number"])
        harms = list(result.claims["relative_harm"])
        assert harms == sorted(harms, reverse=True)
        assert list(range(1, 6)) == list(result.claims["rank"])
        for claim in result.claims.to_dict("records"):
            (row,) = result.experiments[result.experiments["number"] == claim["number"]].to_dict(
                "records"
            )
            assert claim["found_harm"] == row["relative_harm"]
            experiment = result.claimed(claim["rank"])
            assert 3 == experiment.competing.seed

    def test_seeds_are_not_shared(self, engine: Engine) -> None:
        """No run of a claim was seen by the search."""
        counting = _Wrapped(engine)
        result = search(_config(confirm=2), engine=counting, store=None)
        searched = {s for s in counting.ran if s.seed in result.config.seeds}
        assert 1 in result.config.seeds
        assert not set(result.config.seeds) & set(result.config.fresh_seeds)
        assert {1} == {s.seed for s in searched}
        assert {1, 2, 3} == {s.seed for s in counting.ran}


class TestProgress:
    def test_tells_how_far_it_is(self, engine: Engine) -> None:
        """Counts and the share of work grow to their ends; at last the worst run again."""
        heard: list[Progress] = []
        search(_config(), engine=engine, store=None, on_progress=heard.append)
        assert (heard[0].done, heard[0].fraction, heard[0].best) == (0, 0, None)
        assert (heard[-1].done, heard[-1].generation) == (8, 3)
        assert heard[-1].fraction == pytest.approx(1)
        for before, after in itertools.pairwise(heard):
            assert before.done <= after.done
            assert before.fraction <= after.fraction <= 1.0 + 1e-9
        assert {(now.planned, now.generations) for now in heard} == {(8, 3)}
        assert list(range(9)) == sorted({now.done for now in heard})
        confirming = [now.confirming for now in heard]
        assert confirming == sorted(confirming)
        assert {8} == {now.done for now in heard if now.confirming}

    def test_best_so_far(self, engine: Engine) -> None:
        """The best that is told never falls, and at the end is the most harmful of all."""
        heard: list[Progress] = []
        result = search(_config(), engine=engine, store=None, on_progress=heard.append)
        best = [now.best.relative for now in heard if now.best is not None]
        assert best == sorted(best)
        assert best[-1] == result.experiments["relative_harm"].max()

    def test_exception_of_the_listener_ends_the_search(self, engine: Engine) -> None:
        """What the listener raises comes out, Ctrl-C for example."""

        def interrupt(now: Progress) -> None:
            if now.done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            search(_config(), engine=engine, on_progress=interrupt)


@pytest.fixture(scope="module")
def result() -> SearchResult:
    """Give the result of a small search, which nobody changes."""
    return search(_config(budget=40), engine=ArithmeticEngine(), store=None)


class TestSearchResult:
    def test_experiments(self, result: SearchResult) -> None:
        """The table has a row for each experiment, in the order of proposal."""
        table = result.experiments
        assert list(table["number"]) == list(range(40))
        parts = table["absolute_harm"] - table["expected_harm"]
        pd.testing.assert_series_equal(table["relative_harm"], parts, check_names=False)

    def test_worst_are_different_and_sorted(self, result: SearchResult) -> None:
        """The worst are different scenarios, the most harmful first."""
        worst = result.worst(10)
        assert worst["competing_key"].nunique() == len(worst) == 10
        harms = list(worst["relative_harm"])
        assert harms == sorted(harms, reverse=True)
        assert harms[0] == result.experiments["relative_harm"].max()

    def test_top_table(self, result: SearchResult) -> None:
        """The table for people has the claims, ranked from 1."""
        table = result.top_table()
        assert list(table.index) == [1, 2, 3, 4, 5]
        assert list(table["relative_harm"]) == list(result.claims["relative_harm"])

    @pytest.mark.parametrize("number", [-1, 40])
    def test_no_such_experiment(self, result: SearchResult, number: int) -> None:
        """A number that no experiment has, and a rank that no claim has, are input errors."""
        with pytest.raises(InputError, match=f"^number is {number}; it must be 0 to 39"):
            result.experiment(number)
        with pytest.raises(InputError, match=f"^rank is {number}; it must be 1 to 5"):
            result.claimed(number)

    def test_no_claim_yet(self, result: SearchResult) -> None:
        """Before the end of a search there are no claims."""
        unfinished = replace(result, claims=result.claims.iloc[:0])
        with pytest.raises(InputError, match="there is none yet"):
            unfinished.claimed(1)

    def test_json(self, result: SearchResult) -> None:
        """The document for machines is JSON, and its scenarios can be read back."""
        document = json.loads(json.dumps(result.to_dict()))
        assert document["experiments"] == 40
        assert document["provenance"]["engine"] == "arithmetic"
        scenarios = [Scenario.from_dict(entry["scenario"]) for entry in document["claims"]]
        assert scenarios == [result.claimed(rank).competing for rank in range(1, 6)]


class TestFolder:
    def test_files(self, engine: Engine, tmp_path: Path) -> None:
        """A finished search leaves its table, its settings, its worst scenarios and a picture."""
        result = search(_config(), engine=engine, output_dir=tmp_path / "a" / "b")
        folder = tmp_path / "a" / "b"
        assert {path.name for path in folder.iterdir()} == {
            *(RESULTS_CSV, CLAIMS_CSV, SEARCH_JSON, WORST_PNG),
            *(f"worst-{rank}.toml" for rank in range(1, 6)),
            *(f"worst-{rank}-solo.toml" for rank in range(1, 6)),
        }
        assert_same(result, SearchResult.load(folder))
        document = json.loads((folder / SEARCH_JSON).read_text())
        assert document["search"] == result.config.to_dict()
        assert document["engine_version"] == "1"
        assert document["experiments_done"] == document["experiments_planned"] == 8
        for rank in range(1, 6):
            experiment = result.claimed(rank)
            assert Scenario.load(folder / f"worst-{rank}.toml") == experiment.competing
            assert Scenario.load(folder / f"worst-{rank}-solo.toml") == experiment.solo
        assert (folder / WORST_PNG).read_bytes().startswith(b"\x89PNG")

    def test_experiments_are_kept_as_they_finish(self, engine: Engine, tmp_path: Path) -> None:
        """There is a table as soon as one experiment has finished; it can be read meanwhile."""
        rows = []

        def look(now: Progress) -> None:
            result = SearchResult.load(tmp_path)
            rows.append(len(result.experiments))
            assert result.claims.empty or now.confirming

        search(_config(), engine=engine, store=None, output_dir=tmp_path, on_progress=look)
        assert rows == sorted(rows)
        assert {0, 8} < set(rows)

    def test_nothing_is_taken_back(self, engine: Engine, tmp_path: Path) -> None:
        """A search started again leaves its results as they are until it has more."""
        whole = search(_config(), engine=engine, output_dir=tmp_path)
        with pytest.raises(CcbenchError, match="out of luck"):
            search(_config(), engine=_Breaks(engine, after=9), store=None, output_dir=tmp_path)
        assert_same(whole, SearchResult.load(tmp_path))

    def test_no_search_in_it(self, tmp_path: Path) -> None:
        """A folder without a search is refused in one line that says what is missing."""
        with pytest.raises(InputError, match=r"^folder is .* which holds search\.json: name the"):
            SearchResult.load(tmp_path)

    @pytest.mark.parametrize(
        "change",
        [
            *({"seed": 2}, {"budget": 12}, {"alpha": "even"}, {"duration_s": 5.0}),
            *({"strategy": "random"}, {"repeat": 2}, {"confirm": 2}, {"initial": "stratified"}),
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

    def test_another_engine(self, engine: Engine, tmp_path: Path) -> None:
        """So is one whose results another version of the engine made."""

        class Newer(_Wrapped):
            def provenance(self) -> dict[str, object]:
                return {"engine": "arithmetic", "engine_version": "2"}

        search(_config(), engine=engine, output_dir=tmp_path)
        with pytest.raises(InputError, match="differs in engine_version: choose"):
            search(_config(), engine=Newer(engine), output_dir=tmp_path)

    @pytest.mark.parametrize("name", [RESULTS_CSV, CLAIMS_CSV])
    @pytest.mark.parametrize("change", [("relative_harm", "harm"), ("\n0,", "\nnought,")])
    def test_damaged_table(
        self, engine: Engine, tmp_path: Path, name: str, change: tuple[str, str]
    ) -> None:
        """A table that somebody has changed is no result, and the error is one line."""
        search(_config(), engine=engine, output_dir=tmp_path)
        table = (tmp_path / name).read_text()
        changed = table.replace(*change) if change[0] in table else table.replace("\n1,", "\none,")
        (tmp_path / name).write_text(changed)
        with pytest.raises(InputError, match=rf"^folder is .* whose {RESULTS_CSV} and") as refused:
            SearchResult.load(tmp_path)
        assert len(str(refused.value).splitlines()) == 1

    @pytest.mark.parametrize("content", ["", "[]", "{", "null", "[" * 100_000])
    def test_damaged(self, engine: Engine, tmp_path: Path, content: str) -> None:
        """So is one whose description cannot be read."""
        (tmp_path / SEARCH_JSON).write_text(content)
        with pytest.raises(InputError, match=r"^output folder is"):
            search(_config(), engine=engine, output_dir=tmp_path)
        with pytest.raises(
            InputError, match=r"^folder is .* readable search\.json \(it is damaged"
        ):
            SearchResult.load(tmp_path)

    def test_somebody_elses_results(self, engine: Engine, tmp_path: Path) -> None:
        """Results of something else are not overwritten."""
        (tmp_path / RESULTS_CSV).write_text("mine\n")
        with pytest.raises(InputError, match=r"^output folder is .* without results\.csv of some"):
            search(_config(), engine=engine, output_dir=tmp_path)
        assert ["mine"] == (tmp_path / RESULTS_CSV).read_text().split()

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
