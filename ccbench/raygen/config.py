# SPDX-License-Identifier: Apache-2.0
"""Settings of a search."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from ccbench.base import dataclass_dicts, validation
from ccbench.base.checked_fields import document_form
from ccbench.base.errors import InputError
from ccbench.base.random_streams import derived_seed, repetition_seeds
from ccbench.base.settings import read_settings
from ccbench.experiment.noise import Noise
from ccbench.raygen import strategies
from ccbench.raygen.gene import Choice, shown
from ccbench.raygen.objective import HARM, Objective, objective_of
from ccbench.raygen.perturbations import is_of_perturbations, perturbations_of, words
from ccbench.raygen.quantities import quantity_words
from ccbench.raygen.selection import CLAIMED, again
from ccbench.raygen.space import Chromosome, Space
from ccbench.raygen.strategy import first_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ccbench.base.settings import Value
    from ccbench.emulate import Engine
    from ccbench.raygen.objective import Case
    from ccbench.raygen.strategy import BaseStrategy, Strategy

__all__ = ["SearchConfig"]

_DROPTAIL = "droptail"
#: Prefix of the names of users' strategies.
_OWN = "own:"
#: Minimum length of first runs that are shorter than the others, in seconds.
_LEAST_FIRST_S = 30.0

_SEED_COUNTS = validation.Range(1, 1000)
_SEEDS = validation.Range(0, 2**62)
#: Genes that do not change the solo run of the beta flows.
_OF_ALPHA = ("alpha_flows", "alpha_start_s")


def _read_space(_name: str, value: Any, _base_dir: Path) -> Space:
    with validation.within("space: "):
        return Space.from_dict(value)


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Settings of a search. Equal settings give equal results.

    Parameters
    ----------
    alpha, beta : str
        The new CCA and the CCA that it may harm, by their Linux names. With another objective than
        ``"harm"``: the CCA under test, and the reference, by default ``"cubic"``.
    budget : int
        Maximum number of scenarios, at least `population`. The genetic algorithm does not start a
        generation that would exceed it.
    population : int
        Size of the first generation.
    duration_s : float
        Length of each run in seconds; by default that of the objective: 180, or 20 for one flow.
    seed : int
        Seed of the search, from which the seeds of all runs are derived.
    space : Space
        The search space; by default that of the objective.
    strategy : str
        Name of a strategy of :mod:`ccbench.raygen.strategies`; or ``"own:"`` and the name of a
        strategy passed to :func:`~ccbench.raygen.search`.
    strategy_options : tuple of (str, value)
        Non-default options of the strategy, which ``ccbench raygen --help`` lists; also given as a
        mapping.
    repeat : int
        Initial number of seeds of each scenario, each with a solo and a competing run. The fitness
        is the mean relative harm. The most harmful scenarios are run with further seeds after each
        generation, see :mod:`ccbench.raygen.selection`.
    confirm : int
        Number of fresh seeds with which the most harmful scenarios are run before they are claimed.
    noise : tuple of (str, float)
        Non-typical levels of noise, by the names of the fields of
        :class:`~ccbench.experiment.noise.Noise`; also given as a mapping. All others have the level
        of :func:`ccbench.experiment.noise.typical` in each scenario's network.
    qdisc : str
        Queueing discipline of all bottlenecks, if no gene varies it.
    qdisc_options : tuple of (str, value)
        Non-default options of `qdisc`; also given as a mapping.
    ecn : bool or "accecn"
        ECN of both hosts, as in :class:`~ccbench.experiment.scenario.Scenario`.
    metric : str
        ``"harm"``, relative harm; or a key of :data:`ccbench.harm.METRICS`, harm by this metric.
    objective : str
        ``"harm"``; or ``"stall"``, ``"utilisation"`` or ``"delay"`` of one flow that has the path
        for itself, compared with the reference: see :mod:`ccbench.raygen.objective`.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> SearchConfig(alpha="bbr", beta="cubic", budget=130, strategy="genetic").planned
    120
    """

    alpha: str
    beta: str = ""
    budget: int = 120
    population: int = 40
    duration_s: float = None  # type: ignore[assignment] # that of the objective
    seed: int = 1
    space: Space = field(
        default=None,  # type: ignore[assignment] # that of the objective
        metadata=document_form(read=_read_space),
    )
    strategy: str = "halving"
    strategy_options: tuple[tuple[str, Value], ...] = ()
    repeat: int = 1
    confirm: int = 5
    noise: tuple[tuple[str, float], ...] = ()
    qdisc: str = _DROPTAIL
    qdisc_options: tuple[tuple[str, Value], ...] = ()
    ecn: bool | str = False
    metric: str = HARM
    objective: str = HARM

    def __post_init__(self) -> None:
        objective = self.maximised
        for name in ("space", "duration_s"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(objective, name))
        object.__setattr__(self, "beta", self.beta or objective.beta)
        if self.objective != HARM and self.alpha == self.beta:
            allowed = "another CCA than alpha, with which it is compared"
            raise validation.bad("beta", self.beta, allowed, 'write for example beta = "reno"')
        space: object = self.space
        if not isinstance(space, Space):
            raise validation.bad("space", self.space, "a Space", "read one with Space.load")
        validation.whole("seed", self.seed, _SEEDS, example=1)
        validation.whole("repeat", self.repeat, _SEED_COUNTS, example=3)
        validation.whole("confirm", self.confirm, _SEED_COUNTS, example=3)
        object.__setattr__(self, "noise", _noise_levels(self.noise))
        object.__setattr__(self, "qdisc_options", self._checked_qdisc_options())
        object.__setattr__(self, "strategy_options", self._changed_options())
        if not self._is_own:
            self.new_strategy()
        self.extremes()

    def _checked_qdisc_options(self) -> tuple[tuple[str, Value], ...]:
        """Return the options of the queueing discipline.

        Raises
        ------
        InputError
            If they are not options, or a gene varies the discipline.
        """
        step = "write for example {target_ms = 5}"
        options: Any = validation.pairs("qdisc_options", self.qdisc_options, step)
        is_varied = any(gene.name == "qdisc" for gene in self.space.genes)
        if is_varied and (options or self.qdisc != _DROPTAIL):
            allowed = "left out for a space with a gene qdisc"
            raise validation.bad("qdisc", self.qdisc, allowed, "remove one of the two")
        return tuple(options.items())

    @property
    def planned(self) -> int:
        """Number of scenarios that the strategy proposes within the budget."""
        return self.budget if self._is_own else sum(self.new_strategy().sizes)

    @property
    def begins_at_random(self) -> bool:
        """Whether the first generation is a random sample; False for users' strategies."""
        return not self._is_own and self.new_strategy().begins_at_random

    @property
    def first_share(self) -> float:
        """Length of the first runs of a scenario as a share of the duration.

        Examples
        --------
        >>> SearchConfig(alpha="bbr", beta="cubic", strategy="random").first_share
        1.0
        """
        return 1.0 if self._is_own else self.first_share_of(self.new_strategy())

    def first_share_of(self, strategy: Strategy) -> float:
        """Return the share of the duration for which a strategy's first runs last.

        They last for half a minute or more, as shorter runs say little about long ones. All runs
        have full length if that is not longer, or if short runs would end before an event of a
        network, such as a late start.

        Examples
        --------
        >>> config = SearchConfig(alpha="bbr", beta="cubic", duration_s=60)
        >>> config.first_share_of(config.new_strategy())
        0.5
        """
        share = first_share(strategy)
        if share == 1 or self.duration_s <= _LEAST_FIRST_S:
            return 1.0
        share = max(share, _LEAST_FIRST_S / self.duration_s)
        try:
            self.extremes(share=share)
        except InputError:
            return 1.0
        return share

    def most_runs(self, strategy: Strategy | None = None) -> int:
        """Return the maximum number of runs: two per seed of each scenario and of each claim.

        Scenarios can share runs. A scenario that runs at full length after short runs counts twice.

        Parameters
        ----------
        strategy : Strategy, optional
            By default :meth:`new_strategy`.
        """
        return sum(self.most_pairs(strategy).values()) * 2

    def most_pairs(self, strategy: Strategy | None = None) -> dict[float, int]:
        """Return the maximum number of solo and competing runs by their share of the duration."""
        strategy = strategy or self.new_strategy()
        sizes, share = strategy.sizes, self.first_share_of(strategy)
        long = sizes if share == 1 else tuple(map(again, sizes))
        claims = min(CLAIMED, sum(long)) * self.confirm
        pairs = {1.0: sum(long) * self.repeat + sum(map(again, long)) + claims}
        return pairs if share == 1 else {share: sum(sizes) * self.repeat, **pairs}

    def seeds(self, chromosome: Chromosome, count: int | None = None) -> tuple[int, ...]:
        """Return the seeds with which the search runs a scenario.

        Each network has its own seeds, so that the search does not optimise for one draw of the
        noise. Scenarios that differ only in the number and start of the alpha flows share their
        seeds, and therefore the solo runs of the beta flows.

        Parameters
        ----------
        chromosome : tuple
            Values of the genes, in the order of the space.
        count : int, optional
            Number of seeds; by default `repeat`. A larger number appends seeds.
        """
        values = self.space.values(chromosome).items()
        network = {
            name: value if isinstance(value, str) else float(value)  # as read from a table
            for name, value in values
            if name not in _OF_ALPHA and not name.startswith("flows.0.")
        }
        first = derived_seed(self.seed, "search", json.dumps(network, sort_keys=True))
        return repetition_seeds(first, self.repeat if count is None else count)

    def fresh_seeds(self, number: int) -> tuple[int, ...]:
        """Return the fresh seeds of the claim of the scenario with this number.

        They are independent of all seeds of the search and of other claims.
        """
        return repetition_seeds(derived_seed(self.seed, "claim", number), self.confirm)

    def new_strategy(self) -> BaseStrategy:
        """Return a new strategy with these settings.

        Raises
        ------
        InputError
            If it is a user's strategy.
        """
        if self._is_own:
            step = "pass the object itself, search(..., strategy=...)"
            raise validation.bad("strategy", self.strategy, "a strategy of ccbench here", step)
        make: Callable[..., BaseStrategy] = strategies.get(self.strategy)
        common = {"budget": self.budget, "population": self.population, "seed": self.seed}
        return make(self.space, **common, **self._options())

    def with_own(self, strategy: Strategy) -> SearchConfig:
        """Return the settings of a search with a user's strategy."""
        return replace(
            self,
            strategy=f"{_OWN}{validation.one_line('name of the strategy', strategy.name)}",
            strategy_options=(),
            budget=sum(strategy.sizes),
            population=strategy.sizes[0],
        )

    @property
    def _is_own(self) -> bool:
        return self.strategy.startswith(_OWN)

    def _options(self) -> dict[str, Value]:
        """Return all options of the strategy."""
        options = () if self._is_own else strategies.get(self.strategy).settings
        return read_settings("strategy_options", self.strategy_options, options)

    def _changed_options(self) -> tuple[tuple[str, Value], ...]:
        """Return the non-default options of the strategy.

        Raises
        ------
        InputError
            If the strategy or one of the options does not exist.
        """
        strategy: object = self.strategy
        if not isinstance(strategy, str):
            step = "pass an object to search(..., strategy=...)"
            raise validation.bad("strategy", strategy, "the name of a strategy", step)
        if self._is_own:
            return ()
        given = validation.pairs(
            "strategy_options", self.strategy_options, "write for example {corners = true}"
        )
        options = strategies.get(self.strategy).settings
        defaults = {option.name: option.default for option in options}
        for name in given.keys() - defaults.keys():
            owners = [
                other
                for other in strategies.names()
                if any(option.name == name for option in strategies.get(other).settings)
            ]
            if owners:
                allowed = f"left out for strategy {self.strategy!r}"
                step = f"choose strategy {' or '.join(owners)}"
                raise validation.bad(f"strategy_options.{name}", given[name], allowed, step)
        return tuple((n, value) for n, value in self._options().items() if value != defaults[n])

    def experiment(
        self, chromosome: Chromosome, seed: int | None = None, *, share: float = 1.0
    ) -> Case:
        """Return the experiment of a chromosome: its two scenarios.

        Parameters
        ----------
        chromosome : tuple
            Values of the genes, in the order of the space.
        seed : int, optional
            Seed of both runs; by default the first of :meth:`seeds`.
        share : float
            Length of the runs as a share of `duration_s`, rounded up to whole seconds.
        """
        values = self.space.values(chromosome)
        trace = values.get("trace")
        return self.maximised.case(
            values,
            alpha=self.alpha,
            beta=self.beta,
            duration_s=self.duration_s if share == 1 else math.ceil(self.duration_s * share),
            seed=self.seeds(chromosome)[0] if seed is None else seed,
            noise=self.noise,
            trace=None if trace is None else self.space.trace(str(trace)),
            qdisc=self.qdisc,
            qdisc_options=self.qdisc_options,
            ecn=self.ecn,
            fixed=self.space.path,
        )

    @property
    def maximised(self) -> Objective:
        """The objective.

        Raises
        ------
        InputError
            If there is no such objective.
        """
        return objective_of(self.objective, self.metric)

    @property
    def harm_words(self) -> str:
        """Name of the objective.

        Examples
        --------
        >>> SearchConfig(alpha="bbr", beta="cubic", metric="loss_rate").harm_words
        'harm by loss rate'
        """
        return self.maximised.words(self.beta)

    @property
    def noise_words(self) -> str:
        """Description of the noise of all scenarios.

        Examples
        --------
        >>> SearchConfig(alpha="bbr", beta="cubic", noise={"background_share": 0.01}).noise_words
        'typical of each network, but background_share = 0.01'
        """
        levels = dict(self.noise)
        if len(levels) == len(fields(Noise)):
            return Noise(**levels).describe()
        changes = ", ".join(f"{name} = {level:g}" for name, level in levels.items())
        return "typical of each network" + (f", but {changes}" if changes else "")

    @property
    def queue_words(self) -> str:
        """Description of the queueing discipline and the ECN of all scenarios.

        Examples
        --------
        >>> options = {"qdisc": "dualpi2", "qdisc_options": {"step_ms": 2}, "ecn": "accecn"}
        >>> SearchConfig(alpha="prague", beta="cubic", **options).queue_words
        'dualpi2, step_ms = 2, accurate ECN'
        """
        is_varied = any(gene.name == "qdisc" for gene in self.space.genes)
        queue = "queueing disciplines of the space" if is_varied else self.qdisc
        options = (f"{name} = {value}" for name, value in self.qdisc_options)
        ecn = "accurate ECN" if self.ecn == "accecn" else "ECN" if self.ecn else "no ECN"
        return ", ".join((queue, *options, ecn))

    def describe(self, chromosome: Chromosome) -> str:
        """Return a one-line description of a scenario by the values of its genes.

        Examples
        --------
        >>> config = SearchConfig(alpha="bbr", beta="cubic")
        >>> config.describe((36.3, 188.6, 2.46, 1, 2))
        '1 bbr against 2 cubic, link 36.3 Mbit/s, RTT 188.6 ms, queue 2.46 BDP'
        """
        values = self.space.values(chromosome)
        alpha, beta = (
            f"{values.get(f'{who}_flows', 1)} {getattr(self, who)}" for who in ("alpha", "beta")
        )
        about = [f"{alpha} against {beta}"]
        if self.objective != HARM:
            about = [f"{self.alpha} alone", words(perturbations_of(values))]
        network = (
            f"{quantity_words(gene.name, self.alpha, self.beta)} "
            f"{shown(values[gene.name])} {gene.unit}".rstrip()
            for gene in self.space.genes
            if gene.name not in ("alpha_flows", "beta_flows") and not is_of_perturbations(gene.name)
        )
        return ", ".join((*about, *network))

    def extremes(self, share: float = 1.0) -> tuple[Case, ...]:
        """Return experiments whose validity implies that of the whole space.

        They have all numbers at one end of their ranges, and each value of each choice once. Only
        the starts of alpha and beta depend on each other, as a run ends with short beta flows; so
        alpha's latest start is also combined with beta's earliest.
        """
        genes = self.space.genes
        choices = [gene.values if isinstance(gene, Choice) else () for gene in genes]
        experiments = []
        lowest = tuple(gene.at(0.0) for gene in genes)
        highest = tuple(gene.at(1.0) for gene in genes)
        late = tuple(gene.at(float(gene.name == "alpha_start_s")) for gene in genes)
        for ends in dict.fromkeys((lowest, highest, late)):
            experiments.append(self.experiment(ends, share=share))
            for i, values in enumerate(choices):
                experiments += [
                    self.experiment((*ends[:i], v, *ends[i + 1 :]), share=share) for v in values
                ]
        return tuple(experiments)

    def check(self, engine: Engine) -> None:
        """Check that an engine can run the whole space.

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
        for name in ("metric", "objective"):
            if values[name] == HARM:  # as in documents of earlier versions
                del values[name]
        return {
            **values,
            "strategy_options": self._options(),
            "space": self.space.to_dict(),
            "noise": dict(self.noise),
            "qdisc_options": dict(self.qdisc_options),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SearchConfig:
        """Create settings from a dictionary of :meth:`to_dict`.

        Raises
        ------
        InputError
            If the dictionary is invalid.

        Examples
        --------
        >>> config = SearchConfig(alpha="bbr", beta="cubic")
        >>> SearchConfig.from_dict(config.to_dict()) == config
        True
        """
        return dataclass_dicts.build(cls, document)


def _noise_levels(levels: object) -> tuple[tuple[str, float], ...]:
    """Return levels of noise as unique pairs in the order of the fields.

    Raises
    ------
    InputError
        If a name is not a field of Noise, or a level is out of range.
    """
    given = validation.pairs("noise", levels, "write for example {reverse_jitter_ms = 0.1}")
    with validation.within("noise."):
        noise = Noise.from_dict({str(name): level for name, level in given.items()})
    return tuple((f.name, getattr(noise, f.name)) for f in fields(noise) if f.name in given)
