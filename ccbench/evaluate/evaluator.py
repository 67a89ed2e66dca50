# SPDX-License-Identifier: Apache-2.0
"""Running of evaluations.

Every network of a criterion runs with the candidate and with each baseline in its place, with the
same seeds. A run that fails is a finding, not an error of the evaluation.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ccbench.base.errors import InputError
from ccbench.emulate import Campaign, resolve
from ccbench.evaluate.design import Key
from ccbench.evaluate.earlier import Before
from ccbench.evaluate.evaluation import Cell, Evaluation, Failed
from ccbench.evaluate.judgement import compared, judged, median_of
from ccbench.metrics import Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ccbench.emulate import CampaignPlan
    from ccbench.evaluate.criterion import Measure
    from ccbench.evaluate.design import Case, Design
    from ccbench.evaluate.earlier import Earlier
    from ccbench.run.run import Run

__all__ = ["evaluate", "plan"]

#: Intervals of the throughput over time in figures, in a run.
_STEPS = 120


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
    design: Design,
    *,
    earlier: Earlier | None = None,
    **campaign: Any,
) -> Evaluation:
    """Evaluate a congestion control.

    Parameters
    ----------
    design : Design
    earlier : Earlier, optional
        An earlier evaluation against which changes are named.
    **campaign
        Settings of a :class:`~ccbench.emulate.Campaign`.

    Raises
    ------
    InputError
        If the engine can run none of the networks.

    Examples
    --------
    >>> from ccbench.evaluate import Design, evaluate, load_pack
    >>> only = ("5.1.1-outage",)
    >>> design = Design(candidate="vegas", pack=load_pack("rfc9743"), extent="quick", only=only)
    >>> evaluate(design).failures  # doctest: +SKIP
    ()
    """
    cases, unmeasured = _runnable(design, campaign.get("engine", "kernel"))
    by_key = {case.key: case for case in cases}
    measured: dict[Key, _Measured] = {}
    errors: dict[Key, str] = {}
    for each in Campaign(**campaign).gathered(design.needs(cases)):
        if each.error is not None:
            errors[each.key] = str(each.error)
            continue
        try:
            measured[each.key] = _measure(by_key[each.key.case], each.runs[0], each.key)
        except InputError as error:  # caused by the run, such as one without any data
            errors[each.key] = str(error)
    reasons = _first_of(errors)
    cells = _cells(design, cases, measured, reasons, earlier)
    of_candidate = (one.provenance for key, one in sorted(measured.items()) if one.provenance)
    return Evaluation(
        design=design,
        cells=tuple(cells),
        errors=reasons,
        unmeasured=unmeasured,
        series={
            (key.case, key.cca): dict(one.series)
            for key, one in sorted(measured.items())
            if one.series
        },
        provenance=next(of_candidate, {}),
    )


def _runnable(design: Design, engine: Any) -> tuple[list[Case], dict[str, str]]:
    """Return the cases that the engine can run, and the reason of each other case.

    Raises
    ------
    InputError
        If the engine can run none.
    """
    chosen = resolve(engine)
    runnable: list[Case] = []
    unmeasured: dict[str, str] = {}
    first: InputError | None = None
    for case in design.cases:
        try:
            for cca in design.ccas:
                chosen.check(design.scenario(case, cca))
        except InputError as error:
            first = first or error
            unmeasured[case.key] = str(error)
        else:
            runnable.append(case)
    if first is not None and not runnable:
        raise first
    return runnable, unmeasured


class _Measured(NamedTuple):
    """The values of a run; of first repetitions the throughput over time and the origin, too."""

    values: tuple[float, ...]
    series: tuple[tuple[str, list[float]], ...]
    provenance: Mapping[str, Any]


def _measure(case: Case, run: Run, key: Key) -> _Measured:
    part = cache(partial(Part, run))  # measures of the same window share what they need
    values = tuple(measure.value(part(measure.window_s)) for measure in case.criterion.measures)
    if key.repetition > 0:
        return _Measured(values, (), {})
    return _Measured(values, tuple(_series(run)), run.provenance)


def _series(run: Run) -> Iterator[tuple[str, list[float]]]:
    """Yield the throughput of the flows of each label over time."""
    interval_s = run.scenario.sample_interval_ms / 1e3
    steps = max(1, round(run.scenario.duration_s / _STEPS / interval_s))
    rates = run.throughput(steps * interval_s)
    yield "time_s", [round(float(time_s), 6) for time_s in rates.index]
    labels = run.scenario.flow_table()["label"]
    for label in labels.unique():
        flows = labels.index[labels == label]
        yield label, [round(float(value), 4) for value in rates.iloc[:, flows].sum(axis=1)]


def _first_of(errors: Mapping[Key, str]) -> dict[tuple[str, str], str]:
    """Return the reason of the first failed run, by case and congestion control."""
    reasons: dict[tuple[str, str], str] = {}
    for key, error in sorted(errors.items()):
        reasons.setdefault((key.case, key.cca), error)
    return reasons


def _cells(
    design: Design,
    cases: Sequence[Case],
    measured: Mapping[Key, _Measured],
    errors: Mapping[tuple[str, str], str],
    earlier: Earlier | None,
) -> Iterator[Cell]:
    def values(case: Case, cca: str, i: int) -> tuple[float, ...]:
        keys = (Key(case.key, cca, repetition) for repetition in range(len(design.seeds)))
        return tuple(measured[key].values[i] for key in keys if key in measured)

    rows = [
        (case, measure, {cca: values(case, cca, i) for cca in design.ccas})
        for case in cases
        for i, measure in enumerate(case.criterion.measures)
    ]
    own = design.candidate
    paths = {case.key: design.scenario(case, own).path for case in cases}
    comparisons = iter(
        judged(
            compared(of[own], of[other], measure, other, paths[case.key])
            for case, measure, of in rows
            for other in design.others
        )
    )
    failures = [
        {cca: _failure(case, measure, cca, of[cca], errors) for cca in design.ccas}
        for case, measure, of in rows
    ]
    before: list[Before | None] = [None] * len(rows)
    if earlier is not None:
        before = [earlier.of(case, measure) for case, measure, _ in rows]
    elif design.against:
        before = [
            Before(of[design.against], failed[design.against] is not None)
            for (_, _, of), failed in zip(rows, failures, strict=True)
        ]
    name = design.against if earlier is None else earlier.name
    changes = iter(
        judged(
            compared(of[own], old.values, measure, name, paths[case.key])
            for (case, measure, of), old in zip(rows, before, strict=True)
            if old is not None
        )
    )
    for (case, measure, of), failed, old in zip(rows, failures, before, strict=True):
        yield Cell(
            case=case,
            measure=measure,
            values=of,
            comparisons=tuple(next(comparisons) for _ in design.others),
            failed=None if any(failed[other] for other in design.others) else failed[own],
            change=None if old is None else next(changes),
            before=old,
        )


def _failure(
    case: Case,
    measure: Measure,
    cca: str,
    values: Sequence[float],
    errors: Mapping[tuple[str, str], str],
) -> Failed | None:
    """Return the definite failure of a congestion control, if any."""
    if (case.key, cca) in errors:
        return Failed(words=errors[case.key, cca], is_run=True)
    if measure.fails(median_of(values, measure.described)):
        return Failed(words=measure.failure)
    return None
