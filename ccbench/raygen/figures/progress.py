# SPDX-License-Identifier: Apache-2.0
"""Progress of a search over generations and experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.ticker import MaxNLocator

from ccbench.base.figures import Figure
from ccbench.raygen.figures.style import ALPHA_COLOUR, COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.raygen.result import SearchResult

__all__ = ["progress_figure", "progress_table"]


def progress_table(experiments: pd.DataFrame) -> pd.DataFrame:
    """Return the progress of a search after each experiment.

    Parameters
    ----------
    experiments : DataFrame
        Experiments of a :class:`~ccbench.raygen.SearchResult`.

    Returns
    -------
    DataFrame
        Index: number of experiments so far. Columns: ``generation``; ``best`` and
        ``percentile_90`` of the relative harm of all successful experiments so far.

    Examples
    --------
    >>> table = pd.DataFrame({"generation": [1, 1, 2], "relative_harm": [0.1, 0.3, 0.2]})
    >>> progress_table(table)["best"].to_list()
    [0.1, 0.3, 0.3]
    """
    so_far = experiments["relative_harm"].expanding(min_periods=1)
    return pd.DataFrame(
        {
            "generation": experiments["generation"].to_numpy(),
            "best": so_far.max().to_numpy(),
            "percentile_90": so_far.quantile(0.9).to_numpy(),
        },
        index=pd.RangeIndex(1, len(experiments) + 1, name="experiments"),
    )


def progress_figure(result: SearchResult, baselines: Mapping[str, SearchResult]) -> Figure:
    """Draw the greatest harm so far over the course of a search (Ware, Figure 5.15).

    Parameters
    ----------
    result : SearchResult
    baselines : mapping
        Other searches by name. Without baselines, the first generation is the baseline if it is
        random.

    Returns
    -------
    Figure
        Maximum and 90th percentile of the relative harm of all experiments so far: after each
        generation above, after each experiment below, where points are single experiments.

    Examples
    --------
    >>> progress_figure(result, {})  # doctest: +SKIP
    """
    table = progress_table(result.experiments)
    figure = Figure(figsize=(5.5, 6.5), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharey=True)
    generations = table.groupby("generation").last()
    harm = result.experiments["relative_harm"]
    lower.plot(table.index, harm, "o", markersize=2.5, color="0.6", alpha=0.6, zorder=1)
    levels = _levels(result, baselines)
    for axes, rows, marker in ((upper, generations, "o"), (lower, table, "")):
        style = {"marker": marker, "markersize": 4, "zorder": 3, "color": ALPHA_COLOUR}
        axes.plot(rows.index, rows["best"], label="best so far", **style)
        axes.plot(rows.index, rows["percentile_90"], "--", label="90th percentile so far", **style)
        for (name, level), colour in zip(levels.items(), COLOURS, strict=False):
            axes.axhline(level, color=colour, linestyle=":", linewidth=1.5, label=name, zorder=2)
        axes.grid(alpha=0.3)
    upper.xaxis.set_major_locator(MaxNLocator(integer=True))
    upper.set_xlabel("generation")
    upper.set_ylabel(result.config.harm_words)
    lower.set_ylabel(result.config.harm_words)
    lower.set_xlabel("experiments")
    lower.set_xlim(0, len(table) + 1)
    figure.legend(
        *upper.get_legend_handles_labels(), loc="outside lower center", ncols=1, frameon=False
    )
    return figure


def _levels(result: SearchResult, baselines: Mapping[str, SearchResult]) -> dict[str, float]:
    """Return the levels of the baselines."""
    if baselines:
        return {
            f"best of {name}": float(other.experiments["relative_harm"].max())
            for name, other in baselines.items()
        }
    if not result.config.begins_at_random:
        return {}
    table = result.experiments
    first = table.loc[table["generation"] == 1, "relative_harm"]
    return {
        f"best of the first {len(first)}, random": float(first.max()),
        f"90th percentile of the first {len(first)}": float(first.quantile(0.9)),
    }
