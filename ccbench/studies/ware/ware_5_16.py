# SPDX-License-Identifier: Apache-2.0
"""The progress of a search with a budget of 500 experiments (Ware 2024, Figure 5.16).

Links have a sixth of the rate and runs a sixth of the length, for the search and for the sweep
alike (:func:`ccbench.studies.ware.raygen.briefly`). Both are compared by the harm of their claims
with fresh seeds as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.raygen.figures import progress_table
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import (
    COLOURS,
    UNPUBLISHED,
    best,
    briefly,
    fresh_mean,
    labelled,
    of,
    reno_against_westwood,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult

_BUDGET, _USUAL = 500, 300
_WHERE = "section 5.5.1"
_GENETIC, _SWEEP = "genetic", "sweep"


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
    searches = [reno_against_westwood(name, quick=quick, full=full) for name in (_GENETIC, _SWEEP)]
    if quick:
        return tuple(searches)
    search, sweep = searches if full else map(briefly, searches)
    return replace(search, budget=_BUDGET), sweep


def _conclude(results: Sequence[SearchResult]) -> Findings:
    search, sweep = of(results, _GENETIC), of(results, _SWEEP)
    so_far = search.experiments["relative_harm"].cummax()
    usual = float(so_far.head(_USUAL).iloc[-1])
    return Findings(
        table=pd.concat(
            [labelled(result, progress_table(result.experiments)) for result in results],
            ignore_index=True,
        ),
        figure=_figure(search, sweep),
        comparisons=(
            Comparison(
                quantity=f"best of {len(so_far)} experiments minus the sweep's best",
                measured=best(search) - best(sweep),
                published=at_least(0, _WHERE, text="even worse harm than the parameter sweep"),
                note=f"Best of the sweep's {len(sweep.experiments)}: {best(sweep):+.3f}; of the "
                f"search's first {_USUAL}: {usual:+.3f}, of all: {best(search):+.3f}.",
            ),
            Comparison(
                quantity=f"best of all experiments minus the best of the first {_USUAL}",
                measured=best(search) - usual,
                published=at_least(0, _WHERE, text="improves with the budget"),
            ),
            Comparison(
                quantity="claims of the search minus those of the sweep, means with fresh seeds",
                measured=fresh_mean(search) - fresh_mean(sweep),
                published=UNPUBLISHED,
            ),
        ),
    )


def _figure(search: SearchResult, sweep: SearchResult) -> Figure:
    figure = Figure(figsize=(5.5, 3.6), layout="constrained")
    axes = figure.subplots()
    so_far = search.experiments["relative_harm"].cummax()
    axes.step(so_far.index + 1, so_far, where="post", color=COLOURS[_GENETIC], label="best")
    last = progress_table(search.experiments).reset_index().groupby("generation").last()
    axes.plot(
        last["experiments"],
        last["percentile_90"],
        "o:",
        color=COLOURS[_GENETIC],
        label="90th percentile",
    )
    label = f"best of the sweep ({len(sweep.experiments)})"
    axes.axhline(best(sweep), color=COLOURS[_SWEEP], linestyle="--", label=label)
    axes.axvline(_USUAL, color="0.8")
    axes.set_xlabel("experiments")
    axes.set_ylabel("relative harm")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure


STUDY = SearchStudy(
    info=info("ware-5.16"),
    searches=_searches,
    conclude=_conclude,
)
