# SPDX-License-Identifier: Apache-2.0
"""The most harmful scenarios by what found them (Ware 2024, Figure 5.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.studies.catalogue import about
from ccbench.studies.study import Findings, SearchStudy
from ccbench.studies.ware_raygen import (
    STRATEGIES,
    draw_top,
    reno_against_westwood,
    top_comparisons,
    top_table,
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
    return Findings(table=top_table(results), figure=figure, comparisons=top_comparisons(results))


STUDY = SearchStudy(
    about=about("ware-5.13"),
    searches=_searches,
    conclude=_conclude,
)
