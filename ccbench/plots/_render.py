# SPDX-License-Identifier: Apache-2.0
"""Drawing of panels, in the looks and sizes of a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Ellipse

from ccbench.base.figures import Figure
from ccbench.plots import paper
from ccbench.plots._panel import Box, Cloud, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ccbench.plots._panel import Item, Panel

__all__ = ["render"]

_HEIGHT_INCHES = 1.9


def render(panels: Sequence[Panel], *, columns: int = 2) -> Figure:
    """Return a figure with panels below each other.

    Panels with lines over the same quantity share the x axis.

    Parameters
    ----------
    panels : sequence of Panel
    columns : 1 or 2
        Width in columns of a paper.
    """
    labels = list(dict.fromkeys(item.label for panel in panels for item in panel.items))
    with paper.text_sizes():
        width = paper.WIDTHS_INCHES[columns]
        # Two rows of a legend fit into the margin.
        height = (
            0.5 + _HEIGHT_INCHES * len(panels) + max(0.0, paper.legend_inches(labels, width) - 0.28)
        )
        figure = Figure(figsize=(width, height), layout="constrained")
        shares = len({panel.x for panel in panels}) == 1
        axes = figure.subplots(len(panels), sharex=shares, squeeze=False)[:, 0]
        for own, panel in zip(axes, panels, strict=True):
            _draw(own, panel, labels)
            if not shares or own is axes[-1]:
                own.set_xlabel(panel.x)
        handles, names = axes[0].get_legend_handles_labels()
        if len(labels) > 1 and names:
            paper.add_legend(figure, handles, names)
    return figure


def _draw(axes: Axes, panel: Panel, labels: Sequence[str]) -> None:
    axes.set_xscale(panel.x_scale)
    boxes = [item for item in panel.items if isinstance(item, Box)]
    for item in panel.items:
        if not isinstance(item, Box):
            _draw_item(axes, item, labels.index(item.label))
    if boxes:
        drawn = axes.boxplot(
            [box.values for box in boxes],
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            medianprops={"color": "black"},
        )
        for patch, box in zip(drawn["boxes"], boxes, strict=True):
            patch.set_facecolor(paper.COLOURS[labels.index(box.label) % len(paper.COLOURS)] + "80")
        axes.set_xticks(range(1, len(boxes) + 1), [box.label for box in boxes])
    axes.set_ylabel(panel.y)
    axes.grid(alpha=0.3)
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    if panel.is_x_reversed:
        axes.invert_xaxis()


def _draw_item(axes: Axes, item: Item, number: int) -> None:
    colour = paper.COLOURS[number % len(paper.COLOURS)]
    if isinstance(item, Line):
        style = paper.STYLES[number % len(paper.STYLES)]
        drawn: Any = {"color": colour, "linestyle": style, "linewidth": 1.1, "label": item.label}
        if item.is_step:
            axes.step(item.x, item.y, where="post", **drawn)
        else:
            axes.plot(item.x, item.y, **drawn)
    elif isinstance(item, Cloud):
        marker = paper.MARKERS[number % len(paper.MARKERS)]
        axes.scatter(item.x, item.y, s=5, color=colour, marker=marker, alpha=0.35, linewidths=0)
        axes.plot(item.x.mean(), item.y.mean(), marker, color=colour, ms=5, label=item.label)
        axes.add_patch(_ellipse(item, colour))


def _ellipse(cloud: Cloud, colour: str) -> Ellipse:
    """Return the ellipse of one standard deviation in each principal direction."""
    centre = (float(cloud.x.mean()), float(cloud.y.mean()))
    if len(cloud.x) < 2:  # noqa: PLR2004 - a single point has no deviation
        return Ellipse(centre, 0, 0)
    lengths, axes = np.linalg.eigh(np.cov(cloud.x, cloud.y, ddof=0))
    deviations = np.sqrt(np.maximum(lengths, 0))
    angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
    return Ellipse(
        centre, 2 * deviations[1], 2 * deviations[0], angle=angle, fill=False, color=colour, lw=1.1
    )
