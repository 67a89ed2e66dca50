# SPDX-License-Identifier: Apache-2.0
"""Agglomerative clustering of traces (Ware, section 2.5.1).

Each thing is at first a cluster of its own. The two clusters that are nearest are made one, again
and again, where the distance of two clusters is the mean of the distances between all pairs. What
is still apart at a distance, the cut, is in different clusters.
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
    """Things that are alike.

    Parameters
    ----------
    members : tuple of int
        Which ones, in order.
    medoid : int
        The member whose distances to the others have the smallest sum; of several such the first.
    """

    members: tuple[int, ...]
    medoid: int

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.members)


@dataclass(frozen=True, kw_only=True, eq=False)
class Clustering:
    """How things group.

    Parameters
    ----------
    clusters : tuple of Cluster
        The largest first; of equally large ones that with the first member.
    cut : float
        The distance at which they are apart.
    linkage : ndarray, shape (n_things - 1, 4)
        Which were made one and at which distance, as :func:`scipy.cluster.hierarchy.linkage` has
        it.
    """

    clusters: tuple[Cluster, ...]
    cut: float
    linkage: npt.NDArray[np.float64]


def trace_distances(traces: Many) -> npt.NDArray[np.float64]:
    """Return how far every two traces are apart, in packets per point.

    Parameters
    ----------
    traces : sequence of array_like of shape (n_points,), or one array of rows
        All of one length, as in the thesis: only then is it as far from one to another as back.

    Returns
    -------
    ndarray, shape (n_traces, n_traces)
        Symmetric, and 0 on the diagonal.

    Raises
    ------
    InputError
        If there are none or their lengths differ.

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
    """Group things by their distances.

    Parameters
    ----------
    distances : array_like, shape (n_things, n_things)
        How far every two are apart, such as :func:`trace_distances` of traces.
    cut : float
        Clusters whose mean distance is at most this are one.

    Raises
    ------
    InputError
        If there is nothing, the distances are no symmetric table of finite numbers, or the cut is
        negative.

    References
    ----------
    D. Müllner, "Modern hierarchical, agglomerative clustering algorithms", arXiv:1109.2378, 2011:
    the method that SciPy uses. It takes time and memory that grow with the square of the number.

    Examples
    --------
    >>> found = cluster([[0, 1, 9], [1, 0, 8], [9, 8, 0]], cut=2)
    >>> [one.members for one in found.clusters]
    [(0, 1), (2,)]
    """
    table = np.asarray(distances, dtype=np.float64)
    is_square = table.ndim == 2 and 0 < len(table) == table.shape[1]  # noqa: PLR2004 - a table
    if not is_square or not np.isfinite(table).all() or (table != table.T).any():
        allowed = "a symmetric table of finite numbers"
        raise validation.bad("distances", table.tolist(), allowed, "compare every two things")
    cut = validation.number("cut", cut, validation.Range(0), example=1)
    if len(table) == 1:
        only = Cluster(members=(0,), medoid=0)
        return Clustering(clusters=(only,), cut=cut, linkage=np.empty((0, 4)))
    links = linkage(squareform(table, checks=False), method="average")
    numbers = fcluster(links, cut, criterion="distance")
    members = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    found = [_cluster(some, table) for some in members]
    found.sort(key=lambda one: (-one.size, one.members[0]))
    return Clustering(clusters=tuple(found), cut=cut, linkage=links)


def _cluster(members: npt.NDArray[np.intp], distances: npt.NDArray[np.float64]) -> Cluster:
    sums = distances[np.ix_(members, members)].sum(axis=1)
    medoid = int(members[np.argmin(sums)])
    return Cluster(members=tuple(members.tolist()), medoid=medoid)
