# SPDX-License-Identifier: Apache-2.0
"""The HTML page of an evaluation."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from ccbench.evaluate.report.content import SCENARIOS, command
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
from ccbench.pages import FIGURES, rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.evaluate.design import Case
    from ccbench.evaluate.evaluation import Cell, Evaluation
    from ccbench.evaluate.report.content import Detail, Row

__all__ = ["page_of"]


def page_of(evaluation: Evaluation, rows: Sequence[Row], details: Sequence[Detail]) -> str:
    """Return the page of an evaluation."""
    design = evaluation.design
    return rendered(
        "ccbench.evaluate",
        "report",
        "page.html",
        candidate=design.candidate,
        pack=design.pack,
        extent=design.extent,
        lead=lead(evaluation),
        others=design.others,
        ccas=design.ccas,
        compared=(design.candidate, *design.others),
        has_changes=evaluation.has_changes,
        judgements=JUDGEMENTS,
        summary=rows,
        failures=evaluation.failures,
        regressions=evaluation.regressions,
        worse=found(evaluation, "worse"),
        better=found(evaluation, "better"),
        by_case=_by_case,
        all_others=" and ".join(design.others),
        has_obligations=any(row.obligation for row in rows),
        details=[one for one in details if not one.criterion.question],
        questions=[one for one in details if one.criterion.question],
        method=METHOD,
        facts=facts(evaluation),
        again=command(evaluation),
        where=where,
        short=short,
        before=before,
        shown=shown,
        measured=measured,
        figures=FIGURES,
        scenarios=SCENARIOS,
        made_by=f"ccbench {evaluation.provenance.get('ccbench', '')}".strip(),
    )


def _by_case(cells: Iterable[Cell]) -> list[tuple[Case, list[Cell]]]:
    groups = (list(group) for _, group in groupby(cells, key=lambda cell: cell.case.key))
    return [(group[0].case, group) for group in groups]
