# SPDX-License-Identifier: Apache-2.0
"""A sweep over exponentially spaced scenarios (Ware section 5.5).

The thesis sweeps 3500 scenarios "exponentially spaced", and does not say which. Ours are the full
grid of evenly spaced levels on each gene's own scale, which for log scales is exponential.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from ccbench.raygen.gene import Choice
from ccbench.raygen.strategy import BaseStrategy, batches, check

if TYPE_CHECKING:
    from ccbench.raygen.gene import Value
    from ccbench.raygen.space import Space
    from ccbench.raygen.strategy import Proposal

__all__ = ["STRATEGY", "Sweep", "grid"]


class Sweep(BaseStrategy):
    """Proposes every point of a grid once, in random order.

    The order is random so that a sweep that is cut short has still been everywhere.

    Parameters
    ----------
    space : Space
        Where to search.
    budget : int
        Most chromosomes to propose, at least `population`.
    population : int
        Size of a generation. It changes how often there is a report, not what is proposed.
    seed : int
        Of the order.

    Raises
    ------
    InputError
        If `population` or `budget` is not as described.

    Examples
    --------
    Five levels of each of five genes:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> sum(Sweep(DEFAULT_SPACE, budget=3500, population=60, seed=1).sizes)
    3125
    """

    name = "sweep"
    summary = "a grid, evenly spaced on the scales of the genes, in random order"

    def __init__(self, space: Space, *, budget: int, population: int, seed: int) -> None:
        check(budget, population)
        points = list(itertools.product(*grid(space, budget)))
        super().__init__(space, batches(len(points), first=population, then=population), seed)
        self.begins_at_random = False
        self.rng.shuffle(points)
        self._points = iter(points)

    def propose(self, size: int) -> list[Proposal]:
        """Return the next `size` points of the grid."""
        return [(point, ()) for point in itertools.islice(self._points, size)]


def grid(space: Space, budget: int) -> list[tuple[Value, ...]]:
    """Return the levels of each gene: as many as the budget allows, and about the same of each.

    Choices have all their values, if the budget allows that. The other genes take turns in the
    space's order. Each takes one more level if the grid then still fits into the budget, until none
    can; whole numbers stop when all of them are levels.

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


STRATEGY = Sweep
