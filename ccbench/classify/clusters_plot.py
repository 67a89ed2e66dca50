# SPDX-License-Identifier: Apache-2.0
"""Figures of clusters, as in Figures 2.16 to 2.18 of Ware's thesis.

Each function returns a matplotlib ``Figure`` without a window or global state;
:mod:`ccbench.plots` saves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import dendrogram, leaders

from ccbench.base import validation
from ccbench.base.figures import Figure
from ccbench.classify.barycentre import barycentre
from ccbench.classify.occupancy import STEP_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from ccbench.classify.clusters import Clustering

__all__ = ["ClusterPanel", "dendrogram_figure", "medoids_figure"]

#: Maximum number of items with a leaf each; with more items, a leaf is a cluster. With more
#: clusters than the second number, a leaf is several clusters.
_MAX_LEAVES, _MAX_CLUSTERS = 60, 200
#: Maximum number of traces drawn behind a medoid.
_MAX_OTHERS = 20

_CUT_COLOUR = "tab:red"
_MEDOID_COLOUR = "tab:blue"
_BARYCENTRE_COLOUR = "tab:orange"


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterPanel:
    """The traces of a cluster.

    Parameters
    ----------
    title : str
        Name of the cluster.
    medoid : ndarray, shape (n_points,)
        Trace of the medoid.
    others : sequence of ndarray
        Other traces of the cluster, of which 20 are drawn behind the medoid.
    has_barycentre : bool
        Whether the barycentre of the traces that are drawn is drawn too, which needs tslearn.
    """

    title: str
    medoid: npt.NDArray[np.float32]
    others: Sequence[npt.NDArray[np.float32]] = ()
    has_barycentre: bool = False


def dendrogram_figure(
    clustering: Clustering,
    names: Sequence[str],
    cluster_names: Sequence[str],
    *,
    unit: str = "packets per point",
    title: str = "",
) -> Figure:
    """Draw the dendrogram of a clustering, and its cut.

    Parameters
    ----------
    clustering : Clustering
    names : sequence of str
        Names of the items.
    cluster_names : sequence of str
        Names of the clusters, which are the leaves if there are more than 60 items.
    unit : str
        Unit of the distances.
    title : str, optional

    Returns
    -------
    Figure
        The distances of the merges from right to left, on a logarithmic scale above the cut. The
        dashed line is the cut.

    Raises
    ------
    InputError
        If the number of names differs from that of items or clusters.

    Examples
    --------
    >>> from ccbench.classify.clusters import cluster
    >>> clustering = cluster([[0, 1, 9], [1, 0, 8], [9, 8, 0]], cut=2)
    >>> figure = dendrogram_figure(clustering, ["a", "b", "c"], ["cubic", "unknown"])
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['c', 'a', 'b']
    """
    items = len(clustering.linkage) + 1
    for field, given, needed in (
        ("names", names, items),
        ("cluster_names", cluster_names, len(clustering.clusters)),
    ):
        if len(given) != needed:
            raise validation.bad(field, list(given), f"{needed} names", "name each once")
    is_whole = items <= _MAX_LEAVES
    leaves = items if is_whole else min(max(2, len(clustering.clusters)), _MAX_CLUSTERS)
    figure = Figure(figsize=(9, 1.2 + 0.2 * leaves), layout="constrained")
    axes = figure.subplots()
    if items == 1:
        axes.set_yticks([0], list(names))
        axes.yaxis.tick_right()
    else:
        name_of = names.__getitem__ if is_whole else _leaf_names(clustering, names, cluster_names)
        dendrogram(
            clustering.linkage,
            p=leaves,
            truncate_mode=None if is_whole else "lastp",
            orientation="left",
            color_threshold=clustering.cut,
            above_threshold_color="0.5",
            leaf_label_func=name_of,
            leaf_font_size=8,
            ax=axes,
        )
    axes.axvline(clustering.cut, color=_CUT_COLOUR, linestyle="--", linewidth=1)
    axes.set_xlabel(f"distance ({unit})")
    farthest = clustering.linkage[-1, 2] if items > 1 else 0.0
    if farthest > clustering.cut > 0:  # a linear scale would hide merges below the cut
        axes.set_xscale("symlog", linthresh=clustering.cut)
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(1.1 * max(clustering.cut, farthest), 0)
    axes.spines[["top", "left", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if title:
        axes.set_title(title, fontsize="medium")
    return figure


def medoids_figure(rows: Sequence[Sequence[ClusterPanel | None]], *, title: str = "") -> Figure:
    """Draw the medoid of each cluster, with the other traces of the cluster behind it.

    Parameters
    ----------
    rows : sequence of sequence of ClusterPanel or None
        A row for each cluster, a column for each setting; None is an empty panel.
    title : str, optional

    Returns
    -------
    Figure
        Packets in the queue over time in seconds: medoids in blue, barycentres in orange.

    Raises
    ------
    InputError
        If there are no rows, or they differ in length.

    Examples
    --------
    >>> panel = ClusterPanel(title="unknown #1", medoid=np.arange(1000) % 60)
    >>> len(medoids_figure([[panel, None]]).axes)
    2
    """
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        allowed = "one or more rows of one length"
        raise validation.bad("rows", [len(row) for row in rows], allowed, "fill up with None")
    (width,) = widths
    size = (4 + 3.5 * width, 0.8 + 1.5 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(rows), width, sharex=True, sharey="col", squeeze=False)
    for row, row_axes in zip(rows, grid, strict=True):
        for panel, axes in zip(row, row_axes, strict=True):
            if panel is None:
                axes.set_axis_off()
            else:
                _draw(axes, panel)
        row_axes[0].set_ylabel("queue (packets)")
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    if title:
        figure.suptitle(title, fontsize="medium")
    return figure


def _draw(axes: Axes, panel: ClusterPanel) -> None:
    for other in panel.others[:_MAX_OTHERS]:
        axes.plot(np.arange(len(other)) * STEP_S, other, color="0.6", linewidth=0.4, alpha=0.5)
    times_s = np.arange(len(panel.medoid)) * STEP_S
    axes.plot(times_s, panel.medoid, color=_MEDOID_COLOUR, linewidth=0.9)
    if panel.has_barycentre:
        average = barycentre([panel.medoid, *panel.others[:_MAX_OTHERS]])
        axes.plot(times_s, average, color=_BARYCENTRE_COLOUR, linewidth=0.9, linestyle="--")
    axes.set_title(panel.title, loc="left", fontsize="small")
    axes.set_xlim(0, len(panel.medoid) * STEP_S)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def _leaf_names(
    clustering: Clustering, names: Sequence[str], cluster_names: Sequence[str]
) -> Callable[[int], str]:
    """Return a function from SciPy's number of a leaf to the name of its cluster."""
    numbers = np.empty(len(names), dtype=np.int32)
    for number, cluster in enumerate(clustering.clusters, start=1):
        numbers[list(cluster.members)] = number
    nodes, of_cluster = leaders(clustering.linkage, numbers)
    cluster_of = {int(node): int(n) - 1 for node, n in zip(nodes, of_cluster, strict=True)}

    def name(node: int) -> str:
        if node not in cluster_of:  # part of the only cluster, or several clusters
            size = 1 if node < len(names) else int(clustering.linkage[node - len(names), 3])
            return f"(N = {size})"
        i = cluster_of[node]
        return f"{cluster_names[i]} (N = {clustering.clusters[i].size})"

    return name
