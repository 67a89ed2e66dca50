# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from math import sqrt
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from scipy.spatial.distance import pdist

from ccbench.raygen import DEFAULT_SPACE, Choice, Number, Space
from ccbench.raygen.analysis.diversity import coordinates, distances

if TYPE_CHECKING:
    from ccbench.raygen import Chromosome

NETWORK = Space(
    (
        Number(name="bandwidth_mbps", low=25, high=400),
        Number(name="rtt_ms", low=10, high=310, scale="linear"),
        Number(name="queue_bdp", low=0.25, high=4),
        Choice(name="qdisc", values=("droptail", "codel", "pie")),
    )
)


def _table(space: Space, *chromosomes: Chromosome) -> pd.DataFrame:
    return pd.DataFrame(chromosomes, columns=[gene.name for gene in space.genes])


class TestDistances:
    def test_opposite_corners(self) -> None:
        """From corner to corner each number adds 1 to the square, and so do different words."""
        table = _table(NETWORK, (25.0, 310.0, 0.25, "pie"), (400.0, 10.0, 4.0, "codel"))
        assert [sqrt(4)] == pytest.approx(distances(NETWORK, table).tolist())

    def test_same_scenario(self) -> None:
        """A scenario has distance 0 from itself."""
        table = _table(NETWORK, (100.0, 40.0, 1.0, "pie"), (100.0, 40.0, 1.0, "pie"))
        assert [0.0] == distances(NETWORK, table).tolist()

    def test_own_scale(self) -> None:
        """A step is measured on its gene's scale: by factors, or by differences."""
        factor = _table(NETWORK, *((mbps, 40.0, 1.0, "pie") for mbps in (25.0, 50.0, 400.0)))
        assert [0.25, 1.0, 0.75] == pytest.approx(distances(NETWORK, factor).tolist())
        difference = _table(NETWORK, *((50.0, ms, 1.0, "pie") for ms in (10.0, 85.0, 310.0)))
        assert [0.25, 1.0, 0.75] == pytest.approx(distances(NETWORK, difference).tolist())

    def test_all_pairs_in_order(self) -> None:
        """There is one distance for each pair, in the order of SciPy's pdist."""
        rng = random.Random(1)
        table = _table(NETWORK, *(NETWORK.random(rng) for _ in range(20)))
        actual = distances(NETWORK, table)
        assert (190,) == actual.shape
        assert pdist(coordinates(NETWORK, table)) == pytest.approx(actual)

    def test_random_scenarios(self) -> None:
        """Between uniform numbers the mean square is 1/6 for each, by integration."""
        numbers = Space(NETWORK.genes[:3])
        rng = random.Random(1)
        table = _table(numbers, *(numbers.random(rng) for _ in range(500)))
        assert 3 / 6 == pytest.approx((distances(numbers, table) ** 2).mean(), rel=0.05)

    def test_nearly_the_same_scenarios(self) -> None:
        """Similar scenarios are near, although they span their own ranges."""
        table = _table(NETWORK, *((100.0 + i, 40.0 + i, 1.0, "pie") for i in range(20)))
        assert distances(NETWORK, table).max() < 0.1

    @pytest.mark.parametrize("rows", [0, 1])
    def test_no_pair(self, rows: int) -> None:
        """Without a pair there is no distance."""
        table = _table(NETWORK, *[(100.0, 40.0, 1.0, "pie")] * rows)
        assert [] == distances(NETWORK, table).tolist()

    def test_other_columns_and_order(self) -> None:
        """The columns of a search's table may have any order and others between them."""
        rng = random.Random(1)
        table = _table(DEFAULT_SPACE, *(DEFAULT_SPACE.random(rng) for _ in range(5)))
        mixed = table[table.columns[::-1]].assign(relative_harm=0.1, error="")
        assert (distances(DEFAULT_SPACE, table) == distances(DEFAULT_SPACE, mixed)).all()


class TestCoordinates:
    def test_words_have_several(self) -> None:
        """A number has one coordinate, a choice between words one for each word."""
        table = _table(NETWORK, (400.0, 10.0, 1.0, "pie"))
        (place,) = coordinates(NETWORK, table).tolist()
        assert [1.0, 0.0, 0.5, 0.0, 0.0, sqrt(0.5)] == pytest.approx(place)
