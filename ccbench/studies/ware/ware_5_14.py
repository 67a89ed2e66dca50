# SPDX-License-Identifier: Apache-2.0
"""Distances between the most harmful scenarios (Ware 2024, Figure 5.14).

The thesis normalises each gene by its maximum and minimum, "so the ranges of the values does not
impact the distance", and then takes Euclidean distances.

A choice left open by the thesis: it does not state the set of scenarios of these maxima and minima.
Here it is the set of compared scenarios, the top 20 of the genetic algorithm and of random search
together: with ranges of each search's own, twenty nearly equal scenarios would look as varied as
twenty from the whole space. The surrogate's scenarios, which the thesis does not have, use the same
scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from scipy.spatial.distance import pdist

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import similar
from ccbench.studies.study import Comparison, Findings, SearchStudy
from ccbench.studies.ware.raygen import (
    COLOURS,
    STRATEGIES,
    UNPUBLISHED,
    draw_cdf,
    labelled,
    of,
    reno_against_westwood,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchConfig, SearchResult

#: Number of most harmful scenarios compared in the thesis.
_TOP = 20


def _searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:  # noqa: ARG001 - as published
    return tuple(reno_against_westwood(strategy, quick=quick) for strategy in STRATEGIES)


def _conclude(results: Sequence[SearchResult]) -> Findings:
    tops = {name: _top(of(results, name)) for name in STRATEGIES}
    pooled = pd.concat([tops["genetic"], tops["random"]])
    low, span = pooled.min(), pooled.max() - pooled.min()
    scaled = {name: (top - low) / span.where(span > 0, 1.0) for name, top in tops.items()}
    table = pd.concat(
        [
            labelled(of(results, name), pd.DataFrame({"distance": pdist(top.to_numpy())}))
            for name, top in scaled.items()
        ],
        ignore_index=True,
    )
    median = table.groupby("strategy")["distance"].median()
    in_words = ", ".join(f"{strategy} {median[strategy]:.2f}" for strategy in STRATEGIES)
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="median distance, genetic by random",
                measured=100 * float(median["genetic"] / median["random"]),
                published=similar(100, "section 5.5", text="as much variety"),
                unit="%",
                note=f"Medians: {in_words}.",
            ),
            Comparison(
                quantity="median distance, surrogate by random",
                measured=100 * float(median["surrogate"] / median["random"]),
                published=UNPUBLISHED,
                unit="%",
            ),
        ),
    )


def _top(result: SearchResult) -> pd.DataFrame:
    """Return the genes of the most harmful scenarios."""
    genes = [gene.name for gene in result.config.space.genes]
    return result.worst(_TOP)[genes].astype(float)


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
    info=info("ware-5.14"),
    searches=_searches,
    conclude=_conclude,
)
