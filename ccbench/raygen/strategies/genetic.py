# SPDX-License-Identifier: Apache-2.0
"""The genetic algorithm of Ware section 5.4.

Details that the thesis leaves open
-----------------------------------
Experiments
    A chromosome takes two runs (solo and competing), and the budget is 300 "experiments". Here an
    experiment is a chromosome: section 5.5 calls 300 harm values "300 random experiments", its "6
    generations" end at "only 200 experiments" (60 + 5 * 30 = 210), and 60 + 8 * 30 is exactly 300.
Budget
    It counts every proposed chromosome, including copies (a child that was neither crossed nor
    mutated equals its parent). A copy costs no run, as runs are stored.
Fitness
    The thesis measures each chromosome once. Here the fitness is the mean over all seeds, and the
    fittest are measured again after each generation (:mod:`ccbench.raygen.selection`): otherwise
    parents with a single lucky measurement would displace better children.
Blending
    Genes are blended on their scale, with an independent coin and weight for each gene.

Use of DEAP
-----------
DEAP's ``Fitness`` compares individuals, its ``Toolbox`` holds the operators, and its ``selBest``
selects the parents. Other parts of DEAP do not fit the algorithm:

- ``cxBlend`` blends all genes and ``cxUniform`` swaps them, both as plain numbers; here a coin
  decides for each gene, and genes have logarithmic scales, whole numbers or words. DEAP has no
  mutation of mixed genes. Its operators draw from Python's global random generator, so that the
  proposals would depend on other code.
- ``varAnd`` mates neighbours with one probability per pair, ``eaMuPlusLambda`` calls ``evaluate``
  itself, once for each individual. Here runs are parallel, a search can be interrupted and resumed
  between them, and the fittest are measured again after each generation.
- ``HallOfFame`` keeps copies with the fitness of their first measurement, which favours luck
  (:mod:`ccbench.raygen.selection`).
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from deap import base, tools

from ccbench.base import validation
from ccbench.base.settings import StrategySetting
from ccbench.raygen.strategy import FIRST_GENERATION, BaseStrategy, check_budget

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from ccbench.raygen.space import Chromosome, Space
    from ccbench.raygen.strategy import Candidate, Proposal

__all__ = ["STRATEGY", "Genetic", "cross", "mutate"]

#: Probability that a pair of parents crosses a gene: "we flip a coin".
CROSSOVER = 0.5
#: Probability that a child mutates ...
MUTATION = 0.3
#: ... and that a mutating child takes a random value for a gene.
GENE_MUTATION = 0.4

_NICHING = StrategySetting(
    name="niching",
    default="none",
    choices=("none", "crowding"),
    help="Crowding preserves diversity: a child competes with the more similar parent.",
)

#: Half of the population mates, in pairs.
_POPULATION_STEP = 4


class _Fitness(base.Fitness):  # type: ignore[misc] # deap has no annotations
    weights = (1.0,)  # one objective, to be maximised


class _Individual:
    """A member of the population, in the form that DEAP's operators expect."""

    def __init__(self, candidate: Candidate, fitness: float) -> None:
        self.candidate = candidate
        self.measured(fitness)

    def measured(self, fitness: float) -> None:
        """Set the fitness; a failed experiment has the lowest fitness."""
        self.fitness = _Fitness((-math.inf if math.isnan(fitness) else fitness,))


class Genetic(BaseStrategy):
    """Genetic algorithm in which the fitter half survives and mates.

    Parameters
    ----------
    space : Space
        The search space.
    budget : int
        Maximum number of chromosomes, at least `population`.
    population : int
        Size of the population, a multiple of 4.
    seed : int
        Seed of all random choices.
    initial, corners
        See :class:`~ccbench.raygen.BaseStrategy`.
    niching : str
        ``"none"``; or ``"crowding"``, which preserves diversity: the whole population mates, and a
        child replaces the more similar one of its parents if it is at least as fit (deterministic
        crowding: Mahfoud, "Niching methods for genetic algorithms", 1995).

    Raises
    ------
    InputError
        If `population`, `budget` or another parameter is out of range.

    Examples
    --------
    Find the highest bandwidth:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> search = Genetic(DEFAULT_SPACE, budget=300, population=60, seed=1)
    >>> while candidates := search.ask():
    ...     search.tell([candidate.chromosome[0] for candidate in candidates])
    >>> len(search.sizes), sum(search.sizes)
    (9, 300)
    """

    name = "genetic"
    summary = (
        "RayGen's own (section 5.4): the fitter half of the population, a multiple of 4, mates in "
        "pairs; genes are blended, and mutate"
    )
    settings = (
        *FIRST_GENERATION,
        _NICHING,
    )

    def __init__(  # noqa: PLR0913 - settings, all by keyword
        self,
        space: Space,
        *,
        budget: int,
        population: int,
        seed: int,
        initial: str = "random",
        corners: bool = False,
        niching: str = "none",
    ) -> None:
        at_least = validation.Range(_POPULATION_STEP)
        validation.whole("population", population, at_least, example=60)
        if population % _POPULATION_STEP:
            lower = population - population % _POPULATION_STEP
            allowed = f"a multiple of {_POPULATION_STEP}, as the fitter half mates in pairs"
            step = f"choose {lower} or {lower + _POPULATION_STEP}"
            raise validation.bad("population", population, allowed, step)
        check_budget(budget, population)
        self._crowding = _NICHING.checked("niching", niching) == "crowding"
        parents = population if self._crowding else population // 2
        # Section 5.4: a generation that would exceed the budget is not started.
        sizes = [population] + [parents] * ((budget - population) // parents)
        super().__init__(space, sizes, seed, initial=initial, corners=corners)
        self._toolbox: Any = base.Toolbox()
        # Only deterministic operators of DEAP: its others draw from Python's global generator.
        self._toolbox.register("select", tools.selBest, k=parents)
        self._toolbox.register("mate", cross, space, rng=self.rng)
        self._toolbox.register("mutate", mutate, space, rng=self.rng)
        self._parents: list[_Individual] = []
        self._population: list[_Individual] = []

    def propose(self, size: int) -> list[Proposal]:
        """Return the children of the population, or the first generation."""
        return self._children() if self._population else self.first(size)

    def learn(self, fitness: Mapping[Candidate, float]) -> None:
        """Add the latest generation to the population."""
        newborn = [_Individual(candidate, value) for candidate, value in fitness.items()]
        if self._crowding and self._parents:
            self._population = self._replaced(newborn)
        else:
            self._population = self._parents + newborn

    def revise(self, fitness: Mapping[Candidate, float]) -> None:
        """Update the fitness of the members of the population."""
        for individual in self._population:
            if individual.candidate in fitness:
                individual.measured(fitness[individual.candidate])

    @property
    def population(self) -> tuple[Candidate, ...]:
        """Current population: parents, then their children."""
        return tuple(individual.candidate for individual in self._population)

    def _children(self) -> list[Proposal]:
        """Return two children of each random pair of the fitter half, or with crowding of all."""
        self._parents = self._toolbox.select(self._population)
        parents = [individual.candidate for individual in self._parents]
        self.rng.shuffle(parents)
        children: list[Proposal] = []
        for first, second in zip(parents[::2], parents[1::2], strict=True):
            for child in self._toolbox.mate(first.chromosome, second.chromosome):
                mutates = self.rng.random() < MUTATION
                chromosome = self._toolbox.mutate(child) if mutates else child
                children.append((chromosome, (first.number, second.number)))
        return children

    def _replaced(self, children: Sequence[_Individual]) -> list[_Individual]:
        """Return the fitter of each child and its parent, paired by similarity."""
        by_number = {parent.candidate.number: parent for parent in self._parents}
        population = []
        for first, second in zip(children[::2], children[1::2], strict=True):
            first_parent, second_parent = (by_number[number] for number in first.candidate.parents)
            straight = self._distance(first_parent, first) + self._distance(second_parent, second)
            crossed = self._distance(first_parent, second) + self._distance(second_parent, first)
            if crossed < straight:
                first_parent, second_parent = second_parent, first_parent
            population += [
                max(pair, key=attrgetter("fitness"))
                for pair in ((first, first_parent), (second, second_parent))
            ]
        return population

    def _distance(self, first: _Individual, second: _Individual) -> float:
        return math.dist(
            self.space.coordinates(first.candidate.chromosome),
            self.space.coordinates(second.candidate.chromosome),
        )


def cross(
    space: Space, first: Chromosome, second: Chromosome, *, rng: random.Random
) -> tuple[Chromosome, Chromosome]:
    """Return two children by uniform crossover: each gene is blended or copied.

    A blended gene of the first child lies a random fraction of the way from the first parent to the
    second, that of the second child the same fraction from the second to the first.
    """
    first_child, second_child = list(first), list(second)
    for i, gene in enumerate(space.genes):
        if rng.random() < CROSSOVER:
            weight = rng.random()
            first_child[i] = gene.blend(first[i], second[i], weight)
            second_child[i] = gene.blend(second[i], first[i], weight)
    return tuple(first_child), tuple(second_child)


def mutate(space: Space, chromosome: Chromosome, *, rng: random.Random) -> Chromosome:
    """Return `chromosome` with each gene replaced by a random value with probability 40 %."""
    return tuple(
        gene.random(rng) if rng.random() < GENE_MUTATION else value
        for gene, value in zip(space.genes, chromosome, strict=True)
    )


STRATEGY = Genetic
