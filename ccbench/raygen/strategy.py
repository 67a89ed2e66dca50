# SPDX-License-Identifier: Apache-2.0
"""What every search strategy has in common: it proposes scenarios and learns how harmful they are.

A strategy is kept apart from running scenarios: :meth:`Strategy.ask` returns a generation,
:meth:`Strategy.tell` takes its fitness, in the same order. All randomness comes from streams of its
own, so what it proposes depends on the seed and on the fitness, and on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from ccbench.base import validation
from ccbench.base.random_streams import standard_stream

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from ccbench.raygen.space import Chromosome, Space

__all__ = ["Candidate", "Initial", "Proposal", "Strategy", "batches", "check"]

#: How a first generation is drawn.
Initial: TypeAlias = Literal["random", "stratified"]

#: Budgets and populations: more would fill the memory before anything has run.
_SIZES = validation.Range(1, 1_000_000)

#: A chromosome and the numbers of its parents.
Proposal: TypeAlias = "tuple[Chromosome, tuple[int, ...]]"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A chromosome that was proposed.

    Attributes
    ----------
    number : int
        Position in the order of proposal, from 0.
    generation : int
        From 1.
    chromosome : tuple
        Its values.
    parents : tuple of int
        Numbers of the candidates it comes from; empty if it comes from none.
    """

    number: int
    generation: int
    chromosome: Chromosome
    parents: tuple[int, ...] = ()


class Strategy(ABC):
    """Proposes generation after generation, and keeps count.

    The budget counts every chromosome that is proposed, also one that equals an earlier one: the
    copy costs no run, as the store has it.

    Parameters
    ----------
    space : Space
        Where to search.
    sizes : sequence of int
        How many chromosomes each generation proposes.
    seed : int
        Of all random choices.
    initial : str
        How the first generation is drawn: ``"random"``, or ``"stratified"`` so that no part of any
        gene's range is left out, see :meth:`Space.stratified`.
    corners : bool
        Whether up to half of the first generation are corners of the space instead, see
        :meth:`Space.corners`: a random half if there are more.

    Attributes
    ----------
    sizes : tuple of int
        How many chromosomes each generation proposes.
    """

    def __init__(
        self,
        space: Space,
        sizes: Sequence[int],
        seed: int,
        *,
        initial: Initial = "random",
        corners: bool = False,
    ) -> None:
        validation.one_of("initial", initial, get_args(Initial))
        self.sizes = tuple(sizes)
        self._space = space
        self._initial = initial
        self._corners = validation.flag("corners", corners)
        self._first_rng = standard_stream(seed, "first generation")
        self._rng = standard_stream(seed, "proposals", type(self).__name__)
        self._pending: tuple[Candidate, ...] = ()
        self._asked = 0
        self._generation = 0

    @property
    def generations(self) -> int:
        """How many generations there will be."""
        return len(self.sizes)

    @property
    def planned(self) -> int:
        """How many chromosomes they propose in all."""
        return sum(self.sizes)

    def ask(self) -> tuple[Candidate, ...]:
        """Return the next generation's new chromosomes; none if the budget is used up."""
        if self._pending:
            raise RuntimeError("ask() was called before tell() for the generation before")
        if self._generation == self.generations:
            return ()
        proposals = self._propose(self.sizes[self._generation])
        self._generation += 1
        self._pending = tuple(
            Candidate(
                number=number, generation=self._generation, chromosome=chromosome, parents=parents
            )
            for number, (chromosome, parents) in enumerate(proposals, start=self._asked)
        )
        self._asked += len(proposals)
        return self._pending

    def tell(self, fitness: Sequence[float]) -> None:
        """Take the fitness of the chromosomes that :meth:`ask` returned, in their order.

        NaN stands for an experiment that failed: no other counts as less harmful.
        """
        measured = list(zip(self._pending, fitness, strict=True))
        self._pending = ()
        self._learn(measured)

    @abstractmethod
    def revise(self, fitness: Mapping[Candidate, float]) -> None:
        """Take the fitness of candidates of all generations that were measured again.

        As in :meth:`tell`, NaN stands for an experiment that failed.
        """

    @abstractmethod
    def _propose(self, size: int) -> Sequence[Proposal]:
        """Return `size` chromosomes, from what was learned until now."""

    @abstractmethod
    def _learn(self, measured: Sequence[tuple[Candidate, float]]) -> None:
        """Take in what the latest generation showed."""

    def _first(self, size: int) -> list[Proposal]:
        """Return a generation that nothing was learned for, as the first one.

        Strategies that begin in the same way begin with the same chromosomes if their seed is the
        same. So they can be compared by what they make of them, and need not run them again.
        """
        corners = self._space.corners() if self._corners else []
        if len(corners) > size // 2:
            corners = self._first_rng.sample(corners, size // 2)
        left = size - len(corners)
        if self._initial == "stratified":
            inside = self._space.stratified(self._first_rng, left)
        else:
            inside = self._random(left, self._first_rng)
        return [(chromosome, ()) for chromosome in corners + inside]

    def _random(self, size: int, rng: random.Random) -> list[Chromosome]:
        """Return random chromosomes."""
        return [self._space.random(rng) for _ in range(size)]


def check(budget: int, population: int) -> None:
    """Refuse a budget that does not even pay the first generation.

    Raises
    ------
    InputError
        If either is not a whole number from 1 to a million, or `budget` is less than `population`.
    """
    validation.whole("population", population, _SIZES, example=60)
    validation.whole("budget", budget, _SIZES, example=300)
    if budget < population:
        allowed = f"at least the population, {population}"
        raise validation.bad("budget", budget, allowed, "raise it or take a smaller population")


def batches(total: int, *, first: int, then: int) -> list[int]:
    """Divide `total` into a first batch and equal ones behind it, of which the last is cut.

    Examples
    --------
    >>> batches(100, first=60, then=30)
    [60, 30, 10]
    """
    whole, cut = divmod(max(total - first, 0), then)
    return [min(first, total), *[then] * whole, *([cut] if cut else [])]
