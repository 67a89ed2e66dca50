# SPDX-License-Identifier: Apache-2.0
"""Clusters of traces, and pictures of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering

from ccbench.base.errors import InputError
from ccbench.classify import dtw
from ccbench.classify.clusters import cluster, trace_distances
from ccbench.classify.clusters_plot import ClusterPanel, dendrogram_figure, medoids_figure

if TYPE_CHECKING:
    import numpy.typing as npt


def line(*places: float) -> npt.NDArray[Any]:
    """Return the distances between points on a line."""
    at = np.asarray(places, dtype=float)
    return np.asarray(np.abs(at[:, None] - at))


class TestTraceDistances:
    def test_dtw(self) -> None:
        """Distances are those of dynamic time warping, per point, and symmetric."""
        traces = np.random.default_rng(1).integers(0, 60, (4, 30))
        actual = trace_distances(traces)
        assert dtw.distance(traces[1], traces[2]) / 30 == pytest.approx(actual[1, 2])
        np.testing.assert_array_equal(actual, actual.T)

    def test_lengths(self) -> None:
        """Traces of different lengths, whose distances are asymmetric, are an input error."""
        with pytest.raises(InputError, match=r"lengths of traces is \[2, 3\]; it must be all the"):
            trace_distances([[1, 2], [1, 2, 3]])


class TestCluster:
    @pytest.mark.parametrize("cut", [0.5, 2.0, 5.0, 50.0])
    def test_reference(self, cut: float) -> None:
        """Clusters equal scikit-learn's agglomerative clustering with average linkage."""
        distances = line(*np.random.default_rng(3).uniform(0, 40, 30))
        reference = AgglomerativeClustering(
            n_clusters=None, metric="precomputed", linkage="average", distance_threshold=cut
        ).fit_predict(distances)
        expected = {frozenset(np.flatnonzero(reference == item)) for item in np.unique(reference)}
        assert expected == {frozenset(group.members) for group in cluster(distances, cut).clusters}

    def test_average(self) -> None:
        """The distance of two clusters is the average over their members; the cut is inclusive."""
        distances = line(0, 1, 4)  # the last is 4 and 3 from the others
        assert [3] == [group.size for group in cluster(distances, 3.5).clusters]
        assert [2, 1] == [item.size for item in cluster(distances, 3.49).clusters]

    def test_order(self) -> None:
        """Clusters are sorted by size, then by their first member."""
        actual = cluster(line(90, 0, 50, 1, 51, 2), 5).clusters
        assert [(1, 3, 5), (2, 4), (0,)] == [item.members for item in actual]

    def test_medoid(self) -> None:
        """The medoid is the central member, the first of two."""
        actual = cluster(line(0, 2, 3, 50, 51), 5).clusters
        assert [1, 3] == [item.medoid for item in actual]

    def test_cut(self) -> None:
        """A cut of 0 joins items at distance 0; a large cut joins all."""
        assert 2 == len(cluster(line(0, 0, 1), 0).clusters)
        assert 1 == len(cluster(line(0, 0, 1), 9).clusters)

    def test_one(self) -> None:
        """A single item is a cluster."""
        assert ((0,), 0) == ((one := cluster([[0]], 1).clusters[0]).members, one.medoid)

    @pytest.mark.parametrize(
        "distances", [[], [[0, 1]], [[0, 1], [2, 0]], [[0, np.nan], [np.nan, 0]], [0, 1]]
    )
    def test_bad(self, distances: Any) -> None:
        """Anything but a symmetric matrix of numbers is an input error."""
        with pytest.raises(InputError, match=r"distances is .* a symmetric matrix"):
            cluster(distances, 1)

    def test_negative(self) -> None:
        """A negative cut is an input error."""
        with pytest.raises(InputError, match="cut is -1; it must be a number at least 0"):
            cluster([[0]], -1)


class TestDendrogram:
    def test_leaves(self) -> None:
        """Each item is a leaf, beside similar items; the cut is a line at its distance."""
        actual = cluster(line(0, 50, 1, 51), 5)
        figure = dendrogram_figure(actual, list("abcd"), ["low", "high"])
        (axes,) = figure.axes
        leaves = "".join(tick.get_text() for tick in axes.get_yticklabels())
        assert {"ac", "bd"} == {"".join(sorted(half)) for half in (leaves[:2], leaves[2:])}
        assert [5, 5] == np.asarray(axes.lines[-1].get_xdata()).tolist()

    def test_many(self) -> None:
        """With many items only the clusters are leaves, with their sizes."""
        actual = cluster(line(*np.linspace(0, 1, 70), *np.linspace(50, 51, 30), 99), 5)
        names = [str(i) for i in range(101)]
        figure = dendrogram_figure(actual, names, ["low", "middle", "high"])
        leaves = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
        assert {"low (N = 70)", "middle (N = 30)", "high (N = 1)"} == set(leaves)

    def test_many_alike(self) -> None:
        """If many items form one cluster, its two parts are the leaves, with all items."""
        actual = cluster(line(*np.linspace(0, 1, 100)), 50)
        figure = dendrogram_figure(actual, [""] * 100, ["all"])
        leaves = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
        assert 100 == sum(int(re.sub(r"\D", "", leaf)) for leaf in leaves)

    def test_one(self) -> None:
        """A single item is a leaf."""
        figure = dendrogram_figure(cluster([[0]], 1), ["alone"], ["unknown"])
        assert "alone" == figure.axes[0].get_yticklabels()[0].get_text()

    def test_names(self) -> None:
        """Too few names are an input error."""
        with pytest.raises(InputError, match=r"cluster_names is .*; it must be 2 names"):
            dendrogram_figure(cluster(line(0, 9), 1), ["a", "b"], ["unknown"])


class TestMedoids:
    def test_panels(self) -> None:
        """A panel shows the medoid's trace in front of the others, over seconds."""
        traces = [np.full(1000, i, dtype=np.float32) for i in range(3)]
        panel = ClusterPanel(title="cubic", medoid=traces[0], others=traces[1:])
        figure = medoids_figure([[panel], [panel]])
        assert 2 == len(figure.axes)
        front = figure.axes[0].lines[-1]
        np.testing.assert_array_equal(traces[0], front.get_ydata())
        assert 19.98 == pytest.approx(np.asarray(front.get_xdata())[-1])

    def test_rows(self) -> None:
        """Rows of different lengths, and no rows, are an input error."""
        for rows in ([], [[None], [None, None]]):
            with pytest.raises(InputError, match="rows is"):
                medoids_figure(rows)
