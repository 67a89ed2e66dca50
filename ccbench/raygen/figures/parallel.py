# SPDX-License-Identifier: Apache-2.0
"""Parallel coordinates of the most harmful scenarios."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.ticker import MaxNLocator

from ccbench.base.figures import Figure
from ccbench.raygen.analysis.diversity import finished
from ccbench.raygen.figures.gene_axis import GeneAxis
from ccbench.raygen.figures.style import SHOWN, quantity_name

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.raygen.result import SearchResult

__all__ = ["parallel_figure"]

#: Width of an axis in inches, and maximum characters in a line of its name.
_AXIS_INCHES, _NAME_COLUMNS = 0.8, 10

_Array: TypeAlias = "npt.NDArray[np.float64]"


def parallel_figure(result: SearchResult) -> Figure:
    """Draw a line for each of the most harmful scenarios, with an axis for each gene.

    Parameters
    ----------
    result : SearchResult

    Returns
    -------
    Figure
        Up to 20 worst scenarios in colour, with more harmful ones in front; all other experiments
        in grey. The last axis is relative harm.

    Examples
    --------
    >>> parallel_figure(result)  # doctest: +SKIP
    """
    genes = [gene for gene in result.config.space.genes if gene.size > 1]
    table = finished(result.config.space, result.experiments)
    worst = result.worst(SHOWN)
    low, high = float(table["relative_harm"].min()), float(table["relative_harm"].max())
    axes_of = [GeneAxis(gene) for gene in genes]

    def lines(rows: pd.DataFrame) -> _Array:
        harm = (rows["relative_harm"].to_numpy() - low) / max(high - low, 1e-9)
        return np.column_stack([*(axis.positions(rows) for axis in axes_of), harm])

    width = max(5.5, _AXIS_INCHES * (len(genes) + 1))
    figure = Figure(figsize=(width, 4.4), layout="constrained")
    axes = figure.subplots()
    positions = np.arange(len(genes) + 1)
    axes.plot(positions, lines(table).T, color="0.5", linewidth=0.4, alpha=0.25)
    limits = Normalize(float(worst["relative_harm"].min()), float(worst["relative_harm"].max()))
    # The ends of the colour map are too dark or too light.
    colour_map = ListedColormap(colormaps["plasma"](np.linspace(0.2, 0.8, 256)))
    colours = ScalarMappable(limits, colour_map)
    for line, harm in zip(lines(worst)[::-1], worst["relative_harm"][::-1], strict=True):
        axes.plot(positions, line, color=colours.to_rgba(harm), linewidth=1.6, alpha=0.9)
    ticks = [axis.ticks() for axis in axes_of]
    numbers = [tick for tick in MaxNLocator(6).tick_values(low, high) if low <= tick <= high]
    ticks.append(
        ([(tick - low) / max(high - low, 1e-9) for tick in numbers], [f"{n:.2g}" for n in numbers])
    )
    for position, (heights, labels) in zip(positions, ticks, strict=True):
        axes.axvline(float(position), color="0.5", linewidth=0.8)
        side, align = (-4, "right") if position < len(genes) else (4, "left")
        for height, label in zip(heights, labels, strict=True):
            axes.annotate(
                label,
                (position, height),
                xytext=(side, 0),
                textcoords="offset points",
                ha=align,
                va="center",
                fontsize="small",
                bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5},
            )
    names = [*(quantity_name(result.config, gene) for gene in genes), result.config.harm_words]
    axes.set_xticks(positions, [fill(name, _NAME_COLUMNS) for name in names], fontsize="small")
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.set_xlim(-0.35, len(genes) + 0.3)
    axes.set_ylim(-0.04, 1.04)
    axes.spines[:].set_visible(False)
    label = f"{result.config.harm_words} of the {len(worst)} worst"
    figure.colorbar(colours, ax=axes, label=label, location="bottom", aspect=40)
    return figure
