# SPDX-License-Identifier: Apache-2.0
"""Search guided by a model of harm (Bayesian optimisation).

After a random generation, a :class:`~ccbench.raygen.analysis.predictor.Predictor` is fitted to all
measurements and predicts harm, with its uncertainty, for many scenarios that were not run. The
scenarios with the highest upper confidence bound are run next, and the model is fitted again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.raygen.analysis.predictor import Predictor
from ccbench.raygen.strategy import FIRST_GENERATION, BaseStrategy, batches, check_budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from ccbench.raygen.space import Chromosome, Space
    from ccbench.raygen.strategy import Candidate, Proposal

__all__ = ["STRATEGY", "Surrogate", "most_promising"]

#: Standard deviations from the mean to the upper confidence bound: 0 would only exploit, a large
#: number would only explore.
CONFIDENCE = 2.0

#: Number of random scenarios whose harm is predicted, ...
_RANDOM = 1000
#: ... number of the most harmful scenarios and of variants of each, ...
_BEST = 10
_VARIANTS = 50
#: ... and in a variant, the probability that a gene moves, and the size of the step as a fraction
#: of the gene's range.
_MOVED = 0.5
_STEP = 0.1


class Surrogate(BaseStrategy):
    """Search by a Gaussian process that is fitted after each generation.

    Parameters
    ----------
    space : Space
        The search space.
    budget : int
        Number of chromosomes, at least `population`.
    population : int
        Size of the first generation. Later generations have half this size, as in the genetic
        algorithm; smaller ones would update the model sooner, but leave cores idle.
    seed : int
        Seed of all random choices.
    initial, corners
        See :class:`~ccbench.raygen.BaseStrategy`.

    Raises
    ------
    InputError
        If `population` or `budget` is out of range.

    Examples
    --------
    Find the highest bandwidth:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> search = Surrogate(DEFAULT_SPACE, budget=12, population=8, seed=3)
    >>> while candidates := search.ask():
    ...     bandwidths = [candidate.chromosome[0] for candidate in candidates]
    ...     search.tell(bandwidths)
    >>> max(bandwidths) > 390
    True
    """

    name = "surrogate"
    summary = (
        "a Gaussian process learns harm from all runs; the most promising candidates, by its mean "
        "and its uncertainty, run next"
    )
    settings = FIRST_GENERATION

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
        check_budget(budget, population)
        sizes = batches(budget, first=population, then=max(population // 2, 1))
        super().__init__(space, sizes, seed, initial=initial, corners=corners)
        self._measured: dict[Chromosome, float] = {}
        self._failed: set[Chromosome] = set()

    def learn(self, fitness: Mapping[Candidate, float]) -> None:
        """Record the current fitness of these candidates for the next fit."""
        for candidate, value in fitness.items():
            if math.isnan(value):
                self._failed.add(candidate.chromosome)
                self._measured.pop(candidate.chromosome, None)
            else:
                self._measured[candidate.chromosome] = value

    def propose(self, size: int) -> list[Proposal]:
        """Return the most promising chromosomes, or the first generation."""
        if not self._measured:
            return self.first(size)
        # Without a value, failed scenarios would remain uncertain and attract the search. The model
        # gets the lowest measured harm for them.
        least = min(self._measured.values())
        evaluated = self._measured | dict.fromkeys(sorted(self._failed, key=repr), least)
        # dict.fromkeys removes duplicates in a deterministic order.
        pool = [new for new in dict.fromkeys(self._candidates()) if new not in evaluated]
        if len(pool) <= size:  # the space is almost exhausted
            return [(new, ()) for new in pool + self.random(size - len(pool), self.rng)]
        predictor = Predictor(self.space, evaluated)
        mean, covariance = predictor.predict(pool)
        chosen = most_promising(mean, covariance, noise=predictor.noise, n=size)
        return [(pool[i], ()) for i in chosen]

    def _candidates(self) -> Iterator[Chromosome]:
        """Yield candidates for the next generation."""
        yield from self.random(_RANDOM, self.rng)
        by_harm = sorted(self._measured, key=self._measured.__getitem__, reverse=True)
        for best in by_harm[:_BEST]:
            for _ in range(_VARIANTS):
                yield self._variant(best)

    def _variant(self, chromosome: Chromosome) -> Chromosome:
        values = list(chromosome)
        for i, gene in enumerate(self.space.genes):
            if self.rng.random() < _MOVED:
                values[i] = gene.moved(values[i], self.rng, _STEP)
        return tuple(values)


def most_promising(
    mean: npt.NDArray[np.float64], covariance: npt.NDArray[np.float64], *, noise: float, n: int
) -> list[int]:
    """Return the indices of `n` scenarios to run in parallel, the most promising first.

    Scenarios are chosen one by one by their upper confidence bound, as if the previous ones had
    been run with the predicted outcome: means do not change, but similar scenarios are no longer
    uncertain. This spreads out a batch without a distance parameter (GP-BUCB: Desautels, Krause and
    Burdick, JMLR 2014, section 4).

    Parameters
    ----------
    mean : ndarray, shape (m,)
        Predicted harm.
    covariance : ndarray, shape (m, m)
        Covariance of the prediction.
    noise : float
        Variance of a measurement.
    n : int
        Number of scenarios, at most m.

    Examples
    --------
    The second scenario is almost as promising as the first, but would add little information:

    >>> mean = np.array([0.30, 0.29, 0.20])
    >>> alike = np.array([[0.04, 0.039, 0.0], [0.039, 0.04, 0.0], [0.0, 0.0, 0.04]])
    >>> most_promising(mean, alike, noise=0.001, n=2)
    [0, 2]
    """
    covariance = covariance.copy()
    free = np.ones(len(mean), dtype=bool)
    chosen: list[int] = []
    for _ in range(n):
        deviation = np.sqrt(covariance.diagonal().clip(min=0))
        i = int(np.where(free, mean + CONFIDENCE * deviation, -np.inf).argmax())
        free[i] = False
        chosen.append(i)
        shared = covariance[:, i]
        covariance -= np.outer(shared, shared) / (shared[i] + noise)
    return chosen


STRATEGY = Surrogate
