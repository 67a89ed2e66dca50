# SPDX-License-Identifier: Apache-2.0
"""The settings of a search."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from ccbench import _fields, _validate
from ccbench.raygen.experiments import experiment
from ccbench.raygen.gene import Choice
from ccbench.raygen.genetic import Genetic, Niching
from ccbench.raygen.random_search import RandomSearch
from ccbench.raygen.space import DEFAULT_SPACE, Chromosome, Space
from ccbench.raygen.surrogate import Surrogate
from ccbench.raygen.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ccbench.emulate import Engine
    from ccbench.harm import Experiment
    from ccbench.raygen.strategy import Initial, Strategy

__all__ = ["CLAIMED", "STRATEGIES", "SearchConfig"]

#: So many of the most harmful scenarios are run again and claimed.
CLAIMED = 5

#: What can choose scenarios, and which settings it has besides those that all have.
STRATEGIES: Mapping[str, tuple[Callable[..., Strategy], tuple[str, ...]]] = MappingProxyType(
    {
        "genetic": (Genetic, ("initial", "corners", "niching")),
        "random": (RandomSearch, ()),
        "sweep": (Sweep, ()),
        "surrogate": (Surrogate, ("initial", "corners")),
    }
)
_MOST_SEEDS = _validate.Range(1, 1000)
#: Leaves room for those of repetitions, which count up from it.
_SEEDS = _validate.Range(0, 2**62)


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """What to search for, and where. Equal settings give equal results.

    Parameters
    ----------
    alpha, beta : str
        The new CCA and the one that it may harm, by their Linux names.
    budget : int
        Most scenarios to try, at least `population`. The genetic algorithm begins no generation
        that would exceed it.
    population : int
        Size of the first generation; for the genetic algorithm a multiple of 4.
    duration_s : float
        Length of each run in seconds.
    seed : int
        Of the search and of every run.
    space : Space
        Where to search.
    strategy : str
        What chooses the scenarios: ``"genetic"``, ``"random"``, ``"sweep"`` or ``"surrogate"``, see
        :class:`~ccbench.raygen.Genetic`, :class:`~ccbench.raygen.RandomSearch`,
        :class:`~ccbench.raygen.Sweep` and :class:`~ccbench.raygen.Surrogate`.
    initial : str
        How the genetic algorithm and the surrogate draw their first generation: ``"random"`` or
        ``"stratified"``.
    corners : bool
        Whether up to half of that are corners of the space.
    niching : str
        ``"crowding"`` lets the genetic algorithm keep apart what is unlike each other; ``"none"``.
    repeat : int
        With so many seeds each scenario is run; its fitness is the mean relative harm. A repetition
        is a solo run and a competing run.
    confirm : int
        With so many fresh seeds the most harmful scenarios are run again before they are claimed.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> SearchConfig(alpha="bbr", beta="cubic", budget=320).planned
    300
    """

    alpha: str
    beta: str
    budget: int = 300
    population: int = 60
    duration_s: float = 180.0
    seed: int = 1
    space: Space = DEFAULT_SPACE
    strategy: Literal["genetic", "random", "sweep", "surrogate"] = "genetic"
    initial: Initial = "random"
    corners: bool = False
    niching: Niching = "none"
    repeat: int = 1
    confirm: int = 3

    def __post_init__(self) -> None:
        space: object = self.space
        if not isinstance(space, Space):
            raise _validate.bad("space", self.space, "a Space", "read one with Space.load")
        if str(self.strategy) not in STRATEGIES:
            allowed = f"one of {', '.join(STRATEGIES)}"
            step = _validate.choice_hint(str(self.strategy), STRATEGIES)
            raise _validate.bad("strategy", self.strategy, allowed, step)
        _validate.whole("seed", self.seed, _SEEDS, example=1)
        _validate.whole("repeat", self.repeat, _MOST_SEEDS, example=3)
        _validate.whole("confirm", self.confirm, _MOST_SEEDS, example=3)
        self.new_strategy()
        self.extremes()

    @property
    def planned(self) -> int:
        """Number of scenarios that the strategy makes of the budget."""
        return self.new_strategy().planned

    @property
    def most_runs(self) -> int:
        """The most runs that it takes: two for each scenario and seed, and for those claimed.

        Scenarios that are alike in some way share runs.
        """
        planned = self.planned
        return 2 * (planned * self.repeat + min(CLAIMED, planned) * self.confirm)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds with which each scenario is run."""
        return tuple(range(self.seed, self.seed + self.repeat))

    @property
    def fresh_seeds(self) -> tuple[int, ...]:
        """The seeds with which the most harmful scenarios are run again: none of :attr:`seeds`."""
        first = self.seed + self.repeat
        return tuple(range(first, first + self.confirm))

    def new_strategy(self) -> Strategy:
        """Return the strategy with these settings, at its beginning."""
        make, own = STRATEGIES[self.strategy]
        defaults = {field.name: field.default for field in fields(self)}
        for name in ("initial", "corners", "niching"):
            value = getattr(self, name)
            if name not in own and value != defaults[name]:
                having = " or ".join(s for s, (_, others) in STRATEGIES.items() if name in others)
                allowed = f"left out for strategy {self.strategy!r}"
                raise _validate.bad(name, value, allowed, f"take strategy {having} for it")
        return make(
            self.space,
            budget=self.budget,
            population=self.population,
            seed=self.seed,
            **{name: getattr(self, name) for name in own},
        )

    def experiment(self, chromosome: Chromosome, seed: int | None = None) -> Experiment:
        """Return the experiment that a chromosome of the space stands for.

        Parameters
        ----------
        chromosome : tuple
            Values of the genes, in the order of the space.
        seed : int, optional
            Of both runs; left out, the search's.
        """
        values = self.space.values(chromosome)
        trace = values.get("trace")
        return experiment(
            values,
            alpha=self.alpha,
            beta=self.beta,
            duration_s=self.duration_s,
            seed=self.seed if seed is None else seed,
            trace=None if trace is None else self.space.trace(str(trace)),
        )

    def extremes(self) -> tuple[Experiment, ...]:
        """Return experiments such that, if all of them are valid, so is all of the space.

        They have all numbers at one end of their ranges, and every value of every choice once. Only
        the starts of alpha and beta depend on each other, where a run ends with a short beta: so
        there is also alpha's latest beside beta's earliest.
        """
        genes = self.space.genes
        choices = [gene.values if isinstance(gene, Choice) else () for gene in genes]
        found = []
        lowest = tuple(gene.at(0.0) for gene in genes)
        highest = tuple(gene.at(1.0) for gene in genes)
        late = tuple(gene.at(float(gene.name == "alpha_start_s")) for gene in genes)
        for ends in dict.fromkeys((lowest, highest, late)):
            found.append(self.experiment(ends))
            for i, values in enumerate(choices):
                found += [self.experiment((*ends[:i], v, *ends[i + 1 :])) for v in values]
        return tuple(found)

    def check(self, engine: Engine) -> None:
        """Make sure that an engine can run all of the space.

        Raises
        ------
        InputError
            If it cannot.
        """
        for extreme in self.extremes():
            engine.check(extreme.competing)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary of plain values (JSON-able)."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "space": self.space.to_dict()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SearchConfig:
        """Make settings from a dictionary such as :meth:`to_dict` returns.

        Raises
        ------
        InputError
            If they are none.

        Examples
        --------
        >>> config = SearchConfig(alpha="bbr", beta="cubic")
        >>> SearchConfig.from_dict(config.to_dict()) == config
        True
        """

        def space(value: Any) -> Space:
            with _validate.within("space: "):
                return Space.from_dict(value)

        return _fields.build(cls, document, {"space": space})
