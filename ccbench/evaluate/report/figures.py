# SPDX-License-Identifier: Apache-2.0
"""Figures of an evaluation's report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from ccbench.evaluate.evaluation import Cell

__all__ = ["course_figure", "values_figure"]

#: Colours (Okabe and Ito) and markers of congestion controls: the candidate first.
_STYLES = (
    ("#d55e00", "o"),
    ("#0072b2", "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
    ("#e69f00", "v"),
    ("#56b4e9", "P"),
)
#: Line styles of groups of flows.
_LINES = ("-", "--", ":", "-.")
_WIDTH = 5.5


def values_figure(cells: Sequence[Cell], ccas: Sequence[str]) -> Figure:
    """Draw the medians and intervals of a criterion: a panel per measure, a row per network."""
    measures = list(dict.fromkeys((cell.title, cell.measure.unit) for cell in cells))
    networks = list(dict.fromkeys(cell.case.network.name for cell in cells))
    height = 0.55 + 0.5 + len(measures) * (0.75 + 0.13 * len(ccas) * len(networks))
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    panels = figure.subplots(len(measures), 1, squeeze=False)[:, 0]
    for axes, (title, unit) in zip(panels, measures, strict=True):
        own = [cell for cell in cells if cell.title == title]
        for cell in own:
            row = networks.index(cell.case.network.name)
            for i, cca in enumerate(ccas):
                _draw_value(axes, cell, cca, row + _offset(i, len(ccas)), i)
        axes.set_xlabel(f"{title} ({unit})" if unit else title)
        axes.set_yticks(range(len(networks)), networks if len(networks) > 1 else [""])
        axes.set_ylim(len(networks) - 0.5, -0.5)
        low, high = axes.get_xlim()
        axes.set_xlim(min(0.0, low), high + 0.03 * (high - min(0.0, low)))
        axes.grid(alpha=0.3, axis="x")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(ccas),
        frameon=False,
        fontsize="small",
    )
    return figure


def _offset(i: int, count: int) -> float:
    return (i - (count - 1) / 2) * 0.7 / count


def _draw_value(axes: Axes, cell: Cell, cca: str, y: float, style: int) -> None:
    colour, marker = _STYLES[style % len(_STYLES)]
    value, low, high = (
        number * cell.measure.scale for number in (cell.median(cca), *cell.interval(cca))
    )
    label = cca if not any(one.get_label() == cca for one in axes.lines) else None
    axes.plot([value], [y], marker, color=colour, markersize=5, label=label)
    if math.isfinite(low) and math.isfinite(high):
        axes.plot([low, high], [y, y], color=colour, linewidth=1.5)


def course_figure(
    series: Mapping[str, Mapping[str, list[float]]], marks_s: Sequence[float]
) -> Figure:
    """Draw the throughput of each group over time, a panel per congestion control.

    Parameters
    ----------
    series : mapping
        By congestion control; see :attr:`Evaluation.series`.
    marks_s : sequence of float
        Times of changes of the path.
    """
    figure = Figure(figsize=(_WIDTH, 0.6 + 1.35 * len(series)), layout="constrained")
    panels = figure.subplots(len(series), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for i, (axes, (cca, lines)) in enumerate(zip(panels, series.items(), strict=True)):
        colour, _ = _STYLES[i % len(_STYLES)]
        groups = [name for name in lines if name != "time_s"]
        for j, group in enumerate(groups):
            label = cca if group == "candidate" else group
            own = colour if group == "candidate" or len(groups) == 1 else "0.45"
            line = _LINES[(j if own == "0.45" else 0) % len(_LINES)]
            axes.plot(lines["time_s"], lines[group], line, color=own, linewidth=1.2, label=label)
        for mark in marks_s:
            axes.axvline(mark, color="0.6", linewidth=0.8, linestyle=":")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1, 0.97),
            fontsize="x-small",
            frameon=False,
            ncols=4,
            borderaxespad=0,
        )
    panels[-1].set_xlabel("time (s)")
    panels[-1].set_xlim(left=0)
    figure.supylabel("throughput (Mbit/s)", fontsize="medium")
    return figure
