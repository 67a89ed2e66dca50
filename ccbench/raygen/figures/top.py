# SPDX-License-Identifier: Apache-2.0
"""Distributions of harm and diversity of the most harmful scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ccbench.base.figures import Figure
from ccbench.raygen.analysis.diversity import distances
from ccbench.raygen.figures.style import ALPHA_COLOUR, COLOURS, SHOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ccbench.raygen.result import SearchResult

__all__ = ["TOP", "distances_figure", "top_figure"]

_Array: TypeAlias = "npt.NDArray[np.float64]"

#: Number of the most harmful scenarios in the distributions of harm (Ware, Figure 5.13).
TOP = 100


def top_figure(result: SearchResult, baselines: Mapping[str, SearchResult]) -> Figure:
    """Draw the distribution of the harm in the most harmful scenarios (Ware, Figure 5.13).

    Parameters
    ----------
    result, baselines
        See :func:`progress_figure`.

    Returns
    -------
    Figure
        Cumulative distribution of relative harm in the :data:`TOP` worst scenarios of each search.

    Examples
    --------
    >>> top_figure(result, {"once more": result})  # doctest: +SKIP
    """
    worst = {
        name: search.worst(TOP)["relative_harm"].to_numpy(dtype=np.float64)
        for name, search in {"this search": result, **baselines}.items()
    }
    return _distributions(worst, xlabel=result.config.harm_words, ylabel="fraction of scenarios")


def distances_figure(result: SearchResult, baselines: Mapping[str, SearchResult]) -> Figure:
    """Draw the distribution of distances between the most harmful scenarios (Ware, Figure 5.14).

    Parameters
    ----------
    result, baselines
        See :func:`progress_figure`.

    Returns
    -------
    Figure
        Cumulative distribution of the distances between all pairs of the 20 worst scenarios of each
        search; see :func:`~ccbench.raygen.analysis.diversity.distances`.

    Examples
    --------
    >>> distances_figure(result, {})  # doctest: +SKIP
    """
    space = result.config.space
    return _distributions(
        {
            name: distances(space, search.worst(SHOWN))
            for name, search in {"this search": result, **baselines}.items()
        },
        xlabel="distance in the space, each gene scaled to 0 to 1",
        ylabel="fraction of pairs",
    )


def _distributions(samples: Mapping[str, _Array], *, xlabel: str, ylabel: str) -> Figure:
    figure = Figure(figsize=(5.5, 4), layout="constrained")
    axes = figure.subplots()
    for (name, sample), colour in zip(samples.items(), (ALPHA_COLOUR, *COLOURS), strict=False):
        if len(sample):
            axes.ecdf(sample, color=colour, linewidth=2)
        axes.plot([], [], color=colour, linewidth=2, label=f"{name}: {len(sample)}")
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=1, frameon=False)
    return figure
