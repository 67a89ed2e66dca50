# SPDX-License-Identifier: Apache-2.0
"""The settings of a search."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ccbench import _validate
from ccbench.harm import Experiment, long_flows
from ccbench.raygen.genetic import Genetic
from ccbench.raygen.random_search import RandomSearch
from ccbench.raygen.space import DEFAULT_SPACE, Chromosome, Space
from ccbench.raygen.surrogate import Surrogate
from ccbench.raygen.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ccbench.raygen.strategy import Strategy

__all__ = ["SearchConfig"]

_STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "genetic": Genetic,
    "random": RandomSearch,
    "sweep": Sweep,
    "surrogate": Surrogate,
}


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """What to search for, and where. Equal settings give equal results.

    Parameters
    ----------
    alpha, beta : str
        The new CCA and the one that it may harm, by their Linux names.
    budget : int
        Most experiments, at least `population`. An experiment is one chromosome: a solo run and a
        competing run. The genetic algorithm begins no generation that would exceed it.
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

    def __post_init__(self) -> None:
        if self.strategy not in _STRATEGIES:
            allowed = f"one of {', '.join(_STRATEGIES)}"
            step = _validate.choice_hint(str(self.strategy), _STRATEGIES)
            raise _validate.bad("strategy", self.strategy, allowed, step)
        self.new_strategy()
        # If the corners of the space are valid experiments, so is everything between them.
        self.corner("low")
        self.corner("high")

    @property
    def planned(self) -> int:
        """Number of experiments that the strategy makes of the budget."""
        return self.new_strategy().planned

    def new_strategy(self) -> Strategy:
        """Return the strategy with these settings, at its beginning."""
        return _STRATEGIES[self.strategy](
            self.space, budget=self.budget, population=self.population, seed=self.seed
        )

    def experiment(self, chromosome: Chromosome) -> Experiment:
        """Return the experiment that a chromosome of the space stands for."""
        values: Mapping[str, Any] = self.space.values(chromosome)
        return long_flows(
            alpha=self.alpha,
            beta=self.beta,
            duration_s=self.duration_s,
            seed=self.seed,
            **values,
        )

    def corner(self, end: Literal["low", "high"]) -> Experiment:
        """Return the experiment whose genes are all at that end of their range."""
        return self.experiment(tuple(getattr(gene, end) for gene in self.space.genes))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary of plain values (JSON-able)."""
        values = asdict(self)
        values["space"] = [asdict(gene) for gene in self.space.genes]
        return values
