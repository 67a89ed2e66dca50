# SPDX-License-Identifier: Apache-2.0
"""Search strategies: the protocol of all of them, and the base of those in this package.

A strategy is kept apart from running scenarios: :meth:`Strategy.ask` returns a generation,
:meth:`Strategy.tell` takes its fitness, in the same order. The proposals of a strategy depend on
its seed and on the fitness, and on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

from ccbench.base import validation
from ccbench.base.random_streams import standard_stream
from ccbench.base.settings import Setting

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from ccbench.raygen.space import Chromosome, Space

__all__ = [
    "FIRST_GENERATION",
    "BaseStrategy",
    "Candidate",
    "Proposal",
    "Strategy",
    "batches",
    "check",
    "check_own",
    "check_proposals",
]

#: Settings of the strategies whose first generation may be other than random.
FIRST_GENERATION = (
    Setting(
        name="initial",
        default="random",
        choices=("random", "stratified"),
        help="First generation; stratified: a Latin hypercube, with each part of each range.",
    ),
    Setting(
        name="corners",
        default=False,
        help="Whether up to half of the first generation are corners of the space.",
    ),
)

#: Budgets and populations: more would fill the memory before anything has run.
_SIZES = validation.Range(1, 1_000_000)

#: A chromosome and the numbers of its parents.
Proposal: TypeAlias = "tuple[Chromosome, tuple[int, ...]]"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A proposed chromosome.

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


@runtime_checkable
class Strategy(Protocol):
    """Anything that proposes scenarios, generation after generation.

    :func:`ccbench.raygen.search` takes any object with these members;
    :class:`~ccbench.raygen.BaseStrategy` has all but the choice of the chromosomes.
    """

    @property
    def name(self) -> str:
        """Name in one line; with the settings, if it has any: a resumed search compares it."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of chromosomes of each generation."""

    def ask(self) -> Sequence[Candidate]:
        """Return the next generation; an empty one after the last."""

    def tell(self, fitness: Sequence[float]) -> None:
        """Take the relative harm of the last generation, in its order.

        NaN stands for an experiment that failed: no other counts as less harmful.
        """

    def revise(self, fitness: Mapping[Candidate, float]) -> None:
        """Take the relative harm of candidates of any generation that were measured again."""


class BaseStrategy(ABC):
    """Base of strategies: it numbers the candidates and has the first generation.

    A derived class defines :meth:`propose`, and :meth:`learn` if it learns. The budget counts every
    proposed chromosome, also one that equals an earlier one: the copy costs no run, as the store
    has it.

    Parameters
    ----------
    space : Space
        Where to search.
    sizes : sequence of int
        Number of chromosomes of each generation.
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
    name : str
        Its name; that of a strategy of this package is its module's.
    summary : str
        One line for people.
    settings : tuple of Setting
        Its own settings, which its class takes as keyword arguments after ``space``, ``budget``,
        ``population`` and ``seed``.
    sizes : tuple of int
        Number of chromosomes of each generation.
    begins_at_random : bool
        Whether the first generation is a random sample of the space.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    settings: ClassVar[tuple[Setting, ...]] = ()

    def __init__(
        self,
        space: Space,
        sizes: Sequence[int],
        seed: int,
        *,
        initial: str = "random",
        corners: bool = False,
    ) -> None:
        for setting, value in zip(FIRST_GENERATION, (initial, corners), strict=True):
            setting.checked(setting.name, value)
        self.sizes = tuple(sizes)
        self.space = space
        self.rng = standard_stream(seed, "proposals", type(self).__name__)
        self.begins_at_random = initial == "random" and not corners
        self._initial = initial
        self._corners = corners
        self._first_rng = standard_stream(seed, "first generation")
        self._pending: tuple[Candidate, ...] = ()
        self._asked = 0
        self._generation = 0

    def ask(self) -> tuple[Candidate, ...]:
        """Return the next generation's new chromosomes; none if the budget is used up."""
        if self._pending:
            raise RuntimeError("ask() was called before tell() for the generation before")
        if self._generation == len(self.sizes):
            return ()
        proposals = self.propose(self.sizes[self._generation])
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
        """Take the fitness of the last generation, see :meth:`Strategy.tell`."""
        measured = dict(zip(self._pending, fitness, strict=True))
        self._pending = ()
        self.learn(measured)

    def revise(self, fitness: Mapping[Candidate, float]) -> None:
        """Take a new fitness of earlier candidates: :meth:`learn`, unless it is overridden."""
        self.learn(fitness)

    @abstractmethod
    def propose(self, size: int) -> Sequence[Proposal]:
        """Return `size` chromosomes, each with the numbers of its parents."""

    def learn(self, fitness: Mapping[Candidate, float]) -> None:  # noqa: B027 - some do not learn
        """Learn from the fitness of some candidates; NaN if the experiment failed."""

    def first(self, size: int) -> list[Proposal]:
        """Return a generation for which nothing was learned, such as the first one.

        Strategies that begin in the same way begin with the same chromosomes if their seed is the
        same. So they can be compared by what they make of them, and need not run them again.
        """
        corners = self.space.corners() if self._corners else []
        if len(corners) > size // 2:
            corners = self._first_rng.sample(corners, size // 2)
        left = size - len(corners)
        if self._initial == "stratified":
            inside = self.space.stratified(self._first_rng, left)
        else:
            inside = self.random(left, self._first_rng)
        return [(chromosome, ()) for chromosome in corners + inside]

    def random(self, size: int, rng: random.Random) -> list[Chromosome]:
        """Return random chromosomes."""
        return [self.space.random(rng) for _ in range(size)]


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


def check_own(strategy: object, settings: Iterable[str]) -> None:
    """Refuse an object that is no strategy, and settings that a strategy of one's own replaces.

    Raises
    ------
    InputError
        In these cases.
    """
    if not isinstance(strategy, Strategy):
        members = "name, sizes, ask, tell and revise"
        step = "derive it from raygen.BaseStrategy, and pass an object of the class"
        raise validation.bad("strategy", strategy, f"an object with {members}", step)
    if not strategy.sizes or min(strategy.sizes) < 1:
        allowed = "the sizes of one or more generations"
        raise validation.bad("sizes of the strategy", strategy.sizes, allowed, "correct them")
    for name in {"budget", "population", "strategy_options"} & {*settings}:
        allowed = "left out beside a strategy of your own"
        raise validation.bad("setting", name, allowed, "its sizes are the budget")


def check_proposals(candidates: Sequence[Candidate], space: Space, *, first: int) -> None:
    """Refuse candidates that are not numbered in order or lie outside the space.

    Raises
    ------
    InputError
        In these cases.
    """
    for number, candidate in enumerate(candidates, start=first):
        if candidate.number != number:
            step = "correct the strategy"
            raise validation.bad("number of a candidate", candidate.number, str(number), step)
        space.check(candidate.chromosome)


def batches(total: int, *, first: int, then: int) -> list[int]:
    """Divide `total` into a first batch and equal ones behind it, of which the last is cut.

    Examples
    --------
    >>> batches(100, first=60, then=30)
    [60, 30, 10]
    """
    whole, cut = divmod(max(total - first, 0), then)
    return [min(first, total), *[then] * whole, *([cut] if cut else [])]
