# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench.base.errors import EngineError
from ccbench.raygen import (
    SearchResult,
    search,
)
from tests.unit.conftest import assert_same
from tests.unit.raygen.conftest import Wrapped, small

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate import Engine
    from ccbench.experiment.scenario import Scenario

pytestmark = pytest.mark.slow


class _FailsAbove(Wrapped):
    """Cannot run fast links with greedy flows."""

    def before(self, scenario: Scenario) -> None:
        greedy = "greedy" in set(scenario.flow_table()["cca"])
        if greedy and scenario.path.bottlenecks[0].mean_mbps > 100:
            raise EngineError("too fast")


class TestFailures:
    def test_are_recorded(self, engine: Engine, tmp_path: Path) -> None:
        """Failed scenarios have a reason and no harm; the others are unaffected."""
        result = search(small(), engine=_FailsAbove(engine), output_dir=tmp_path)
        fast = result.experiments["bandwidth_mbps"] > 100
        assert 0 < fast.sum() < len(fast)
        assert list(fast) == list(result.experiments["error"].str.contains("too fast"))
        assert list(fast) == list(result.experiments["relative_harm"].isna())
        assert not (result.claims["bandwidth_mbps"] > 100).any()
        assert_same(result, SearchResult.load(tmp_path))
        whole = search(small(), engine=engine, store=None).experiments
        first = slice(0, 4)  # later generations are affected by the failures
        expected = whole[first]["relative_harm"].where(~fast[first])
        pd.testing.assert_series_equal(expected, result.experiments[first]["relative_harm"])

    def test_are_tried_again(self, engine: Engine, tmp_path: Path) -> None:
        """The same search restarted without failures has the result of a search without."""
        search(small(), engine=_FailsAbove(engine), output_dir=tmp_path)
        assert_same(
            search(small(), engine=engine, output_dir=tmp_path),
            search(small(), engine=engine, store=None),
        )

    def test_whole_later_generation(self, engine: Engine) -> None:
        """The search continues after a later generation that fails completely."""

        class FirstFew(Wrapped):
            def before(self, scenario: Scenario) -> None:
                links = {item.path.bottlenecks for item in self.ran}
                if len(links) == 4 and scenario.path.bottlenecks not in links:
                    raise EngineError("too late")

        config = small(strategy="random", budget=5)
        result = search(config, engine=FirstFew(engine), store=None, jobs=1)
        assert result.experiments["error"].tolist() == [*[""] * 4, "too late"]

    def test_one_seed_fails(self, engine: Engine) -> None:
        """A scenario that fails with one of its seeds has failed, with the reason."""

        class SecondSeedFails(Wrapped):
            def before(self, scenario: Scenario) -> None:
                if scenario.seed in second and scenario.path.bottlenecks[0].mean_mbps > 100:
                    raise EngineError("bad seed")

        config = small(repeat=2, strategy="random")  # proposes the same after failures
        tried = search(config, engine=engine).experiments.to_dict("records")
        second = {config.seeds(config.space.chromosome(row))[1] for row in tried}
        result = search(config, engine=SecondSeedFails(engine), store=None).experiments
        fast = result["bandwidth_mbps"] > 100
        assert list(fast) == list(result["error"].str.contains("bad seed"))
        assert list(fast) == list(result["relative_harm"].isna())
