# SPDX-License-Identifier: Apache-2.0
"""Distances between the most harmful scenarios in the repetitions (Ware 2024, Figure 5.19).

:mod:`ccbench.studies.ware.raygen_distances` defines the distances. All repetitions
are compared with one random search, as in the thesis. Links have a sixth of the rate and runs a
sixth of the length (:func:`ccbench.studies.ware.raygen.briefly`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import similar
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import briefly, reno_against_westwood
from ccbench.studies.ware.raygen_distances import distances, draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult

_WHERE = "section 5.5.2"


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
    searches = (
        *(
            reno_against_westwood("genetic", seed, quick=quick)
            for seed in ((1, 2) if quick else (1, 2, 3))
        ),
        reno_against_westwood("random", quick=quick),
    )
    return tuple(searches) if quick or full else tuple(map(briefly, searches))


def _conclude(results: Sequence[SearchResult]) -> Findings:
    *repetitions, random = results
    table = pd.concat(
        [
            distances((result, random)).assign(repetition=result.config.seed)
            for result in repetitions
        ],
        ignore_index=True,
    )
    medians = table.pivot_table("distance", "repetition", "strategy", aggfunc="median")
    genetic = medians["genetic"]
    figure = Figure(figsize=(3.2 * len(repetitions), 3.2), layout="constrained")
    panels = figure.subplots(1, len(repetitions), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (number, rows) in zip(panels, table.groupby("repetition"), strict=True):
        draw(axes, rows)
        axes.set_title(f"repetition {number}", fontsize="medium")
        axes.label_outer()
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="median distance, genetic ÷ random, mean of the repetitions",
                measured=Estimate(100 * genetic / medians["random"]),
                published=similar(100, _WHERE, text="a variety: the same as in Figure 5.14"),
                unit="%",
            ),
            Comparison(
                quantity="genetic: smallest median distance of a repetition ÷ the largest",
                measured=100 * float(genetic.min() / genetic.max()),
                published=similar(
                    100, "caption of Figure 5.19", text="similar results across runs"
                ),
                unit="%",
                note=", ".join(f"{value:.2f}" for value in genetic) + ".",
            ),
        ),
    )


STUDY = SearchStudy(
    info=info("ware-5.19"),
    searches=_searches,
    conclude=_conclude,
)
