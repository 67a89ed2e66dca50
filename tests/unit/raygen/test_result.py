# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.scenario import Scenario
from ccbench.raygen import (
    SearchResult,
    search,
)
from tests.unit.conftest import ArithmeticEngine
from tests.unit.raygen.conftest import small


@pytest.fixture(scope="module")
def result() -> SearchResult:
    """Give the result of a small search, which no test changes."""
    return search(small(budget=40), engine=ArithmeticEngine(), store=None)


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
        """The table of claims is ranked from 1."""
        table = result.top_table()
        assert list(table.index) == [1, 2, 3, 4, 5]
        assert list(table["relative_harm"]) == list(result.claims["relative_harm"])

    @pytest.mark.parametrize("number", [-1, 40])
    def test_no_such_experiment(self, result: SearchResult, number: int) -> None:
        """An unknown experiment or rank is an input error."""
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
        """The JSON document contains scenarios that can be loaded."""
        document = json.loads(json.dumps(result.to_dict()))
        assert document["experiments"] == 40
        assert document["provenance"]["engine"] == "arithmetic"
        scenarios = [Scenario.from_dict(entry["scenario"]) for entry in document["claims"]]
        assert scenarios == [result.claimed(rank).competing for rank in range(1, 6)]
