# SPDX-License-Identifier: Apache-2.0
"""Studies: the experiments behind a published figure or table, and their evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ccbench.base.estimate import Estimate
from ccbench.base.share import Share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from ccbench.base.figures import Figure
    from ccbench.datacenter.case import SimulationCase
    from ccbench.datacenter.simulation import Simulation
    from ccbench.emulate import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.raygen import SearchConfig, SearchResult
    from ccbench.studies.published import Published
    from ccbench.studies.study_info import StudyInfo

__all__ = [
    "AnyStudy",
    "Cases",
    "Comparison",
    "Findings",
    "ModelRows",
    "ModelStudy",
    "Rows",
    "Scenarios",
    "SearchStudy",
    "Searches",
    "SimulationStudy",
    "Study",
    "Verdict",
    "grouped",
]

#: Verdict of a comparison.
Verdict: TypeAlias = Literal["agrees", "differs", "not compared"]

#: Rows of a table, each a dictionary with the same columns.
Rows: TypeAlias = list[dict[str, Any]]


class Scenarios(Protocol):
    """Function that returns scenarios, or groups of scenarios that are measured together."""

    def __call__(self, *, quick: bool) -> Sequence[Scenario | tuple[Scenario, ...]]:
        """Return the scenarios; if `quick`, a few that take seconds."""


class Searches(Protocol):
    """Function that returns searches."""

    def __call__(self, *, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
        """Return the searches; if `quick`, small ones; if `full`, as large as published."""


class Cases(Protocol):
    """Function that returns simulations."""

    def __call__(self, *, quick: bool) -> tuple[SimulationCase, ...]:
        """Return the cases; if `quick`, a few that take seconds."""


class ModelRows(Protocol):
    """Function that computes the rows of a study without experiments."""

    def __call__(self, *, quick: bool) -> Rows:
        """Return the rows; if `quick`, a few that take seconds."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A result compared with the published statement.

    Parameters
    ----------
    quantity : str
        The compared quantity, in a few words.
    measured : float, Estimate or Share
        The result, the mean of repetitions, or the share of cases, with its interval; NaN, which
        agrees with nothing, if the runs do not determine it.
    published : Published
        The publication's statement and its location (:mod:`ccbench.studies.published`).
    unit : str
        Unit of both; empty if they have none.
    note : str
        Qualification of the result, or reason for a difference.

    Examples
    --------
    >>> from ccbench.studies.published import percentage
    >>> share = Comparison(quantity="share", measured=38.2, published=percentage(40, "section 3.4"))
    >>> share.verdict
    'agrees'
    """

    quantity: str
    measured: float | Estimate | Share
    published: Published
    unit: str = ""
    note: str = ""

    @property
    def value(self) -> float:
        """The result; the mean of repetitions; the percentage of cases."""
        if isinstance(self.measured, Estimate | Share):
            return self.measured.mean
        return self.measured

    @property
    def half_width(self) -> float:
        """Half the width of the interval of repetitions; NaN without repetitions."""
        return self.measured.half_width if isinstance(self.measured, Estimate) else math.nan

    @property
    def n_cases(self) -> int | None:
        """Number of cases of which the result is a share."""
        return self.measured.n_cases if isinstance(self.measured, Share) else None

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of its 95 % confidence interval; NaN if it has none."""
        if isinstance(self.measured, Estimate | Share):
            return self.measured.low, self.measured.high
        return math.nan, math.nan

    @property
    def verdict(self) -> Verdict:
        """Agreement with the statement; not compared if the statement sets no limit."""
        if self.published.kind == "unbounded":
            return "not compared"
        return "agrees" if self.published.includes(self.value) else "differs"

    @property
    def is_significant(self) -> bool:
        """Whether the result differs and its whole 95 % confidence interval does, too."""
        if self.verdict != "differs":
            return False
        low, high = self.interval
        if math.isnan(low):
            return True
        return high < self.published.low or low > self.published.high

    @property
    def judgement(self) -> str:
        """The verdict, with the significance of a difference and the kind of statement."""
        words: list[str] = [self.verdict]
        if self.verdict == "differs" and not self.is_significant:
            words.append("not significantly")
        if self.published.kind == "direction":
            words.append("direction only")
        return ", ".join(words)


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """Results of a study.

    Parameters
    ----------
    table : DataFrame
        Data of the figure, with units in the column names; saved as a CSV file without index.
    figure : Figure
        The reproduction of the published figure; saved as a PNG and an SVG file.
    comparisons : tuple of Comparison
        Comparisons with the publication, at least one.
    more_figures : mapping
        Additional figures by short name; saved as ``NAME-SHORT.png`` and ``.svg``.
    """

    table: pd.DataFrame
    figure: Figure
    comparisons: tuple[Comparison, ...]
    more_figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Described:
    """Common base of all studies."""

    info: StudyInfo

    @property
    def name(self) -> str:
        """Name, such as ``"ware-3.2"``."""
        return self.info.name

    @property
    def title(self) -> str:
        """Subject in one line."""
        return self.info.title

    @property
    def source(self) -> str:
        """Publication and figure."""
        return self.info.source


@dataclass(frozen=True, kw_only=True, eq=False)
class Study(_Described):
    """Reproduction of a published figure or table: data and three pure functions.

    Parameters
    ----------
    info : StudyInfo
        The description, which also provides the study's `name`, `title` and `source`.
    scenarios : callable
        Returns the scenarios, ``scenarios(quick=False)``, or a quick version that takes seconds and
        only shows that everything works. Scenarios that are measured together are a tuple, such as
        the two of an :class:`~ccbench.harm.Experiment`, or one scenario with several seeds. Equal
        scenarios of several tuples run once.
    measure : callable
        Converts a run, or the runs of a tuple of scenarios, ``measure(*runs)``, into rows of a
        table. They are then discarded, so that memory use does not grow with the number of runs. A
        run's `scenario` identifies it.
    conclude : callable
        Converts the table of all rows, in the order of the scenarios, into :class:`Findings`. It
        must accept the table of the quick version.
    engines : tuple of str
        The engines on which each scenario runs, in this order; by default the requested engine. A
        run's provenance names its engine.
    kernels : tuple of str
        The Linux releases of the virtual kernels on which each scenario runs, instead of `engines`.
        A run's provenance names its release.
    references : callable, optional
        Returns scenarios for comparison that always run on the installed virtual kernel. Their rows
        come first in the table.
    follow_ups : callable, optional
        Returns scenarios that depend on the runs that are measured together, for example with a
        change at a time that a run shows. Their runs are measured and followed up as well, until
        nothing new follows. The study has one engine.
    for_cca : callable, optional
        Returns the study of another congestion control, ``for_cca("bbr", engine)``.

    Examples
    --------
    >>> from ccbench import studies
    >>> studies.get("ware-3.2").source
    'Ware 2024, Figure 3.2'
    """

    scenarios: Scenarios
    measure: Callable[..., Rows]
    conclude: Callable[[pd.DataFrame], Findings]
    engines: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    references: Scenarios | None = None
    follow_ups: Callable[..., tuple[Scenario, ...]] | None = None
    for_cca: Callable[[str, Engine], Study] | None = None

    def groups(self, *, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
        """Return the scenarios as groups that are measured together."""
        return grouped(self.scenarios(quick=quick))


def grouped(
    scenarios: Iterable[Scenario | tuple[Scenario, ...]],
) -> tuple[tuple[Scenario, ...], ...]:
    """Return the scenarios of a study as groups; a single scenario is a group of one."""
    return tuple(each if isinstance(each, tuple) else (each,) for each in scenarios)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchStudy(_Described):
    """Reproduction of a published figure or table about adaptive searches.

    Parameters
    ----------
    info : StudyInfo
        As in a :class:`Study`.
    searches : callable
        Returns the searches, ``searches(quick=False, full=False)``. With `quick`, a version that
        takes seconds and only shows that everything works. With `full`, a version as large as the
        published one, if it takes too long for the usual version; otherwise `full` makes no
        difference, and :func:`run_study` refuses it.
    conclude : callable
        Converts the results, in the order of the searches, into :class:`Findings`. It must accept
        the results of the quick version.

    Examples
    --------
    >>> from ccbench import studies
    >>> [search.strategy for search in studies.get("ware-5.14").searches(quick=True, full=False)]
    ['genetic', 'surrogate', 'random']
    """

    searches: Searches
    conclude: Callable[[Sequence[SearchResult]], Findings]


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulationStudy(_Described):
    """Reproduction of a published figure or table by packet-level data-centre simulation.

    Parameters
    ----------
    info : StudyInfo
        As in a :class:`Study`.
    cases : callable
        Returns the cases, ``cases(quick=False)``, or a quick version that takes seconds.
    measure : callable
        Converts a case and its result into rows of a table.
    conclude : callable
        Converts the table of all rows, in the order of the cases, into :class:`Findings`. It must
        accept the table of the quick version.

    Examples
    --------
    >>> from ccbench import studies
    >>> studies.get("bfc-3.9").source
    'Goyal 2022, Figure 3-9'
    """

    cases: Cases
    measure: Callable[[SimulationCase, Simulation], Rows]
    conclude: Callable[[pd.DataFrame], Findings]


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelStudy(_Described):
    """Reproduction of a published figure or table by computation, without experiments.

    Parameters
    ----------
    info : StudyInfo
        As in a :class:`Study`.
    rows : callable
        Computes the rows of the table, ``rows(quick=False)``.
    conclude : callable
        Converts the table of all rows into :class:`Findings`. It must accept the table of the quick
        version.

    Examples
    --------
    >>> from ccbench import studies
    >>> studies.get("bfc-c.1").source
    'Goyal 2022, Figure C-1'
    """

    rows: ModelRows
    conclude: Callable[[pd.DataFrame], Findings]


#: A study of any kind.
AnyStudy: TypeAlias = Study | SearchStudy | SimulationStudy | ModelStudy
