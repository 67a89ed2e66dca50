# SPDX-License-Identifier: Apache-2.0
"""How different the most harmful scenarios are (Ware 2024, Figure 5.14).

The thesis scales each gene by "max-min"; :func:`ccbench.raygen.diversity.distances` says of what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from ccbench.raygen.diversity import distances
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware_raygen import (
    COLOURS,
    STRATEGIES,
    UNPUBLISHED,
    draw_cdf,
    labelled,
    reno_against_westwood,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult

#: The thesis compares so many of the most harmful scenarios.
_TOP = 20
#: The median distance of twenty scenarios that are drawn at random has a standard deviation of
#: 5.5 %. So "as much" is here: not less by more than about two of them.
_AS_MUCH_PERCENT = 90.0


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:  # noqa: ARG001 - as published
    return tuple(reno_against_westwood(strategy, quick=quick) for strategy in STRATEGIES)


def _conclude(results: Sequence[SearchResult]) -> Findings:
    table = pd.concat(
        [
            labelled(
                result,
                pd.DataFrame({"distance": distances(result.config.space, result.worst(_TOP))}),
            )
            for result in results
        ],
        ignore_index=True,
    )
    median = table.groupby("strategy")["distance"].median()
    in_words = ", ".join(f"{strategy} {median[strategy]:.2f}" for strategy in STRATEGIES)
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=tuple(
            Comparison(
                what=f"median distance, {strategy} by random",
                ours=100 * float(median[strategy] / median["random"]),
                published=published,
                accepted=(_AS_MUCH_PERCENT, 1000),
                unit="%",
                note=note,
            )
            for strategy, published, note in (
                ("genetic", "as much", f"Medians: {in_words}."),
                ("surrogate", UNPUBLISHED, ""),
            )
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for strategy in STRATEGIES:
        values = table.loc[table["strategy"] == strategy, "distance"]
        draw_cdf(axes, values, strategy, color=COLOURS[strategy])
    axes.set_xlabel(f"distance between two of the top {_TOP}")
    axes.set_ylabel("share of pairs")
    axes.legend(fontsize="small")
    return figure


STUDY = SearchStudy(
    about=about("ware-5.14"),
    searches=_searches,
    conclude=_conclude,
)
