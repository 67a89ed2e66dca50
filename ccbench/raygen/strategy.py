# SPDX-License-Identifier: Apache-2.0
"""Search strategies: the protocol, and the base class of the strategies in this package.

A strategy does not run scenarios: :meth:`Strategy.ask` returns a generation, and
:meth:`Strategy.tell` takes its fitness in the same order. The proposals of a strategy depend only
on its seed and on the fitness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, cast, runtime_checkable

from ccbench.base import validation
from ccbench.base.random_streams import standard_stream
from ccbench.base.settings import StrategySetting

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from ccbench.raygen.space import Chromosome, Space

__all__ = [
    "FIRST_GENERATION",
    "BaseStrategy",
    "Candidate",
    "Proposal",
    "ScreeningStrategy",
    "Strategy",
    "batches",
    "check_budget",
    "check_own",
    "check_proposals",
    "first_share",
]

#: Options of strategies whose first generation need not be random.
FIRST_GENERATION = (
    StrategySetting(
        name="initial",
        default="random",
        choices=("random", "stratified"),
        help="First generation; stratified: a Latin hypercube, which covers each range evenly.",
    ),
    StrategySetting(
        name="corners",
        default=False,
        help="Whether up to half of the first generation are corners of the space.",
    ),
)

#: Allowed budgets and populations: larger ones would exhaust memory before the first run.
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
        Generation, from 1.
    chromosome : tuple
        Values of the genes.
    parents : tuple of int
        Numbers of the parent candidates, if any.
    """

    number: int
    generation: int
    chromosome: Chromosome
    parents: tuple[int, ...] = ()


@runtime_checkable
class Strategy(Protocol):
    """Protocol of objects that propose generations of scenarios.

    :func:`ccbench.raygen.search` accepts any object with these members;
    :class:`~ccbench.raygen.BaseStrategy` implements all but the choice of chromosomes.
    """

    @property
    def name(self) -> str:
        """One-line name including all options; a resumed search compares it."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of chromosomes of each generation."""

    def ask(self) -> Sequence[Candidate]:
        """Return the next generation, which is empty after the last one."""

    def tell(self, fitness: Sequence[float]) -> None:
        """Take the relative harm of the last generation in its order.

        NaN marks a failed experiment, which counts as the least harmful.
        """

    def revise(self, fitness: Mapping[Candidate, float]) -> None:
        """Take the updated relative harm of candidates of any generation."""


@runtime_checkable
class ScreeningStrategy(Strategy, Protocol):
    """Protocol of strategies whose scenarios first run for a part of the duration.

    After each generation, the search runs some scenarios at full length, and gives
    :meth:`Strategy.revise` their harm. Only these are run with further seeds, and claimed.
    """

    @property
    def first_share(self) -> float:
        """Length of the first runs as a share of the duration, above 0 and below 1."""

    def promoted(self, count: int) -> Sequence[Candidate]:
        """Return up to `count` candidates to run at full length, none of them twice."""


def first_share(strategy: Strategy) -> float:
    """Return the length of the first runs of a strategy's scenarios as a share of the duration."""
    return strategy.first_share if isinstance(strategy, ScreeningStrategy) else 1.0


class BaseStrategy(ABC):
    """Base class of strategies, which numbers candidates and draws the first generation.

    A derived class defines :meth:`propose`, and :meth:`learn` if it learns. The budget counts every
    proposed chromosome, including copies, which cost no run.

    Parameters
    ----------
    space : Space
        The search space.
    sizes : sequence of int
        Number of chromosomes of each generation.
    seed : int
        Seed of all random choices.
    initial : str
        Sampling of the first generation: ``"random"``, or ``"stratified"`` to cover the range of
        each gene evenly, see :meth:`Space.stratified`.
    corners : bool
        Whether up to half of the first generation are corners of the space, see
        :meth:`Space.corners`: a random selection if there are more.

    Attributes
    ----------
    name : str
        Name of the strategy; that of the module for strategies of this package.
    summary : str
        One-line description.
    settings : tuple of StrategySetting
        Options of the strategy, which its class takes as keyword arguments after ``space``,
        ``budget``, ``population`` and ``seed``.
    sizes : tuple of int
        Number of chromosomes of each generation.
    begins_at_random : bool
        Whether the first generation is a random sample of the space.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    settings: ClassVar[tuple[StrategySetting, ...]] = ()

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
        self.__initial = initial
        self.__corners = corners
        self.__first_rng = standard_stream(seed, "first generation")
        self.__pending: tuple[Candidate, ...] = ()
        self.__asked = 0
        self.__generation = 0

    def ask(self) -> tuple[Candidate, ...]:
        """Return the next generation, which is empty after the last one."""
        if self.__pending:
            step = "create a new object for each search"
            raise validation.bad("strategy", self.name, "used by one search only", step)
        if self.__generation == len(self.sizes):
            return ()
        proposals = self.propose(self.sizes[self.__generation])
        self.__generation += 1
        for proposal in cast("Sequence[object]", proposals):
            if not isinstance(proposal, tuple) or len(proposal) != 2:  # noqa: PLR2004 - a pair
                allowed = "a chromosome and the numbers of its parents"
                step = "return pairs from propose, such as (chromosome, ())"
                raise validation.bad("proposal", proposal, allowed, step)
        self.__pending = tuple(
            Candidate(
                number=number, generation=self.__generation, chromosome=chromosome, parents=parents
            )
            for number, (chromosome, parents) in enumerate(proposals, start=self.__asked)
        )
        self.__asked += len(proposals)
        return self.__pending

    def tell(self, fitness: Sequence[float]) -> None:
        """Take the fitness of the last generation; see :meth:`Strategy.tell`."""
        measured = dict(zip(self.__pending, fitness, strict=True))
        self.__pending = ()
        self.learn(measured)

    def revise(self, fitness: Mapping[Candidate, float]) -> None:
        """Take the updated fitness of earlier candidates; by default with :meth:`learn`."""
        self.learn(fitness)

    @abstractmethod
    def propose(self, size: int) -> Sequence[Proposal]:
        """Return `size` pairs: a chromosome and the numbers of its parents, if any."""

    def learn(self, fitness: Mapping[Candidate, float]) -> None:  # noqa: B027 - optional
        """Learn from the fitness of some candidates; NaN marks a failed experiment.

        Called after each generation, and again with new values of earlier candidates when further
        seeds have changed their means.
        """

    def first(self, size: int) -> list[Proposal]:
        """Return a generation that needs no fitness, such as the first one.

        Strategies with the same seed and the same sampling start with the same chromosomes, which
        makes them comparable and lets them share runs.
        """
        corners = self.space.corners() if self.__corners else []
        if len(corners) > size // 2:
            corners = self.__first_rng.sample(corners, size // 2)
        left = size - len(corners)
        if self.__initial == "stratified":
            inside = self.space.stratified(self.__first_rng, left)
        else:
            inside = self.random(left, self.__first_rng)
        return [(chromosome, ()) for chromosome in corners + inside]

    def random(self, size: int, rng: random.Random) -> list[Chromosome]:
        """Return random chromosomes."""
        return [self.space.random(rng) for _ in range(size)]


def check_budget(budget: int, population: int) -> None:
    """Check that a budget is large enough for the first generation.

    Raises
    ------
    InputError
        If either is not a whole number from 1 to a million, or `budget` is less than `population`.
    """
    validation.whole("population", population, _SIZES, example=60)
    validation.whole("budget", budget, _SIZES, example=300)
    if budget < population:
        allowed = f"at least the population, {population}"
        raise validation.bad("budget", budget, allowed, "raise it or choose a smaller population")


def check_own(strategy: object, settings: Iterable[str]) -> None:
    """Check that an object is a strategy, and that no setting conflicts with it.

    Raises
    ------
    InputError
        If a member is missing, the sizes are invalid, or a setting conflicts with the strategy.
    """
    if not isinstance(strategy, Strategy):
        members = "name, sizes, ask, tell and revise"
        step = "derive it from raygen.BaseStrategy, and pass an object of the class"
        raise validation.bad("strategy", strategy, f"an object with {members}", step)
    if not strategy.sizes or min(strategy.sizes) < 1:
        allowed = "the sizes of one or more generations"
        raise validation.bad("sizes of the strategy", strategy.sizes, allowed, "correct them")
    for name in {"budget", "population", "strategy_options"} & {*settings}:
        allowed = "left out with a strategy object"
        raise validation.bad("setting", name, allowed, "set the sizes of the strategy")


def check_proposals(
    candidates: Sequence[Candidate], space: Space, *, first: int, size: int
) -> None:
    """Check that a generation has its size, and candidates their order, parents and values.

    Parameters
    ----------
    candidates : sequence of Candidate
        The generation.
    space : Space
        The search space.
    first, size : int
        The number of the first candidate, and the number of candidates.

    Raises
    ------
    InputError
        If they do not.
    """
    for number, candidate in enumerate(candidates, start=first):
        if candidate.number != number:
            step = "correct the strategy, and create a new object for each search"
            raise validation.bad("number of a candidate", candidate.number, str(number), step)
        if any(parent not in range(first) for parent in candidate.parents):
            allowed = f"the numbers of earlier candidates, below {first}"
            step = "correct the strategy"
            raise validation.bad("parents of a candidate", candidate.parents, allowed, step)
        space.check(candidate.chromosome)
    if len(candidates) != size:
        step = "correct the strategy, and create a new object for each search"
        raise validation.bad("size of a generation", len(candidates), str(size), step)


def batches(total: int, *, first: int, then: int) -> list[int]:
    """Divide `total` into a first batch and equal further batches; the last one may be smaller.

    Examples
    --------
    >>> batches(100, first=60, then=30)
    [60, 30, 10]
    """
    whole, rest = divmod(max(total - first, 0), then)
    return [min(first, total), *[then] * whole, *([rest] if rest else [])]
