# SPDX-License-Identifier: Apache-2.0
"""Looks and sizes of figures in a paper.

Items differ by colour (those of Okabe and Ito, safe for colour-blind readers) and by line style and
marker, which remain in grey. Figures have the width of a paper's columns, no text is smaller than
7 pt, and the legend is above the panels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from ccbench.base.figures import Figure

__all__ = [
    "COLOURS",
    "MARKERS",
    "STYLES",
    "WIDTHS_INCHES",
    "add_legend",
    "legend_inches",
    "text_sizes",
]

#: Width of a figure by the number of columns of a paper (ACM and IEEE).
WIDTHS_INCHES = {1: 3.33, 2: 7.0}

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

#: Size of a legend's entry: its line, a character of its name, and a row.
_HANDLE_INCHES, _CHARACTER_INCHES, _ROW_INCHES = 0.5, 0.058, 0.14
_POINTS = 8
_SMALL_POINTS = 7


def text_sizes() -> AbstractContextManager[None]:
    """Return a context in which figures have the text sizes of a paper."""
    sizes: dict[Any, Any] = {
        "font.size": _POINTS,
        "axes.titlesize": _POINTS,
        "legend.fontsize": _SMALL_POINTS,
        "legend.title_fontsize": _SMALL_POINTS,
        "xtick.labelsize": _SMALL_POINTS,
        "ytick.labelsize": _SMALL_POINTS,
    }
    return mpl.rc_context(sizes)


def add_legend(
    figure: Figure, handles: Sequence[Any], names: Sequence[str], title: str | None = None
) -> None:
    """Add a legend above all panels, in as many rows as the figure's width needs."""
    figure.legend(
        handles,
        names,
        title=title,
        loc="outside upper center",
        ncols=_legend_columns(names, figure.get_figwidth()),
        frameon=False,
    )


def legend_inches(names: Sequence[str], width_inches: float) -> float:
    """Return the height of a legend in a figure of some width.

    Examples
    --------
    >>> legend_inches(["bbr", "cubic"], 3.33)
    0.14
    """
    return _ROW_INCHES * -(-len(names) // _legend_columns(names, width_inches))


def _legend_columns(names: Sequence[str], width_inches: float) -> int:
    """Return how many columns of a legend fit into a width."""
    longest = max(map(len, names), default=0)
    fitting = int(width_inches / (_HANDLE_INCHES + _CHARACTER_INCHES * longest))
    return max(1, min(len(names), fitting))
