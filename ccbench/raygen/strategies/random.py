# SPDX-License-Identifier: Apache-2.0
"""Random search: the baseline of all other strategies (Ware section 5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.raygen.strategy import BaseStrategy, batches, check_budget

if TYPE_CHECKING:
    from ccbench.raygen.space import Space
    from ccbench.raygen.strategy import Proposal

__all__ = ["STRATEGY", "RandomSearch"]


class RandomSearch(BaseStrategy):
    """Random search, which does not learn.

    Parameters
    ----------
    space : Space
        The search space.
    budget : int
        Number of chromosomes, at least `population`.
    population : int
        Size of a generation, which does not change the proposals.
    seed : int
        Seed of all random choices.

    Raises
    ------
    InputError
        If `population` or `budget` is out of range.

    Examples
    --------
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> search = RandomSearch(DEFAULT_SPACE, budget=100, population=60, seed=1)
    >>> while candidates := search.ask():
    ...     search.tell([0.0] * len(candidates))
    ...     print(len(candidates))
    60
    40
    """

    name = "random"
    summary = "random networks: the baseline of the other strategies"

    def __init__(self, space: Space, *, budget: int, population: int, seed: int) -> None:
        check_budget(budget, population)
        super().__init__(space, batches(budget, first=population, then=population), seed)

    def propose(self, size: int) -> list[Proposal]:
        """Return `size` random chromosomes."""
        return self.first(size)


STRATEGY = RandomSearch
