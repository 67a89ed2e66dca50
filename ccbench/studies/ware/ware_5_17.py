# SPDX-License-Identifier: Apache-2.0
"""The most harmful scenarios of each strategy, in three repetitions (Ware 2024, Figure 5.17).

The thesis only repeats RayGen, and compares all three repetitions with one random search. Here each
repetition has its own random search, which starts with the same 60 scenarios.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import (
    STRATEGIES,
    TOP,
    differences,
    draw_top,
    of,
    reno_against_westwood,
    top_median,
    top_table,
    unpublished_comparisons,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
    searches = [
        reno_against_westwood(strategy, seed, quick=quick)
        for seed in ((1, 2) if quick else (1, 2, 3))
        for strategy in STRATEGIES
    ]
    return (*searches, reno_against_westwood("sweep", quick=quick, full=full))


def _conclude(results: Sequence[SearchResult]) -> Findings:
    sweep = of(results, "sweep")
    repeated = [result for result in results if result is not sweep]
    seeds = sorted({result.config.seed for result in repeated})
    figure = Figure(figsize=(4 * len(seeds), 4), layout="constrained")
    columns = figure.subplots(1, len(seeds), sharex=True, sharey=True, squeeze=False)[0]
    for axes, seed in zip(columns, seeds, strict=True):
        draw_top(axes, [*(r for r in repeated if r.config.seed == seed), sweep])
        axes.set_title(f"repetition {seed}")
        axes.label_outer()
    more = differences(repeated, "genetic", "random", top_median)
    better = Comparison(
        quantity=f"repetitions in which genetic's median of the top {TOP} is above random's",
        measured=float(sum(value > 0 for value in more.values)),
        published=exactly(len(seeds), "caption of Figure 5.17", text="all"),
        note=f"{', '.join(f'{value:+.3f}' for value in more.values)}.",
    )
    return Findings(
        table=top_table(results),
        figure=figure,
        comparisons=(better, *unpublished_comparisons(repeated)),
    )


STUDY = SearchStudy(
    info=info("ware-5.17"),
    searches=_searches,
    conclude=_conclude,
)
