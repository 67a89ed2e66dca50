# SPDX-License-Identifier: Apache-2.0
"""Short runs first: which scenarios run at full length, and what the result says of the others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ccbench.raygen import (
    DEFAULT_SPACE,
    Candidate,
    Halving,
    Number,
    ScreeningStrategy,
    SearchConfig,
    SearchResult,
    Space,
    plan,
    search,
)
from ccbench.raygen.selection import FURTHER
from tests.unit.conftest import assert_same
from tests.unit.raygen.conftest import Wrapped, small

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate import Engine

SHORT_S, LONG_S = 30.0, 180.0


def _config(**changes: object) -> SearchConfig:
    settings = {"strategy": "halving", "budget": 24, "population": 12, "duration_s": LONG_S}
    return small(**settings | changes)


class TestPromotion:
    def test_most_harmful_first_and_none_twice(self) -> None:
        """Every scenario is promoted once, in descending order of harm; failures never are."""
        strategy = Halving(DEFAULT_SPACE, budget=6, population=6, seed=1)
        candidates = strategy.ask()
        strategy.tell([0.1, 0.4, math.nan, 0.2, 0.6, 0.3])
        assert [candidates[4], candidates[1]] == strategy.promoted(2)
        strategy.revise({candidates[4]: 0.0})  # the full length shows no harm
        assert [candidates[5], candidates[3], candidates[0]] == strategy.promoted(9)
        assert [] == strategy.promoted(9)

    def test_copies_are_one_scenario(self) -> None:
        """Of two candidates with the same genes, one is promoted."""
        strategy = Halving(DEFAULT_SPACE, budget=6, population=6, seed=1)
        (first, *_) = strategy.ask()
        copy = Candidate(number=9, generation=2, chromosome=first.chromosome)
        strategy.learn({first: 0.5, copy: 0.5})
        assert [first] == strategy.promoted(2)

    def test_is_a_protocol(self) -> None:
        """The search recognises strategies with short runs by their members."""
        common = {"budget": 6, "population": 6}
        assert isinstance(_config(**common).new_strategy(), ScreeningStrategy)
        assert not isinstance(_config(strategy="surrogate", **common).new_strategy(), Halving)
        assert SHORT_S / LONG_S == _config().first_share
        assert small().first_share == 1


class TestSearch:
    def test_only_long_runs_are_claimed(self, engine: Engine) -> None:
        """Claims, the worst networks and further seeds run at full length; the table says so."""
        counting = Wrapped(engine)
        result = search(_config(), engine=counting)
        table = result.experiments
        is_long = table["duration_share"] == 1
        assert 2 + 1 + 1 == is_long.sum()  # a sixth of the generations of 12, 6 and 6
        assert (table.loc[~is_long, "duration_share"] == SHORT_S / LONG_S).all()
        assert (table.loc[~is_long, "to_s"] == SHORT_S).all()
        assert (table.loc[is_long, "to_s"] == LONG_S).all()
        assert (table.loc[~is_long, "repetitions"] == 1).all()
        assert table["repetitions"].max() <= 1 + FURTHER
        assert (result.claims["duration_share"] == 1).all()
        assert set(result.claims["number"]) <= set(table.loc[is_long, "number"])
        assert set(result.worst()["number"]) <= set(table.loc[is_long, "number"])
        assert {SHORT_S, LONG_S} == {run.duration_s for run in counting.ran}
        assert len(counting.ran) <= result.config.most_runs()

    def test_finds_what_long_runs_find(self, engine: Engine) -> None:
        """The arithmetic is settled at once: the claims' harm is that of the same full search."""
        halved, full = (
            search(_config(strategy=name, budget=48), engine=engine)
            for name in ("halving", "surrogate")
        )
        best = [result.claims["relative_harm"].max() for result in (halved, full)]
        assert best[0] == pytest.approx(best[1], abs=0.05)

    def test_less_than_half_of_the_time(self, engine: Engine) -> None:
        """The plan of the default search takes less than half of the virtual time."""
        default = SearchConfig(alpha="greedy", beta="even")
        hours = [
            plan(replace(default, strategy=name), engine=engine, store=None).virtual_hours
            for name in ("halving", "surrogate")
        ]
        assert hours[0] < hours[1] / 2

    def test_folder(self, engine: Engine, tmp_path: Path) -> None:
        """A folder that was read is equal, also on any number of jobs."""
        first = search(_config(), engine=engine, output_dir=tmp_path, jobs=1)
        assert_same(first, SearchResult.load(tmp_path))
        assert_same(first, search(_config(), engine=engine, store=None, jobs=8))

    def test_events_after_the_short_run(self) -> None:
        """If short runs would not reach a start or a change, all runs have full length."""
        late = Number(name="alpha_start_s", low=0, high=LONG_S / 2, scale="linear")
        change = {"at_s": 2 * SHORT_S, "bandwidth_mbps": 5}
        for space in (
            Space((*DEFAULT_SPACE.genes, late)),
            Space(DEFAULT_SPACE.genes, path={"changes": [change]}),
        ):
            assert _config(space=space).first_share == 1

    def test_short_search(self) -> None:
        """First runs last for half a minute or more, and never longer than the others."""
        for duration_s, share in ((45.0, 30 / 45), (30.0, 1.0), (6.0, 1.0), (360.0, 1 / 6)):
            assert _config(duration_s=duration_s).first_share == pytest.approx(share)

    def test_full_length(self, engine: Engine) -> None:
        """A search whose runs all have full length promotes none, as the surrogate."""
        counting = Wrapped(engine)
        result = search(_config(duration_s=SHORT_S), engine=counting)
        assert (result.experiments["duration_share"] == 1).all()
        assert {SHORT_S} == {run.duration_s for run in counting.ran}
        surrogate = _config(strategy="surrogate", duration_s=SHORT_S)
        assert surrogate.most_runs() == result.config.most_runs() >= len(counting.ran)
