# SPDX-License-Identifier: Apache-2.0
"""A sweep over exponentially spaced scenarios (Ware section 5.5).

The thesis sweeps 3500 "exponentially spaced" scenarios without listing them. Here they are the full
grid of evenly spaced levels on the scale of each gene: exponential spacing on log scales.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from ccbench.raygen.gene import Choice
from ccbench.raygen.strategy import BaseStrategy, batches, check_budget

if TYPE_CHECKING:
    from ccbench.raygen.gene import Value
    from ccbench.raygen.space import Space
    from ccbench.raygen.strategy import Proposal

__all__ = ["STRATEGY", "SweepStrategy", "grid"]


class SweepStrategy(BaseStrategy):
    """Grid search in random order.

    The order is random so that an incomplete sweep covers the whole space.

    Parameters
    ----------
    space : Space
        The search space.
    budget : int
        Maximum number of chromosomes, at least `population`.
    population : int
        Size of a generation, which does not change the proposals.
    seed : int
        Seed of the order.

    Raises
    ------
    InputError
        If `population` or `budget` is out of range.

    Examples
    --------
    Five levels of each of five genes:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> sum(SweepStrategy(DEFAULT_SPACE, budget=3500, population=60, seed=1).sizes)
    3125
    """

    name = "sweep"
    summary = "a grid, evenly spaced on the scales of the genes, in random order"

    def __init__(self, space: Space, *, budget: int, population: int, seed: int) -> None:
        check_budget(budget, population)
        points = list(itertools.product(*grid(space, budget)))
        super().__init__(space, batches(len(points), first=population, then=population), seed)
        self.begins_at_random = False
        self.rng.shuffle(points)
        self._points = iter(points)

    def propose(self, size: int) -> list[Proposal]:
        """Return the next `size` points of the grid."""
        return [(point, ()) for point in itertools.islice(self._points, size)]


def grid(space: Space, budget: int) -> list[tuple[Value, ...]]:
    """Return the levels of each gene: the finest grid within the budget, about equal for each gene.

    Choices have all their values if the budget allows it. The other genes take turns in the order
    of the space: each gets one more level if the grid still fits into the budget, until none does.
    Whole numbers have at most one level for each number.

    Examples
    --------
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> [len(levels) for levels in grid(DEFAULT_SPACE, 1000)]
    [5, 4, 4, 4, 3]
    """
    counts = [gene.size if isinstance(gene, Choice) else 1 for gene in space.genes]
    if math.prod(counts) > budget:
        counts = [1] * len(space.genes)
    grew = True
    while grew:
        grew = False
        for i, gene in enumerate(space.genes):
            finer = [*counts[:i], counts[i] + 1, *counts[i + 1 :]]
            if counts[i] < gene.size and math.prod(finer) <= budget:
                counts = finer
                grew = True
    return [gene.levels(count) for gene, count in zip(space.genes, counts, strict=True)]


STRATEGY = SweepStrategy
