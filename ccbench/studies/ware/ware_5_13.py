# SPDX-License-Identifier: Apache-2.0
"""The most harmful scenarios of each strategy (Ware 2024, Figure 5.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import (
    STRATEGIES,
    TOP,
    differences,
    draw_top,
    reno_against_westwood,
    top_median,
    top_table,
    unpublished_comparisons,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
    return tuple(
        reno_against_westwood(strategy, quick=quick, full=full)
        for strategy in (*STRATEGIES, "sweep")
    )


def _conclude(results: Sequence[SearchResult]) -> Findings:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    draw_top(figure.subplots(), results)
    better = Comparison(
        quantity=f"genetic minus random: median of the top {TOP}",
        measured=differences(results, "genetic", "random", top_median),
        published=at_least(0, "caption of Figure 5.13", text="more harmful scenarios"),
    )
    return Findings(
        table=top_table(results),
        figure=figure,
        comparisons=(better, *unpublished_comparisons(results)),
    )


STUDY = SearchStudy(
    info=info("ware-5.13"),
    searches=_searches,
    conclude=_conclude,
)
