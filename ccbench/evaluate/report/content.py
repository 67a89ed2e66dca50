# SPDX-License-Identifier: Apache-2.0
"""Contents of an evaluation's report, which its page and its Markdown share."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.evaluate.design import BASELINES
from ccbench.evaluate.pack import DEFAULT_PACK
from ccbench.evaluate.report.figures import course_figure, values_figure
from ccbench.evaluate.report.words import conditions, evidence, failures, tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.evaluate.answers import Answers
    from ccbench.evaluate.criterion import Criterion
    from ccbench.evaluate.evaluation import Cell, Evaluation
    from ccbench.pages import Picture, Pictures

__all__ = ["SCENARIOS", "Detail", "Row", "command", "details", "summary", "witness_file"]

#: Folder of the scenarios, next to the page.
SCENARIOS = "scenarios"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the summary."""

    key: str
    section: str
    title: str
    obligation: str
    evidence: str
    compared: Mapping[str, str]
    failures: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Detail:
    """A criterion with all that is known of it."""

    criterion: Criterion
    cells: tuple[Cell, ...]
    unmeasured: Mapping[str, str]
    errors: Mapping[str, str]
    pictures: tuple[Picture, ...]
    commands: Mapping[str, str]
    networks: Mapping[str, str]
    answer: str
    not_applicable: str
    search: str


def summary(evaluation: Evaluation, answers: Answers) -> list[Row]:
    """Return the rows of the summary."""
    design = evaluation.design
    unmeasured = evaluation.unmeasured_criteria
    rows = []
    for criterion in design.criteria:
        cells = evaluation.of(criterion)
        if criterion.key in dict(answers.not_applicable):
            words = "not applicable"
        elif criterion.question:
            words = "answered" if answers.of(criterion.key) else "question for the author"
        else:
            is_missing = criterion.key in unmeasured
            words = "not measured" if is_missing else evidence(cells, design.candidate)
        rows.append(
            Row(
                key=criterion.key,
                section=criterion.section,
                title=criterion.title,
                obligation=criterion.obligation,
                evidence=words,
                compared={other: tally(cells, other) for other in design.others},
                failures=failures(cells),
            )
        )
    return rows


def details(evaluation: Evaluation, answers: Answers, pictures: Pictures) -> list[Detail]:
    """Return each criterion with its cells and figures."""
    return [
        _detail(evaluation, criterion, answers, pictures)
        for criterion in evaluation.design.criteria
    ]


def _detail(
    evaluation: Evaluation, criterion: Criterion, answers: Answers, pictures: Pictures
) -> Detail:
    cells = evaluation.of(criterion)
    measured = {cell.case.key: cell.case for cell in cells}
    design = evaluation.design
    return Detail(
        criterion=criterion,
        cells=cells,
        unmeasured={
            case.network.name: evaluation.unmeasured[case.key]
            for case in design.cases
            if case.criterion.key == criterion.key and case.key in evaluation.unmeasured
        },
        errors={
            cca: reason for (case, cca), reason in evaluation.errors.items() if case in measured
        },
        pictures=tuple(_pictures(evaluation, criterion, cells, pictures)) if cells else (),
        commands=_commands(evaluation, criterion, cells) if cells else {},
        networks={
            case.network.name: conditions(design.scenario(case, design.candidate))
            for case in measured.values()
        },
        answer=answers.of(criterion.key),
        not_applicable=dict(answers.not_applicable).get(criterion.key, ""),
        search=witness.words if (witness := design.witness(criterion)) else "",
    )


def _pictures(
    evaluation: Evaluation, criterion: Criterion, cells: Sequence[Cell], pictures: Pictures
) -> list[Picture]:
    ccas = evaluation.design.ccas
    drawn = [
        pictures.add(
            f"{criterion.key}-values",
            values_figure(cells, ccas),
            f"{criterion.title}: medians (points) with 95 % intervals (bars).",
        )
    ]
    case = cells[0].case
    series = {
        cca: evaluation.series[case.key, cca]
        for cca in ccas
        if (case.key, cca) in evaluation.series
    }
    if series:
        changes = evaluation.design.scenario(case, evaluation.design.candidate).path.changes
        network = f" in the network “{case.network.name}”" if case.network.name else ""
        marks = " Dotted vertical lines are changes of the path." if changes else ""
        drawn.append(
            pictures.add(
                f"{criterion.key}-throughput",
                course_figure(series, [change.at_s for change in changes if change.at_s]),
                f"{criterion.title}: throughput over time in one run{network}.{marks}",
            )
        )
    return drawn


def _commands(
    evaluation: Evaluation, criterion: Criterion, cells: Sequence[Cell]
) -> dict[str, str]:
    commands = {
        "all runs": command(evaluation, only=(criterion.key,)),
        "one run": f"ccbench run {SCENARIOS}/{cells[0].case.key}.toml",
    }
    witness = evaluation.design.witness(criterion)
    if witness and witness.settings:
        file = f"{SCENARIOS}/{witness_file(criterion)}"
        commands["worst network"] = f"ccbench harm --scenario {file}"
    return commands


def witness_file(criterion: Criterion) -> str:
    """Return the name of the file with the shortest scenario of the worst network."""
    return f"{criterion.key}--worst.toml"


def command(evaluation: Evaluation, only: tuple[str, ...] = ()) -> str:
    """Return the command that repeats an evaluation, or some criteria of it."""
    design = evaluation.design
    words = ["ccbench", "evaluate", design.candidate]
    if design.pack.reference != DEFAULT_PACK:
        words += ["--pack", design.pack.reference]
    if design.baselines != BASELINES:
        words += [word for cca in design.baselines for word in ("--baseline", cca)]
    if design.against:
        words += ["--against", design.against]
    if design.extent != "default":
        words.append(f"--{design.extent}")
    if design.search:
        words += ["--search", str(design.search)]
    if only or design.only:
        words += ["--only", ",".join(only or design.only)]
    if design.seed != 1:
        words += ["--seed", str(design.seed)]
    return shlex.join(words)
