# SPDX-License-Identifier: Apache-2.0
"""A study: a published figure or table, what to run for it, and what comes of the runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from ccbench.base.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from ccbench.datacenter.case import Case
    from ccbench.datacenter.simulation import Simulation
    from ccbench.experiment.scenario import Scenario
    from ccbench.raygen import SearchConfig, SearchResult
    from ccbench.run.run import Run
    from ccbench.studies.published import Published
    from ccbench.studies.study_info import StudyInfo

__all__ = [
    "Cases",
    "Comparison",
    "Findings",
    "Rows",
    "Scenarios",
    "SearchStudy",
    "Searches",
    "SimulationStudy",
    "Study",
    "Verdict",
]

#: What came of a comparison.
Verdict: TypeAlias = Literal["agrees", "differs", "not compared"]

#: Rows of a table, each a dictionary with the same columns.
Rows: TypeAlias = list[dict[str, Any]]


class Scenarios(Protocol):
    """Says what to run."""

    def __call__(self, *, quick: bool) -> tuple[Scenario, ...]:
        """Return the scenarios, or, if `quick`, a few that take seconds."""


class Searches(Protocol):
    """Says what to search for."""

    def __call__(self, *, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
        """Return the searches; if `quick`, small ones; if `full`, as large as the published."""


class Cases(Protocol):
    """Says what to simulate."""

    def __call__(self, *, quick: bool) -> tuple[Case, ...]:
        """Return the cases, or, if `quick`, a few that take seconds."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One number of ours beside the published one.

    Parameters
    ----------
    what : str
        What is compared, in a few words.
    ours : float or Estimate
        Our number, or the mean of repetitions with its interval; NaN if the runs do not give it,
        which agrees with nothing.
    published : Published
        What the publication states, and where: :mod:`ccbench.studies.published`.
    unit : str
        Of both; empty if they have none.
    note : str
        What qualifies our number, or why it differs.

    Examples
    --------
    >>> from ccbench.studies.published import percentage
    >>> share = Comparison(what="share", ours=38.2, published=percentage(40, "section 3.4"))
    >>> share.verdict
    'agrees'
    """

    what: str
    ours: float | Estimate
    published: Published
    unit: str = ""
    note: str = ""

    @property
    def value(self) -> float:
        """Our number; of repetitions their mean."""
        return self.ours.mean if isinstance(self.ours, Estimate) else self.ours

    @property
    def half_width(self) -> float:
        """Half the length of its 95 % confidence interval; NaN if it has none."""
        return self.ours.half_width if isinstance(self.ours, Estimate) else math.nan

    @property
    def verdict(self) -> Verdict:
        """Whether our number agrees; where the publication sets no limit, nothing is compared."""
        if self.published.kind == "unbounded":
            return "not compared"
        return "agrees" if self.published.includes(self.value) else "differs"

    @property
    def is_significant(self) -> bool:
        """Whether our number differs, and no number of its 95 % confidence interval agrees."""
        if self.verdict != "differs":
            return False
        if math.isnan(self.half_width):
            return True
        low, high = self.value - self.half_width, self.value + self.half_width
        return high < self.published.low or low > self.published.high

    @property
    def judgement(self) -> str:
        """The verdict, whether a difference is significant, and whether it is a direction's."""
        words: list[str] = [self.verdict]
        if self.verdict == "differs" and not self.is_significant:
            words.append("not significantly")
        if self.published.kind == "direction":
            words.append("direction only")
        return ", ".join(words)


@dataclass(frozen=True, kw_only=True, eq=False)
class Findings:
    """What came of a study.

    Parameters
    ----------
    table : DataFrame
        The data behind the figure; units in the names of the columns. Becomes a CSV file, without
        its index.
    figure : Figure
        Our version of the published one. Becomes a PNG file.
    comparisons : tuple of Comparison
        Ours beside what the publication states, one or more.
    more_figures : mapping
        Further figures by short names. Become PNG files ``NAME-SHORT.png``.
    """

    table: pd.DataFrame
    figure: Figure
    comparisons: tuple[Comparison, ...]
    more_figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Described:
    """What all studies have."""

    info: StudyInfo

    @property
    def name(self) -> str:
        """Such as ``"ware-3.2"``."""
        return self.info.name

    @property
    def title(self) -> str:
        """What is studied, in one line."""
        return self.info.title

    @property
    def source(self) -> str:
        """Publication and figure."""
        return self.info.source


@dataclass(frozen=True, kw_only=True, eq=False)
class Study(_Described):
    """A published figure or table that ccbench reproduces: data and three pure functions.

    Parameters
    ----------
    info : StudyInfo
        Its description; its `name`, `title` and `source` are the study's, too.
    scenarios : callable
        Returns what to run, ``scenarios(quick=False)``, or a quick version that takes seconds and
        shows only that everything works.
    measure : callable
        Turns one run into rows of a table. Runs are measured one at a time and then dropped, so
        that memory does not grow with their number. What belongs to which scenario, the run's
        `scenario` says.
    conclude : callable
        Turns the table of all rows, in the order of the scenarios, into :class:`Findings`. It must
        do with the table of the quick version too.
    engines : tuple of str
        The engines that each scenario runs on, one after the other; left out, the one that is asked
        for. Which one made a run, its provenance says.
    references : callable, optional
        Returns scenarios that run on the installed virtual kernel, whatever is asked for: what the
        others are compared with. Their rows are the table's first.

    Examples
    --------
    >>> from ccbench import studies
    >>> studies.get("ware-3.2").source
    'Ware 2024, Figure 3.2'
    """

    scenarios: Scenarios
    measure: Callable[[Run], Rows]
    conclude: Callable[[pd.DataFrame], Findings]
    engines: tuple[str, ...] = ()
    references: Scenarios | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchStudy(_Described):
    """A published figure or table about searches: what to run next depends on what was found.

    Parameters
    ----------
    info : StudyInfo
        As in a :class:`Study`.
    searches : callable
        Returns what to search for, ``searches(quick=False, full=False)``. With `quick`, a version
        that takes seconds and shows only that everything works. With `full`, one as large as the
        published, if that takes so much longer that it is left to who asks for it; otherwise `full`
        makes no difference, and :func:`run_study` refuses it.
    conclude : callable
        Turns what was found, in the order of the searches, into :class:`Findings`. It must do with
        what the quick version finds too.

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
    """A published figure or table about data centres: simulated packet by packet, without a kernel.

    Parameters
    ----------
    info : StudyInfo
        As in a :class:`Study`.
    cases : callable
        Returns what to simulate, ``cases(quick=False)``, or a quick version that takes seconds.
    measure : callable
        Turns a case and its result into rows of a table.
    conclude : callable
        Turns the table of all rows, in the order of the cases, into :class:`Findings`. It must do
        with the table of the quick version too.

    Examples
    --------
    >>> from ccbench import studies
    >>> studies.get("bfc-3.9").source
    'Goyal 2022, Figure 3-9'
    """

    cases: Cases
    measure: Callable[[Case, Simulation], Rows]
    conclude: Callable[[pd.DataFrame], Findings]
