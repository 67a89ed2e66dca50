# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.raygen import DEFAULT_SPACE, Choice, Number, Space
from ccbench.raygen.strategies.sweep import SweepStrategy, grid

if TYPE_CHECKING:
    from ccbench.raygen import Chromosome


def _proposed(budget: int, population: int = 4, seed: int = 1) -> list[Chromosome]:
    sweep = SweepStrategy(DEFAULT_SPACE, budget=budget, population=population, seed=seed)
    chromosomes = []
    while candidates := sweep.ask():
        chromosomes += [candidate.chromosome for candidate in candidates]
        sweep.tell([0.0] * len(candidates))
    return chromosomes


class TestGrid:
    def test_all_ends_meet(self) -> None:
        """With 3125 experiments each gene has five levels, a constant factor apart."""
        assert [
            (25, 50, 100, 200, 400),
            (10, 23.8, 56.6, 134.5, 320),
            (0.25, 0.53, 1.12, 2.36, 5),
            (1, 2, 3, 4, 5),
            (1, 2, 3, 4, 5),
        ] == grid(DEFAULT_SPACE, 3125)

    @pytest.mark.parametrize("budget", [1, 2, 31, 32, 300, 1000, 3500])
    def test_no_gene_could_have_another_level(self, budget: int) -> None:
        """The grid fits into the budget, and one more level of any gene would not."""
        counts = [len(levels) for levels in grid(DEFAULT_SPACE, budget)]
        points = math.prod(counts)
        assert points <= budget
        for gene, count in zip(DEFAULT_SPACE.genes, counts, strict=True):
            assert count == gene.size or points // count * (count + 1) > budget

    @pytest.mark.parametrize("budget", [32, 300, 1000])
    def test_levels_are_exponentially_spaced(self, budget: int) -> None:
        """The levels of bandwidth, RTT and queue are a constant factor apart, from end to end."""
        for gene, levels in zip(
            DEFAULT_SPACE.genes[:3], grid(DEFAULT_SPACE, budget)[:3], strict=True
        ):
            assert (gene.at(0), gene.at(1)) == (levels[0], levels[-1])
            spaced = np.geomspace(float(levels[0]), float(levels[-1]), len(levels))
            assert spaced == pytest.approx(levels, rel=0.02)

    def test_fixed_space(self) -> None:
        """If nothing varies the grid is one point, for any budget."""
        space = Space(tuple(Number(name=gene.name, low=2, high=2) for gene in DEFAULT_SPACE.genes))
        assert [(2,)] * 5 == grid(space, 100)

    def test_choices_are_whole(self) -> None:
        """All values of a choice are tried, if the budget permits."""
        qdiscs = ("droptail", "pie", "codel", "fq_codel")
        space = Space((*DEFAULT_SPACE.genes, Choice(name="qdisc", values=qdiscs)))
        assert qdiscs == grid(space, 128)[-1]
        assert 2 == len(grid(space, 128)[0])
        assert 1 == len(grid(space, 3)[-1])


class TestSweep:
    def test_every_point_once(self) -> None:
        """The whole grid is proposed, each point once."""
        points = list(itertools.product(*grid(DEFAULT_SPACE, 100)))
        assert sorted(points) == sorted(_proposed(100))

    def test_a_part_stands_for_the_whole(self) -> None:
        """The order is random: the first half has every level of every gene about as often."""
        chromosomes = _proposed(3125, population=60)
        half = chromosomes[: len(chromosomes) // 2]
        for values in zip(*half, strict=True):
            _, counts = np.unique(values, return_counts=True)
            assert counts == pytest.approx(len(half) / 5, rel=0.2)

    def test_seed_changes_the_order_alone(self) -> None:
        """All seeds propose the same grid."""
        first, second = (_proposed(100, seed=seed) for seed in (1, 2))
        assert first != second
        assert sorted(first) == sorted(second)
