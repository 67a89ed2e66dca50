# SPDX-License-Identifier: Apache-2.0
"""Rendering of a report's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.pages import FIGURES, rendered
from ccbench.raygen.analysis.importance import importance
from ccbench.raygen.analysis.regions import regions
from ccbench.raygen.page.tables import all_columns, failure_columns, gene_column, worst_columns
from ccbench.raygen.page.words import (
    facts,
    harm_words,
    heat_map_words,
    importance_words,
    importances,
    lead,
    simplest_words,
    unfinished,
    worst_words,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.pages import Picture
    from ccbench.raygen.analysis.predictor import Predictor
    from ccbench.raygen.page.cards import Card
    from ccbench.raygen.result import SearchResult

__all__ = ["page_of"]


def page_of(  # noqa: PLR0913 - parts of the page
    result: SearchResult,
    folder: Path,
    cards: Sequence[Card],
    predictor: Predictor,
    *,
    course: Sequence[Picture],
    landscape: Sequence[Picture],
) -> str:
    """Return the HTML page of a search.

    Parameters
    ----------
    result : SearchResult
    folder : Path
        Its folder.
    cards : sequence of Card
        The worst networks, in descending order of harm.
    predictor : Predictor
        Model of harm, fitted to the experiments.
    course, landscape : sequence of Picture
        Figures of the progress of the search, and of harm over the search space.
    """
    config, table = result.config, result.experiments
    genes = [gene_column(config, gene) for gene in config.space.genes]
    by_gene = importance(config.space, table)
    return rendered(
        "ccbench.raygen",
        "page",
        "report.html",
        alpha=config.alpha,
        beta=config.beta,
        measure=config.harm_words.capitalize(),
        definition=config.maximised.definition(config.alpha, config.beta),
        lead=lead(result, cards),
        unfinished=unfinished(result),
        facts=facts(result),
        worst_words=worst_words(result),
        worst_columns=worst_columns(result, genes),
        cards=cards,
        simplest=simplest_words(result, folder),
        regions=[
            {
                "where": region.where(config.alpha, config.beta),
                "harm": harm_words(region.lowest_harm, region.highest_harm, len(region.members)),
                "evidence": f"The rule {region.evidence()}.",
            }
            for region in regions(config.space, table)
        ],
        importances=importances(config, by_gene.genes),
        importance_words=importance_words(by_gene.explained),
        landscape=landscape,
        heat_map_words=heat_map_words(result, predictor),
        course=course,
        failures=result.failed.to_dict("records"),
        failure_columns=failure_columns(genes),
        columns=[
            column
            for column in all_columns(config, genes)
            if column.is_number or (table[column.name] != "").any()
        ],
        rows=table.to_dict("records"),
        made_by=f"ccbench {result.provenance['ccbench']}",
        figures=FIGURES,
    )
