# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import itertools
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.errors import CcbenchError, EngineError, InputError
from ccbench.harm import compare, measure, metrics_named
from ccbench.raygen import (
    CLAIMS_CSV,
    RESULTS_CSV,
    SEARCH_JSON,
    TIMELINES_JSON,
    WORST_PNG,
    Progress,
    SearchConfig,
    search,
)
from tests.unit.conftest import assert_same
from tests.unit.raygen.conftest import Breaks, Wrapped, small

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

pytestmark = pytest.mark.slow


class _Late(Wrapped):
    """Takes a random time for each run."""

    def before(self, _: Scenario) -> None:
        time.sleep(random.SystemRandom().uniform(0, 0.01))


class TestSearch:
    def test_finds_the_worst(self, engine: Engine) -> None:
        """The search comes near the greatest harm of the engine's arithmetic."""
        weight = 1 + 320 / 320 + 1 / (1 + 0.25)  # the longest round trip, the smallest queue
        most = max(
            beta / (alpha + beta) - beta / (weight * alpha + beta)
            for alpha, beta in itertools.product(range(1, 6), repeat=2)
        )
        config = small(budget=80, population=20)
        actual = float(search(config, engine=engine, store=None).worst(1)["relative_harm"].iloc[0])
        assert 0.75 * most <= actual <= 1.01 * most  # whole packets round the queue a little

    def test_metric(self, engine: Engine) -> None:
        """By a share of the link the objective is relative harm, by any other absolute harm."""
        names = ("harm", "throughput", "throughput_variation")
        usual, rates, swings = (search(small(metric=name), engine=engine) for name in names)
        for name in ("number", "relative_harm", "expected_harm"):
            assert rates.experiments[name].tolist() == pytest.approx(usual.experiments[name])
        for row in swings.experiments.to_dict("records"):
            experiment = swings.experiment(row["number"])
            solo, competing = map(engine.run, experiment.scenarios)
            window = row["from_s"], row["to_s"]
            (harm,) = compare(solo, competing, metrics_named(names[2:]), window)
            assert row["relative_harm"] == row["absolute_harm"] == harm.absolute
        assert "metric" not in usual.config.to_dict()
        assert swings.config == SearchConfig.from_dict(swings.config.to_dict())
        with pytest.raises(InputError, match=r"^metric is 'jain'"):
            small(metric="jain")

    def test_harm_is_that_of_the_two_runs(self, engine: Engine) -> None:
        """The harm of each experiment is that of its two scenarios when they run again."""
        result = search(small(), engine=engine)
        for row in result.experiments.to_dict("records"):
            experiment = result.experiment(row["number"])
            harm = measure(engine.run(experiment.solo), engine.run(experiment.competing))
            assert row["relative_harm"] == harm.relative
            assert row["solo_mbps"] == harm.solo_mbps
            assert row["competing_key"] == experiment.competing.key()

    def test_nothing_runs_twice(self, engine: Engine) -> None:
        """Solo runs, copies of parents and repeated searches are not run again."""
        counting = Wrapped(engine)
        config = small(budget=40, population=4, strategy="genetic")
        search(config, engine=counting)
        assert len(set(counting.ran)) == len(counting.ran) < config.most_runs()
        again = Wrapped(engine)
        search(config, engine=again)
        assert again.ran == []

    def test_order_of_completion_does_not_matter(self, engine: Engine, tmp_path: Path) -> None:
        """The result does not depend on the number of jobs or the order of completion."""
        alone = search(small(), engine=engine, store=None, jobs=1, output_dir=tmp_path / "alone")
        for _ in range(2):
            folder = tmp_path / "together"
            together = search(small(), engine=_Late(engine), store=None, jobs=8, output_dir=folder)
            assert_same(together, alone)
            for name in (RESULTS_CSV, CLAIMS_CSV, SEARCH_JSON, TIMELINES_JSON, WORST_PNG):
                assert (folder / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()

    def test_executor_of_the_caller(self, engine: Engine) -> None:
        """Runs go to the caller's executor."""
        with ThreadPoolExecutor(2, thread_name_prefix="mine") as executor:
            result = search(small(), engine=engine, executor=executor)
        assert_same(result, search(small(), engine=engine))

    def test_seed_decides(self, engine: Engine) -> None:
        """Another seed searches elsewhere."""
        first, second = (search(small(seed=seed), engine=engine, store=None) for seed in (1, 2))
        bandwidths = (result.experiments["bandwidth_mbps"] for result in (first, second))
        assert not set.intersection(*map(set, bandwidths))

    def test_longest_first(self, engine: Engine) -> None:
        """The longest runs of a generation are started first."""
        counting = Wrapped(engine)
        search(small(budget=8, population=8), engine=counting, jobs=1)
        rates = [scenario.path.bottlenecks[0].mean_mbps for scenario in counting.ran[:16]]
        assert rates == sorted(rates, reverse=True)

    def test_resumes(self, engine: Engine, tmp_path: Path) -> None:
        """Runs finished before a full disk are not repeated, and the result is the same."""
        whole = search(small(), engine=engine, store=None, output_dir=tmp_path / "whole")
        folder = tmp_path / "stopped"
        stopped = Breaks(engine, after=11)
        with pytest.raises(CcbenchError, match="out of luck"):
            search(small(), engine=stopped, jobs=1, output_dir=folder)
        resumed = Wrapped(engine)
        assert_same(search(small(), engine=resumed, output_dir=folder), whole)
        assert not set(resumed.ran) & set(stopped.ran)
        for name in (RESULTS_CSV, SEARCH_JSON, WORST_PNG):
            assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

    def test_unknown_cca(self, engine: Engine, tmp_path: Path) -> None:
        """A CCA unknown to the engine is refused before anything is run or written."""
        counting = Wrapped(engine)
        with pytest.raises(InputError, match=r"flows\[\d\]\.cca is 'unknown'"):
            search(small(alpha="unknown"), engine=counting, output_dir=tmp_path / "new")
        assert counting.ran == []
        assert not (tmp_path / "new").exists()

    def test_no_measurement(self, engine: Engine) -> None:
        """If no run of the first generation moves data, the search ends with an error."""

        class Dead(Wrapped):
            def run(self, scenario: Scenario, **options: Any) -> Run:
                run = super().run(scenario, **options)
                return replace(run, flows=run.flows.assign(throughput_bytes=0))

        message = r"^all 4 scenarios of generation 1 failed; the first: .*solo is 0"
        with pytest.raises(EngineError, match=message):
            search(small(), engine=Dead(engine))

    def test_settings_or_config(self, engine: Engine) -> None:
        """Settings may be given in the call, but not beside a config."""
        settings: dict[str, Any]
        settings = {"alpha": "greedy", "beta": "even", "budget": 8, "population": 4, "confirm": 2}
        assert_same(
            search(**settings, duration_s=4.0, engine=engine), search(small(), engine=engine)
        )
        with pytest.raises(InputError, match=r"^settings is 'budget'; it must be left out"):
            search(small(), budget=12, engine=engine)


class TestProgress:
    def test_tells_how_far_it_is(self, engine: Engine) -> None:
        """Counts and the share of work grow to their totals; the claims run last."""
        heard: list[Progress] = []
        search(small(), engine=engine, store=None, on_progress=heard.append)
        assert (heard[0].tried, heard[0].fraction, heard[0].best) == (0, 0, None)
        assert (heard[-1].tried, heard[-1].generation) == (8, 3)
        assert heard[-1].fraction == pytest.approx(1)
        assert heard[-1].done == heard[-1].planned
        for before, after in itertools.pairwise(heard):
            assert (before.tried, before.done) <= (after.tried, after.done)
            assert before.fraction <= after.fraction <= 1.0 + 1e-9
        assert {(now.networks, now.generations) for now in heard} == {(8, 3)}
        assert list(range(9)) == sorted({now.tried for now in heard})
        confirming = [now.confirming for now in heard]
        assert confirming == sorted(confirming)
        assert {8} == {now.tried for now in heard if now.confirming}

    def test_best_so_far(self, engine: Engine) -> None:
        """Without noise the reported best never falls and ends at the most harmful."""
        heard: list[Progress] = []
        result = search(small(), engine=engine, store=None, on_progress=heard.append)
        best = [now.best.relative for now in heard if now.best is not None]
        assert best == sorted(best)
        assert best[-1] == result.experiments["relative_harm"].max()

    def test_exception_of_the_listener_ends_the_search(self, engine: Engine) -> None:
        """An exception of the listener, such as Ctrl-C, ends the search."""

        def interrupt(now: Progress) -> None:
            if now.tried == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            search(small(), engine=engine, on_progress=interrupt)
