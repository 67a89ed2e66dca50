# SPDX-License-Identifier: Apache-2.0
"""Search with short runs first, and runs of full length for the most promising scenarios.

This is successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and
hyperparameter optimization", AISTATS 2016) with two lengths, as runs of BBR and CUBIC are not
settled in less than a sixth of three minutes. The surrogate's model proposes: it takes the harm of
the longest runs of each scenario.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.raygen.strategies.surrogate import Surrogate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.raygen.space import Chromosome, Space
    from ccbench.raygen.strategy import Candidate

__all__ = ["STRATEGY", "Halving"]


class Halving(Surrogate):
    """The surrogate's search, with first runs of a sixth of the duration.

    After each generation, a sixth as many scenarios as it has run at full length: those with the
    greatest harm among all that have not.

    Parameters
    ----------
    space, budget, population, seed, initial, corners
        As of :class:`~ccbench.raygen.Surrogate`.

    Examples
    --------
    Find the highest bandwidth:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> search = Halving(DEFAULT_SPACE, budget=12, population=8, seed=3)
    >>> candidates = search.ask()
    >>> search.tell([candidate.chromosome[0] for candidate in candidates])
    >>> (best,) = search.promoted(1)
    >>> best.chromosome[0] == max(candidate.chromosome[0] for candidate in candidates)
    True
    """

    name = "halving"
    summary = (
        "the surrogate's search with runs of a sixth of the duration; a sixth of the networks, the "
        "most harmful, run at full length"
    )
    first_share = 1 / 6

    def __init__(  # noqa: PLR0913 - settings, all by keyword
        self,
        space: Space,
        *,
        budget: int,
        population: int,
        seed: int,
        initial: str = "random",
        corners: bool = False,
    ) -> None:
        super().__init__(
            space, budget=budget, population=population, seed=seed, initial=initial, corners=corners
        )
        self._short: dict[Candidate, float] = {}

    def learn(self, fitness: Mapping[Candidate, float]) -> None:
        """Record the fitness of a generation with short runs."""
        super().learn(fitness)
        self._short |= fitness

    def revise(self, fitness: Mapping[Candidate, float]) -> None:
        """Record the fitness of runs of full length."""
        super().learn(fitness)

    def promoted(self, count: int) -> Sequence[Candidate]:
        """Return up to `count` scenarios to run at full length, the most harmful first."""
        waiting = [each for each, harm in self._short.items() if not math.isnan(harm)]
        waiting.sort(key=self._short.__getitem__, reverse=True)
        distinct: dict[Chromosome, Candidate] = {}
        for candidate in waiting:
            distinct.setdefault(candidate.chromosome, candidate)
        chosen = list(distinct.values())[:count]
        run = {candidate.chromosome for candidate in chosen}
        self._short = {c: harm for c, harm in self._short.items() if c.chromosome not in run}
        return chosen


STRATEGY = Halving
