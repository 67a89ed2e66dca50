# SPDX-License-Identifier: Apache-2.0
"""Utilisation and delay in the studies of ABC's evaluation: plots and comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogFormatter

from ccbench.studies.abc.links import ABC, COLOURS
from ccbench.studies.published import unbounded
from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.studies.published import Published

__all__ = ["above_frontier", "draw_tradeoff", "frontier", "unbeaten"]

#: Markers of schemes, and of ABC and its variants.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "h")
_STARS = ("*", "d", "H", "8")


def frontier(delays: Sequence[float], utilisations: Sequence[float]) -> list[int]:
    """Return the indices of the Pareto frontier: points that no other point dominates.

    They are ordered by delay.

    Examples
    --------
    >>> frontier([10, 20, 30, 40], [50, 40, 90, 90])
    [0, 2]
    """
    best = -np.inf
    indices = []
    for i in sorted(range(len(delays)), key=lambda i: (delays[i], -utilisations[i])):
        if utilisations[i] > best:
            indices.append(i)
            best = utilisations[i]
    return indices


def draw_tradeoff(
    axes: Axes,
    points: pd.DataFrame,
    column: str = "utilisation_percent",
    label: str = "utilisation (%)",
) -> None:
    """Draw utilisation over the 95th percentile of the delay, and the others' Pareto frontier.

    Variants of ABC without a colour of their own are drawn in ABC's.

    Parameters
    ----------
    axes : Axes
        The axes to draw on.
    points : DataFrame
        Index: names of schemes, including ABC; columns `column` and ``p95_ms``.
    column, label : str
        The column of the vertical axis, and its label.
    """
    stars = iter(_STARS)
    for name, point in points.iterrows():
        is_abc = str(name).startswith(ABC.name)
        axes.plot(
            point["p95_ms"],
            point[column],
            next(stars) if is_abc else _MARKERS[list(COLOURS).index(str(name)) % len(_MARKERS)],
            color=COLOURS.get(str(name), COLOURS[ABC.name]),
            markersize=8 if is_abc else 5,
            linestyle="none",
            label=str(name),
        )
    axes.legend()
    edge = _edge(points, column)
    axes.plot(edge["p95_ms"], edge[column], "--", color="0.6", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    axes.invert_xaxis()  # as in the paper, better is up and to the right
    axes.set_xlabel("95th percentile of the delay (ms)")
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)


def unbeaten(points: pd.DataFrame, published: Published, where: str = "") -> Comparison:
    """Count the schemes at least as good as ABC in both utilisation and delay.

    Parameters
    ----------
    points : DataFrame
        As in :func:`draw_tradeoff`.
    published : Published
        The statement that there are none.
    where : str
        Prefix that distinguishes this comparison; ends with ": ".

    Examples
    --------
    >>> import pandas as pd
    >>> from ccbench.studies.published import exactly
    >>> points = {"utilisation_percent": [80, 90, 70], "p95_ms": [100, 90, 50]}
    >>> points = pd.DataFrame(points, index=["ABC", "BBR", "Vegas"])
    >>> unbeaten(points, exactly(0, "Figure 7")).note
    'BBR'
    """
    abc, others = points.loc[ABC.name], _others(points)
    as_good = others[
        (others["utilisation_percent"] >= abc["utilisation_percent"])
        & (others["p95_ms"] <= abc["p95_ms"])
    ]
    return Comparison(
        quantity=f"{where}schemes with ABC's utilisation or more and its delay or less",
        measured=len(as_good),
        published=published,
        note=", ".join(map(str, as_good.index)),
    )


def above_frontier(points: pd.DataFrame, where: str = "") -> Comparison:
    """Return ABC's distance above the Pareto frontier of the other schemes.

    The paper says "well outside", which sets no limit.

    Parameters
    ----------
    points, where
        As in :func:`unbeaten`. The line is straight on a logarithmic axis of delays.

    Examples
    --------
    >>> import pandas as pd
    >>> points = {"utilisation_percent": [90, 100, 60], "p95_ms": [100, 1000, 10]}
    >>> round(above_frontier(pd.DataFrame(points, index=["ABC", "BBR", "Vegas"])).value)
    10
    """
    abc, edge = points.loc[ABC.name], _edge(points)
    line = np.interp(np.log(abc["p95_ms"]), np.log(edge["p95_ms"]), edge["utilisation_percent"])
    return Comparison(
        quantity=f"{where}ABC's utilisation minus that of the others' frontier at its delay",
        measured=float(abc["utilisation_percent"] - line),
        published=unbounded("well outside", "caption of Figure 7"),
        unit="points",
    )


def _others(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points of schemes other than ABC."""
    return points[~points.index.str.startswith(ABC.name)]


def _edge(points: pd.DataFrame, column: str = "utilisation_percent") -> pd.DataFrame:
    others = _others(points)
    return others.iloc[frontier(list(others["p95_ms"]), list(others[column]))]
