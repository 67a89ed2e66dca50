# SPDX-License-Identifier: Apache-2.0
"""Search guided by a model of harm (active learning): the most promising scenarios run next.

After a random generation, a :class:`~ccbench.raygen.analysis.predictor.Predictor` learns from all
measurements and predicts harm, with its uncertainty, at many scenarios that were not run. Those
with the highest upper confidence bound are run next, and the model learns again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.raygen.analysis.predictor import Predictor
from ccbench.raygen.strategy import FIRST_GENERATION, BaseStrategy, batches, check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from ccbench.raygen.space import Chromosome, Space
    from ccbench.raygen.strategy import Candidate, Proposal

__all__ = ["STRATEGY", "Surrogate", "most_promising"]

#: The upper confidence bound is so many standard deviations above the mean: 0 would only repeat
#: what did harm before, many would only look where nobody was.
CONFIDENCE = 2.0

#: Scenarios that are predicted: random ones ...
_STRANGERS = 1000
#: ... and variants of the most harmful, so many of each, ...
_BEST = 10
_VARIANTS = 50
#: ... in which half of the genes are moved by about this part of their range.
_MOVED = 0.5
_STEP = 0.1


class Surrogate(BaseStrategy):
    """Proposes what may do most harm, by a model that learns from each generation.

    Parameters
    ----------
    space : Space
        Where to search.
    budget : int
        How many chromosomes to propose, at least `population`.
    population : int
        Size of the first generation. Those behind it are half of it, as in the genetic
        algorithm: fewer would teach the model sooner, but leave cores without work.
    seed : int
        Of all random choices.
    initial, corners
        How the first generation is drawn, see :class:`~ccbench.raygen.BaseStrategy`.

    Raises
    ------
    InputError
        If `population` or `budget` is not as described.

    Examples
    --------
    Find the highest bandwidth:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> search = Surrogate(DEFAULT_SPACE, budget=12, population=8, seed=3)
    >>> while candidates := search.ask():
    ...     found = [candidate.chromosome[0] for candidate in candidates]
    ...     search.tell(found)
    >>> max(found) > 390
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
        check(budget, population)
        sizes = batches(budget, first=population, then=max(population // 2, 1))
        super().__init__(space, sizes, seed, initial=initial, corners=corners)
        self._measured: dict[Chromosome, float] = {}
        self._failed: set[Chromosome] = set()

    def learn(self, fitness: Mapping[Candidate, float]) -> None:
        """Fit the model to the present fitness of these candidates, too."""
        for candidate, value in fitness.items():
            if math.isnan(value):
                self._failed.add(candidate.chromosome)
                self._measured.pop(candidate.chromosome, None)
            else:
                self._measured[candidate.chromosome] = value

    def propose(self, size: int) -> list[Proposal]:
        """Return the most promising chromosomes; at first those of :meth:`first`."""
        if not self._measured:
            return self.first(size)
        # The model would go where it knows nothing, and failures tell it nothing: to it they are
        # as harmless as anything that was seen.
        least = min(self._measured.values())
        known = self._measured | dict.fromkeys(sorted(self._failed, key=repr), least)
        # Of equal ones the first stays, so the order is always the same.
        pool = [new for new in dict.fromkeys(self._imagined()) if new not in known]
        if len(pool) <= size:  # next to nothing is left in the space
            return [(new, ()) for new in pool + self.random(size - len(pool), self.rng)]
        predictor = Predictor(self.space, known)
        mean, covariance = predictor.predict(pool)
        chosen = most_promising(mean, covariance, noise=predictor.noise, n=size)
        return [(pool[i], ()) for i in chosen]

    def _imagined(self) -> Iterator[Chromosome]:
        """Yield scenarios that might be run next."""
        yield from self.random(_STRANGERS, self.rng)
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
    """Return the numbers of `n` scenarios to run side by side, the most promising first.

    One after the other, the scenario with the highest upper confidence bound is chosen, as if those
    before it had been run and had shown what is predicted: the means stay as they are, but what is
    like them is no longer uncertain. So a batch is spread out without a distance to be set
    (GP-BUCB: Desautels, Krause and Burdick, JMLR 2014, section 4).

    Parameters
    ----------
    mean : ndarray, shape (m,)
        Harm that is predicted.
    covariance : ndarray, shape (m, m)
        Its uncertainty.
    noise : float
        Variance of a measurement.
    n : int
        How many, at most m.

    Examples
    --------
    The second is hardly less promising than the first, but would tell the same again:

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
