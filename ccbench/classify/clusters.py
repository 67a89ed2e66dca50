# SPDX-License-Identifier: Apache-2.0
"""Agglomerative clustering of traces (Ware, section 2.5.1).

Each item starts as its own cluster. The two nearest clusters are merged repeatedly; the distance of
two clusters is the mean distance of all pairs of their items. Clusters whose distance exceeds the
cut are not merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from ccbench.base import validation
from ccbench.classify import dtw

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.classify.dtw import Many

__all__ = ["Cluster", "Clustering", "cluster", "trace_distances"]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """A cluster of items.

    Parameters
    ----------
    members : tuple of int
        Indices of the items, in ascending order.
    medoid : int
        The first member with the smallest sum of distances to the others.
    """

    members: tuple[int, ...]
    medoid: int

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.members)


@dataclass(frozen=True, kw_only=True, eq=False)
class Clustering:
    """Clusters of items and the merges that led to them.

    Parameters
    ----------
    clusters : tuple of Cluster
        Clusters in descending order of size, then in order of their first member.
    cut : float
        Maximum distance at which clusters are merged.
    linkage : ndarray, shape (n_items - 1, 4)
        Merges and their distances in the format of :func:`scipy.cluster.hierarchy.linkage`.
    """

    clusters: tuple[Cluster, ...]
    cut: float
    linkage: npt.NDArray[np.float64]


def trace_distances(traces: Many) -> npt.NDArray[np.float64]:
    """Return the distance between every two traces, in packets per point.

    Parameters
    ----------
    traces : sequence of array_like of shape (n_points,), or one array of rows
        Traces of one length, as in the thesis: otherwise distances per point are not symmetric.

    Returns
    -------
    ndarray, shape (n_traces, n_traces)
        Symmetric, with 0 on the diagonal.

    Raises
    ------
    InputError
        If there are no traces or their lengths differ.

    Examples
    --------
    >>> trace_distances([[0, 0], [3, 3]])
    array([[0., 3.],
           [3., 0.]])
    """
    lengths = sorted({int(np.size(trace)) for trace in traces})
    if len(lengths) > 1:
        raise validation.bad(
            "lengths of traces", lengths, "all the same", "cut off the longer ones"
        )
    return dtw.per_point(dtw.pairwise(traces), traces)


def cluster(distances: npt.ArrayLike, cut: float) -> Clustering:
    """Cluster items by their distances.

    Parameters
    ----------
    distances : array_like, shape (n_items, n_items)
        Distances between every two items, such as those of :func:`trace_distances`.
    cut : float
        Maximum mean distance at which clusters are merged.

    Raises
    ------
    InputError
        If there are no items, the distances are not a symmetric matrix of finite numbers, or the
        cut is negative.

    References
    ----------
    D. Müllner, "Modern hierarchical, agglomerative clustering algorithms", arXiv:1109.2378, 2011:
    the method of SciPy. Its time and memory are quadratic in the number of items.

    Examples
    --------
    >>> clustering = cluster([[0, 1, 9], [1, 0, 8], [9, 8, 0]], cut=2)
    >>> [part.members for part in clustering.clusters]
    [(0, 1), (2,)]
    """
    table = np.asarray(distances, dtype=np.float64)
    is_square = table.ndim == 2 and 0 < len(table) == table.shape[1]  # noqa: PLR2004 - a matrix
    if not is_square or not np.isfinite(table).all() or (table != table.T).any():
        allowed = "a symmetric matrix of finite numbers"
        raise validation.bad("distances", table.tolist(), allowed, "compare every two items")
    cut = validation.number("cut", cut, validation.Range(0), example=1)
    if len(table) == 1:
        only = Cluster(members=(0,), medoid=0)
        return Clustering(clusters=(only,), cut=cut, linkage=np.empty((0, 4)))
    links = linkage(squareform(table, checks=False), method="average")
    numbers = fcluster(links, cut, criterion="distance")
    members = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    members.sort(key=lambda indices: (-len(indices), indices[0]))
    clusters = tuple(_cluster(indices, table) for indices in members)
    return Clustering(clusters=clusters, cut=cut, linkage=links)


def _cluster(members: npt.NDArray[np.intp], distances: npt.NDArray[np.float64]) -> Cluster:
    sums = distances[np.ix_(members, members)].sum(axis=1)
    medoid = int(members[np.argmin(sums)])
    return Cluster(members=tuple(members.tolist()), medoid=medoid)
