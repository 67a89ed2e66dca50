# SPDX-License-Identifier: Apache-2.0
"""Distances between the most harmful scenarios (Ware 2024, Figure 5.14).

:mod:`ccbench.studies.ware.raygen_distances` defines the distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import similar
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import STRATEGIES, UNPUBLISHED, reno_against_westwood
from ccbench.studies.ware.raygen_distances import distances, draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:  # noqa: ARG001 - as published
    return tuple(reno_against_westwood(strategy, quick=quick) for strategy in STRATEGIES)


def _conclude(results: Sequence[SearchResult]) -> Findings:
    table = distances(results)
    median = table.groupby("strategy")["distance"].median()
    in_words = ", ".join(f"{strategy} {median[strategy]:.2f}" for strategy in STRATEGIES)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    draw(figure.subplots(), table)
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="median distance, genetic ÷ random",
                measured=100 * float(median["genetic"] / median["random"]),
                published=similar(100, "section 5.5", text="as much variety"),
                unit="%",
                note=f"Medians: {in_words}.",
            ),
            Comparison(
                quantity="median distance, surrogate ÷ random",
                measured=100 * float(median["surrogate"] / median["random"]),
                published=UNPUBLISHED,
                unit="%",
            ),
        ),
    )


STUDY = SearchStudy(
    info=info("ware-5.14"),
    searches=_searches,
    conclude=_conclude,
)
