# SPDX-License-Identifier: Apache-2.0
"""Evaluations: the runs of all criteria for a candidate and its baselines, and what they say.

Every network of a criterion runs with the candidate and with each baseline in its place, with the
same seeds. A run that fails is a finding, not an error of the evaluation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate import Campaign, resolve
from ccbench.evaluate.judgement import Comparison, compared, judged, median_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ccbench.emulate import CampaignPlan
    from ccbench.evaluate.criterion import Criterion, Measure, Network
    from ccbench.evaluate.pack import Pack
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "BASELINES",
    "REPETITIONS",
    "Case",
    "Cell",
    "Design",
    "Evaluation",
    "Extent",
    "Failed",
    "evaluate",
]

#: Congestion controls beside which a candidate is shown.
BASELINES = ("cubic", "reno")

#: Networks of an evaluation: those marked as quick, or all.
Extent: TypeAlias = Literal["quick", "default", "full"]

#: Runs of each network with each congestion control.
REPETITIONS: Mapping[Extent, int] = {"quick": 6, "default": 10, "full": 20}

#: Interval of the throughput over time in figures, in parts of a run.
_STEPS = 120


class Case(NamedTuple):
    """A network of a criterion."""

    criterion: Criterion
    network: Network

    @property
    def key(self) -> str:
        """Name of the case in files, unique in its pack."""
        return "-".join(filter(None, (self.criterion.key, self.network.name.replace(" ", "-"))))


class _Key(NamedTuple):
    """A run of an evaluation."""

    case: str
    cca: str
    repetition: int


class _Measured(NamedTuple):
    """The values of a run, its throughput over time, and its origin."""

    values: tuple[float, ...]
    series: tuple[tuple[str, list[float]], ...]
    provenance: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Design:
    """What an evaluation runs.

    Parameters
    ----------
    candidate : str
        Linux name of the congestion control.
    pack : Pack
    baselines : tuple of str
        Congestion controls beside which it is shown. The candidate itself is left out.
    extent : "quick", "default" or "full"
    only : tuple of str
        Sections or names of criteria; default: all.
    seed : int
    repetitions : int, optional
        Default: :data:`REPETITIONS` of the extent.

    Raises
    ------
    InputError
        If a criterion is unknown, or there is no baseline.
    """

    candidate: str
    pack: Pack
    baselines: tuple[str, ...] = BASELINES
    extent: Extent = "default"
    only: tuple[str, ...] = ()
    seed: int = 1
    repetitions: int | None = None

    def __post_init__(self) -> None:
        names = {name for one in self.pack.criteria for name in (one.section, one.key)}
        for name in self.only:
            if name not in names:
                hint = validation.choice_hint(name, names)
                raise validation.bad("only", name, f"a criterion of pack {self.pack.name}", hint)
        if not self.ccas[1:]:
            step = 'name one, such as baselines = ("cubic",)'
            raise validation.bad("baselines", self.baselines, "another CCA than the candidate", step)

    @property
    def ccas(self) -> tuple[str, ...]:
        """The candidate and its baselines."""
        return tuple(dict.fromkeys((self.candidate, *self.baselines)))

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The chosen criteria."""
        return tuple(
            one
            for one in self.pack.criteria
            if not self.only or one.section in self.only or one.key in self.only
        )

    @property
    def cases(self) -> tuple[Case, ...]:
        """All networks of the chosen criteria."""
        return tuple(
            Case(criterion, network)
            for criterion in self.criteria
            for network in criterion.networks
            if network.quick or self.extent != "quick"
        )

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each repetition."""
        return repetition_seeds(self.seed, self.repetitions or REPETITIONS[self.extent])

    def needs(self, cases: Iterable[Case]) -> dict[_Key, tuple[Scenario, ...]]:
        """Return the scenario of each run of some cases."""
        return {
            _Key(case.key, cca, i): (case.criterion.scenario_of(case.network, cca, seed),)
            for case in cases
            for cca in self.ccas
            for i, seed in enumerate(self.seeds)
        }


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A definite failure of the candidate.

    Attributes
    ----------
    words : str
        What failed, such as ``starvation``; or the reason why runs failed.
    is_run : bool
        Whether runs failed: they crashed, or had no values.
    """

    words: str
    is_run: bool = False


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The values of one measure in one network.

    Attributes
    ----------
    case : Case
    measure : Measure
    values : mapping of str to tuple of float
        The value of each repetition, by congestion control.
    comparisons : tuple of Comparison
        One for each baseline.
    failed : Failed or None
        The definite failure, if any.
    """

    case: Case
    measure: Measure
    values: Mapping[str, tuple[float, ...]]
    comparisons: tuple[Comparison, ...]
    failed: Failed | None

    def median(self, cca: str) -> float:
        """Return the median of a congestion control; NaN if it has none."""
        return median_of(self.values[cca], self.measure.described)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The result of an evaluation.

    Attributes
    ----------
    design : Design
    cells : tuple of Cell
        By case, then measure.
    errors : mapping of (str, str) to str
        Reason of the first failed run, by case and congestion control.
    unmeasured : mapping of str to str
        Reason why a case was not run, by case.
    series : mapping of (str, str) to mapping
        Throughput in Mbit/s over time of each group of flows, of the first repetition, by case and
        congestion control; key ``time_s`` is the ends of the intervals.
    provenance : mapping
        Origin of the first run.
    """

    design: Design
    cells: tuple[Cell, ...]
    errors: Mapping[tuple[str, str], str]
    unmeasured: Mapping[str, str]
    series: Mapping[tuple[str, str], Mapping[str, list[float]]]
    provenance: Mapping[str, Any]

    def of(self, criterion: Criterion) -> tuple[Cell, ...]:
        """Return the cells of a criterion."""
        return tuple(cell for cell in self.cells if cell.case.criterion.key == criterion.key)

    @property
    def failures(self) -> tuple[Cell, ...]:
        """The cells with a definite failure."""
        return tuple(cell for cell in self.cells if cell.failed is not None)

    def count(self, judgement: str, baseline: str, criterion: Criterion | None = None) -> int:
        """Return the number of cells with a judgement beside a baseline."""
        cells = self.cells if criterion is None else self.of(criterion)
        return sum(
            one.judgement == judgement
            for cell in cells
            for one in cell.comparisons
            if one.baseline == baseline
        )


def plan(design: Design, **campaign: Any) -> CampaignPlan:
    """Return the extent and the expected cost of an evaluation.

    Parameters
    ----------
    design : Design
    **campaign
        Settings of a :class:`~ccbench.emulate.Campaign`.
    """
    cases, _ = _runnable(design, campaign.get("engine", "kernel"))
    return Campaign(**campaign).plan(design.needs(cases))


def evaluate(
    design: Design, *, on_run: Callable[[Scenario], None] | None = None, **campaign: Any
) -> Evaluation:
    """Evaluate a congestion control.

    Parameters
    ----------
    design : Design
    on_run : callable, optional
        Called with the scenario of each finished run.
    **campaign
        Settings of a :class:`~ccbench.emulate.Campaign`.

    Raises
    ------
    InputError
        If the engine has no such congestion control.

    Examples
    --------
    >>> from ccbench.evaluate import Design, evaluate, load_pack
    >>> design = Design(candidate="vegas", pack=load_pack("rfc9743"), extent="quick")
    >>> evaluate(design).failures  # doctest: +SKIP
    """
    cases, unmeasured = _runnable(design, campaign.get("engine", "kernel"))
    by_key = {case.key: case for case in cases}
    measured: dict[_Key, _Measured] = {}
    errors: dict[_Key, str] = {}
    for each in Campaign(**campaign).gathered(design.needs(cases), on_run=on_run):
        if each.error is not None:
            errors[each.key] = str(each.error)
            continue
        try:
            measured[each.key] = _measure(by_key[each.key.case], each.runs[0], each.key.repetition)
        except InputError as error:  # caused by the run, such as one without any data
            errors[each.key] = str(error)
    return _result(design, cases, measured, errors, unmeasured)


def _runnable(design: Design, engine: Any) -> tuple[list[Case], dict[str, str]]:
    """Return the cases that the engine can run, and the reason of each other case.

    Raises
    ------
    InputError
        If the engine can run none with the candidate.
    """
    chosen = resolve(engine)
    runnable, unmeasured = [], {}
    first: InputError | None = None
    for case in design.cases:
        try:
            for cca in design.ccas:
                chosen.check(case.criterion.scenario_of(case.network, cca, design.seed))
        except InputError as error:
            first = first or error
            unmeasured[case.key] = str(error)
        else:
            runnable.append(case)
    if first is not None and not runnable:
        raise first
    return runnable, unmeasured


def _measure(case: Case, run: Run, repetition: int) -> _Measured:
    values = tuple(measure.value(run) for measure in case.criterion.measures)
    series = tuple(_series(run)) if repetition == 0 else ()
    return _Measured(values, series, run.provenance if repetition == 0 else {})


def _series(run: Run) -> Iterator[tuple[str, list[float]]]:
    """Yield the throughput of each group of flows over time."""
    interval_s = run.scenario.sample_interval_ms / 1e3
    steps = max(1, round(run.scenario.duration_s / _STEPS / interval_s))
    rates = run.throughput(steps * interval_s)
    yield "time_s", [round(float(time_s), 6) for time_s in rates.index]
    table = run.scenario.flow_table()
    for group, label in dict(zip(table["group"], table["label"], strict=True)).items():
        flows = table.index[table["group"] == group]
        yield label, [round(float(value), 4) for value in rates.iloc[:, flows].sum(axis=1)]


def _result(
    design: Design,
    cases: Sequence[Case],
    measured: Mapping[_Key, _Measured],
    errors: Mapping[_Key, str],
    unmeasured: Mapping[str, str],
) -> Evaluation:
    repetitions = range(len(design.seeds))

    def values(case: Case, cca: str, i: int) -> tuple[float, ...]:
        keys = (_Key(case.key, cca, repetition) for repetition in repetitions)
        return tuple(measured[key].values[i] for key in keys if key in measured)

    reasons: dict[tuple[str, str], str] = {}
    for key, error in sorted(errors.items()):
        reasons.setdefault((key.case, key.cca), error)
    rows = [
        (case, measure, {cca: values(case, cca, i) for cca in design.ccas})
        for case in cases
        for i, measure in enumerate(case.criterion.measures)
    ]
    others = design.ccas[1:]
    all_comparisons = judged(
        compared(own[design.candidate], own[other], measure.described, other)
        for _, measure, own in rows
        for other in others
    )
    cells = tuple(
        Cell(
            case=case,
            measure=measure,
            values=own,
            comparisons=tuple(all_comparisons[i * len(others) : (i + 1) * len(others)]),
            failed=_failure(design, case, measure, own, reasons),
        )
        for i, (case, measure, own) in enumerate(rows)
    )
    first = next((one.provenance for one in measured.values() if one.provenance), {})
    return Evaluation(
        design=design,
        cells=cells,
        errors=reasons,
        unmeasured=dict(unmeasured),
        series={
            (key.case, key.cca): dict(one.series) for key, one in sorted(measured.items()) if one.series
        },
        provenance=first,
    )


def _failure(
    design: Design,
    case: Case,
    measure: Measure,
    values: Mapping[str, tuple[float, ...]],
    reasons: Mapping[tuple[str, str], str],
) -> Failed | None:
    """Return the definite failure of the candidate that no baseline has, if any."""
    error = reasons.get((case.key, design.candidate))
    if error is not None and not any((case.key, cca) in reasons for cca in design.ccas[1:]):
        return Failed(words=error, is_run=True)
    medians = {cca: median_of(own, measure.described) for cca, own in values.items()}
    fails = {cca for cca, median in medians.items() if measure.fails(median)}
    if design.candidate in fails and not fails & {*design.ccas[1:]}:
        return Failed(words=measure.failure)
    return None
