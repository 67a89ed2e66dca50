# SPDX-License-Identifier: Apache-2.0
"""An evaluation as Markdown, for drafts, issues and pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.evaluate.report.content import command
from ccbench.evaluate.report.words import (
    JUDGEMENTS,
    METHOD,
    before,
    facts,
    found,
    lead,
    measured,
    short,
    shown,
    where,
)
from ccbench.pages import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ccbench.evaluate.evaluation import Evaluation
    from ccbench.evaluate.judgement import Judgement
    from ccbench.evaluate.report.content import Detail, Row

__all__ = ["markdown_of"]


def markdown_of(evaluation: Evaluation, rows: Sequence[Row], details: Sequence[Detail]) -> str:
    """Return the report of an evaluation as Markdown."""
    return "\n".join(_lines(evaluation, rows, details)) + "\n"


def _lines(evaluation: Evaluation, rows: Sequence[Row], details: Sequence[Detail]) -> Iterator[str]:
    design = evaluation.design
    others = design.others
    yield f"# {design.candidate}: evaluation by {design.pack.title}"
    yield f"\n{lead(evaluation)}\n"
    if evaluation.failures:
        yield "## Definite failures\n"
        for cell in evaluation.failures:
            value = "" if cell.failed.is_run else f", {shown(cell, design.candidate)}"  # type: ignore[union-attr]
            yield f"- {where(cell)}: **{cell.failed.words}**{value}"  # type: ignore[union-attr]
        yield ""
    yield from _findings(evaluation)
    yield "## All criteria\n"
    yield from _table(
        ["section", "criterion"]
        + [f"compared with {other}" for other in others]
        + ["definite failure", "evidence", "obligation"],
        (
            [row.section, row.title]
            + [row.compared[other] for other in others]
            + ["; ".join(row.failures), row.evidence, row.obligation]
            for row in rows
        ),
    )
    yield "\n## Details"
    for one in details:
        yield from _criterion(evaluation, one)
    yield "\n## Method\n"
    yield from (f"{paragraph}\n" for paragraph in METHOD)
    yield "## What ran\n"
    yield from (f"- {name}: {text}" for name, text in facts(evaluation).items())
    yield f"\n    {command(evaluation)}"


def _findings(evaluation: Evaluation) -> Iterator[str]:
    design = evaluation.design
    if evaluation.regressions:
        yield "## Worse than the version before\n"
        yield from _table(
            ["measure", design.candidate, "before"],
            (
                [where(cell), short(cell, design.candidate), before(cell)]
                for cell in evaluation.regressions
            ),
        )
        yield ""
    judgements: tuple[Judgement, ...] = ("worse", "better")
    for judgement in judgements:
        cells = found(evaluation, judgement)
        if cells:
            yield f"## {judgement.capitalize()} than {' and '.join(design.others)}\n"
            ccas = (design.candidate, *design.others)
            yield from _table(
                ["measure", *ccas],
                ([where(cell), *(short(cell, c) for c in ccas)] for cell in cells),
            )
            yield ""


def _criterion(evaluation: Evaluation, one: Detail) -> Iterator[str]:
    design, criterion = evaluation.design, one.criterion
    obligation = f" ({criterion.obligation})" if criterion.obligation else ""
    yield f"\n### {criterion.section} {criterion.title}{obligation}\n"
    yield criterion.about
    if criterion.question:
        yield f"\n**{criterion.question}**\n"
        yield one.answer or f"*No answer yet* (`{criterion.key}`)."
        return
    for name, words in one.networks.items():
        yield f"\n{f'{name}: ' if name else ''}{words}."
    if one.not_applicable:
        yield f"\n**Not applicable.** {one.not_applicable}"
    for network, reason in one.unmeasured.items():
        yield f"\n**Not measured{f': {network}' if network else ''}.** {reason}"
    if not one.cells:
        return
    yield ""
    has_changes = evaluation.has_changes
    yield from _table(
        ["network", "measure"]
        + [f"vs. {other}" for other in design.others]
        + ["vs. before"] * has_changes
        + list(design.ccas),
        (
            [cell.case.network.name, measured(cell)]
            + [JUDGEMENTS[each.judgement] for each in cell.comparisons]
            + [JUDGEMENTS[cell.change.judgement] if cell.change else ""] * has_changes
            + [shown(cell, cca) for cca in design.ccas]
            for cell in one.cells
        ),
    )
    for cca, reason in one.errors.items():
        yield f"\n**{cca}: a run failed.** {reason}"
    if one.search:
        yield f"\n{one.search}"
    yield ""
    yield from (f"![{picture.caption}]({FIGURES}/{picture.name}.svg)" for picture in one.pictures)
    yield ""
    yield from (f"    {text}" for text in one.commands.values())


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (titles, ["---"] * len(titles), *rows):
        yield "| " + " | ".join(text.replace("|", "\\|") for text in row) + " |"
