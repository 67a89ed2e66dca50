# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench.harm import measure
from ccbench.raygen import (
    search,
)
from tests.unit.raygen.conftest import Wrapped, small

if TYPE_CHECKING:
    from ccbench.emulate import Engine
    from ccbench.run import Run
    from ccbench.scenario import Scenario


class _Noisy(Wrapped):
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
        result = search(small(repeat=3), engine=noisy, store=None)
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
        result = search(small(repeat=2, confirm=4), engine=noisy, store=None)
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
        counting = Wrapped(engine)
        result = search(small(confirm=2), engine=counting, store=None)
        searched = {s for s in counting.ran if s.seed in result.config.seeds}
        assert 1 in result.config.seeds
        assert not set(result.config.seeds) & set(result.config.fresh_seeds)
        assert {1} == {s.seed for s in searched}
        assert {1, 2, 3} == {s.seed for s in counting.ran}
