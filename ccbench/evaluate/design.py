# SPDX-License-Identifier: Apache-2.0
"""Designs of evaluations: which criteria are run, with which congestion controls, how often."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ccbench.base import validation
from ccbench.base.random_streams import repetition_seeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.evaluate.criterion import Criterion, Variant
    from ccbench.evaluate.pack import Pack
    from ccbench.evaluate.witness import Witness
    from ccbench.experiment.scenario import Scenario

__all__ = ["BASELINES", "EXTENTS", "Case", "Design", "Extent", "Key"]

#: Congestion controls with which a candidate is compared.
BASELINES = ("cubic", "reno")

#: Networks of an evaluation: those marked as quick, or all.
Extent: TypeAlias = Literal["quick", "default", "full"]

#: Runs of each network with each congestion control, by extent.
EXTENTS: Mapping[Extent, int] = {"quick": 16, "default": 20, "full": 40}


class Case(NamedTuple):
    """A network of a criterion."""

    criterion: Criterion
    network: Variant

    @property
    def key(self) -> str:
        """Name of the case in files, unique in its pack."""
        network = re.sub(r"[^A-Za-z0-9.]+", "-", self.network.name).strip("-")
        return "--".join(filter(None, (self.criterion.key, network)))


class Key(NamedTuple):
    """A run of an evaluation."""

    case: str
    cca: str
    repetition: int


@dataclass(frozen=True, kw_only=True)
class Design:
    """What an evaluation runs.

    Parameters
    ----------
    candidate : str
        Linux name of the congestion control.
    pack : Pack
    baselines : tuple of str
        Congestion controls with which it is compared. The candidate itself is left out.
    against : str
        Congestion control against which changes are named, such as the version before; empty for
        none.
    extent : "quick", "default" or "full"
    only : tuple of str
        Sections or names of criteria; default: all.
    seed : int
    repetitions : int, optional
        Default: that of the extent (:data:`EXTENTS`).
    search : int
        Networks that the search for the worst one of each criterion of mixed algorithms tries; 0
        for no search.
    witnesses : tuple of Witness
        Worst networks of criteria (:func:`~ccbench.evaluate.worst.search`), evaluated, too.

    Raises
    ------
    InputError
        If a criterion is unknown, there is no baseline, or the candidate is to be compared with
        itself.
    """

    candidate: str
    pack: Pack
    baselines: tuple[str, ...] = BASELINES
    against: str = ""
    extent: Extent = "default"
    only: tuple[str, ...] = ()
    seed: int = 1
    repetitions: int | None = None
    search: int = 0
    witnesses: tuple[Witness, ...] = ()

    def __post_init__(self) -> None:
        names = {name for one in self.pack.criteria for name in (one.section, one.key)}
        for name in self.only:
            if name not in names:
                hint = validation.choice_hint(name, sorted(names))
                raise validation.bad("only", name, f"a criterion of pack {self.pack.name}", hint)
        if not self.others:
            step = 'name one, such as baselines = ("cubic",)'
            raise validation.bad(
                "baselines", self.baselines, "another CCA than the candidate", step
            )
        if self.against and self.against == self.candidate:
            allowed = "another CCA than the candidate"
            raise validation.bad("against", self.against, allowed, "name the other version")

    @property
    def others(self) -> tuple[str, ...]:
        """The baselines without the candidate."""
        return tuple(dict.fromkeys(cca for cca in self.baselines if cca != self.candidate))

    @property
    def ccas(self) -> tuple[str, ...]:
        """All congestion controls that run: the candidate first."""
        return tuple(dict.fromkeys(filter(None, (self.candidate, *self.others, self.against))))

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        """The chosen criteria that suit all congestion controls."""
        return tuple(one for one in self._chosen if all(map(one.suits, self.ccas)))

    @cached_property
    def unsuited(self) -> tuple[Criterion, ...]:
        """The other chosen criteria."""
        return tuple(one for one in self._chosen if one not in self.criteria)

    @property
    def _chosen(self) -> tuple[Criterion, ...]:
        return tuple(
            one
            for one in self.pack.criteria
            if not self.only or one.section in self.only or one.key in self.only
        )

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """All networks of the chosen criteria."""
        return tuple(
            Case(criterion, network)
            for criterion in self.criteria
            for network in (*criterion.networks, *self._found(criterion))
            if network.quick or self.extent != "quick"
        )

    def _found(self, criterion: Criterion) -> list[Variant]:
        """Return the worst network of a criterion that a search has found, if any."""
        witness = self.witness(criterion)
        return [witness.network] if witness and witness.settings else []

    def witness(self, criterion: Criterion) -> Witness | None:
        """Return the result of the search for the worst network of a criterion, if any."""
        return next((one for one in self.witnesses if one.criterion == criterion.key), None)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each repetition."""
        return repetition_seeds(self.seed, self.repetitions or EXTENTS[self.extent])

    def scenario(self, case: Case, cca: str) -> Scenario:
        """Return the scenario of the first repetition of a case."""
        return case.criterion.scenario_of(case.network, cca, self.seeds[0])

    def needs(self, cases: Iterable[Case]) -> dict[Key, tuple[Scenario, ...]]:
        """Return the scenario of each run of some cases."""
        return {
            Key(case.key, cca, i): (replace(first, seed=seed),)
            for case in cases
            for cca in self.ccas
            for first in [self.scenario(case, cca)]
            for i, seed in enumerate(self.seeds)
        }
