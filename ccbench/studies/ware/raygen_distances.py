# SPDX-License-Identifier: Apache-2.0
"""Distances between the most harmful scenarios: what Ware's Figures 5.14 and 5.19 have in common.

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

from ccbench.studies.ware.raygen import COLOURS, draw_cdf, labelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ccbench.raygen import SearchResult

__all__ = ["TOP", "distances", "draw"]

#: Number of most harmful scenarios compared in the thesis.
TOP = 20
_SCALE = ("genetic", "random")


def distances(results: Sequence[SearchResult]) -> pd.DataFrame:
    """Return the distances between the most harmful scenarios of each search.

    Parameters
    ----------
    results : sequence of SearchResult
        Searches with different strategies, among them the genetic algorithm and random search.

    Returns
    -------
    DataFrame
        A row per pair, with the identity of the search and the column ``distance``.
    """
    tops = {result.config.strategy: _top(result) for result in results}
    pooled = pd.concat([tops[name] for name in _SCALE])
    low, span = pooled.min(), pooled.max() - pooled.min()
    scaled = {name: (top - low) / span.where(span > 0, 1.0) for name, top in tops.items()}
    return pd.concat(
        [
            labelled(result, pd.DataFrame({"distance": pdist(top.to_numpy())}))
            for result, top in zip(results, scaled.values(), strict=True)
        ],
        ignore_index=True,
    )


def draw(axes: Axes, table: pd.DataFrame) -> None:
    """Draw the distributions of the distances by strategy."""
    for strategy, rows in table.groupby("strategy", sort=False):
        draw_cdf(axes, rows["distance"], str(strategy), color=COLOURS[str(strategy)])
    axes.set_xlabel(f"distance between two of the top {TOP}")
    axes.set_ylabel("share of pairs")
    axes.legend(fontsize="small")


def _top(result: SearchResult) -> pd.DataFrame:
    """Return the genes of the most harmful scenarios."""
    genes = [gene.name for gene in result.config.space.genes]
    return result.worst(TOP)[genes].astype(float)
