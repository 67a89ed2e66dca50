# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench.harm import measure
from ccbench.raygen import Choice, Space, search
from tests.unit.raygen.conftest import Wrapped, small

if TYPE_CHECKING:
    from ccbench.emulate import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

pytestmark = pytest.mark.slow


class _Noisy(Wrapped):
    """An engine in which the seed alone varies the share of greedy flows."""

    def run(self, scenario: Scenario, **options: Any) -> Run:
        run = super().run(scenario, **options)
        if scenario.flow_count > 1 and "greedy" in set(scenario.flow_table()["cca"]):
            even = (scenario.flow_table()["cca"] == "even").to_numpy()[run.flows["flow"]]
            factor = 1 + random.Random(scenario.seed).uniform(-0.2, 0.2)
            column = run.flows["throughput_bytes"]
            scaled = (column * factor).astype(column.dtype)
            flows = run.flows.assign(throughput_bytes=column.mask(even, scaled))
            return replace(run, flows=flows)
        return run


class TestRepetitions:
    def test_fitness_is_the_mean(self, engine: Engine) -> None:
        """A scenario's harm is the mean over its seeds, with their spread."""
        noisy = _Noisy(engine)
        result = search(small(repeat=2), engine=noisy, store=None)
        assert {2, 3, 4, 5} >= set(result.experiments["repetitions"]) > {2}
        for row in result.experiments.to_dict("records"):
            harms = []
            seeds = list(map(int, row["seeds"].split()))
            assert row["repetitions"] == len(seeds)
            for seed in seeds:
                experiment = result.experiment(row["number"], seed)
                pair = noisy.run(experiment.solo), noisy.run(experiment.competing)
                harms.append(measure(*pair).relative)
            assert row["relative_harm"] == pytest.approx(np.mean(harms))
            assert row["relative_harm_sd"] == pytest.approx(np.std(harms, ddof=1))
            assert (row["relative_harm_min"], row["relative_harm_max"]) == (min(harms), max(harms))

    def test_claims_have_fresh_seeds(self, engine: Engine) -> None:
        """Claims are ranked by the means of fresh seeds, with intervals and the search's harm."""
        result = search(small(repeat=2, confirm=4), engine=_Noisy(engine), store=None)
        harms = list(result.claims["relative_harm"])
        assert harms == sorted(harms, reverse=True)
        assert list(range(1, 6)) == list(result.claims["rank"])
        for claim in result.claims.to_dict("records"):
            (row,) = result.experiments[result.experiments["number"] == claim["number"]].to_dict(
                "records"
            )
            assert claim["found_harm"] == row["relative_harm"]
            assert 4 == claim["repetitions"]
            assert result.config.fresh_seeds(claim["number"]) == tuple(
                map(int, claim["seeds"].split())
            )
            middle = (claim["relative_harm_low"] + claim["relative_harm_high"]) / 2
            assert claim["relative_harm"] == pytest.approx(middle)
            deviations = (claim["relative_harm_high"] - middle) / claim["relative_harm_sd"]
            # Student's with 3 degrees of freedom, 99 % for each of five, of a mean of four.
            assert 5.841 / 2 == pytest.approx(deviations, abs=1e-3)

    def test_seeds_are_not_shared(self, engine: Engine) -> None:
        """No two networks share a seed, and the search runs no seed of a claim."""
        counting = Wrapped(engine)
        result = search(small(confirm=2), engine=counting, store=None)
        searched = [set(row.split()) for row in result.experiments["seeds"]]
        fresh = [set(row.split()) for row in result.claims["seeds"]]
        every = set().union(*searched, *fresh)
        assert sum(map(len, searched)) + sum(map(len, fresh)) == len(every)
        assert every == {str(scenario.seed) for scenario in counting.ran}

    def test_seeds_of_the_next_search(self) -> None:
        """Searches with neighbouring seeds share no seed of a network or claim."""
        first, second = small(seed=1, repeat=3), small(seed=2, repeat=3)
        network = first.space.chromosome({gene.name: gene.at(0.5) for gene in first.space.genes})
        assert not {*first.seeds(network)} & {*second.seeds(network)}
        assert not {*first.fresh_seeds(0)} & {*second.fresh_seeds(0), *first.fresh_seeds(1)}

    def test_solo_runs_are_shared(self) -> None:
        """Networks that differ only in the number of alpha flows share their solo run."""
        one, two = (small().experiment((100.0, 40.0, 1.0, alpha, 2)) for alpha in (1, 2))
        assert one.solo == two.solo
        assert one.solo != small().experiment((100.0, 40.0, 1.0, 1, 3)).solo

    def test_promising_ones_are_measured_again(self, engine: Engine) -> None:
        """The most harmful networks get further seeds, the others do not."""
        result = search(small(budget=16, strategy="random"), engine=_Noisy(engine), store=None)
        table = result.experiments
        assert 16 + 4 == table["repetitions"].sum()  # a sixth of each generation of four
        again = table[table["repetitions"] > 1]
        assert again["relative_harm_max"].min() > table["relative_harm"].median()

    def test_copies_know_as_much(self, engine: Engine) -> None:
        """A copy of a network has the network's results, and is not run again."""
        counting = Wrapped(_Noisy(engine))
        fixed = (Choice(name=name, values=(40,)) for name in ("rtt_ms", "queue_packets"))
        space = Space((Choice(name="bandwidth_mbps", values=(10, 20)), *fixed))
        config = small(space=space, budget=8, strategy="random", confirm=1)
        result = search(config, engine=counting, store=None)
        assert 8 == len(result.experiments)
        assert 2 == result.networks == len(result.claims)
        for _, copies in result.experiments.groupby("bandwidth_mbps"):
            assert 1 == copies["seeds"].nunique() == copies["relative_harm"].nunique()
        assert len(counting.ran) == len(set(counting.ran))
