# SPDX-License-Identifier: Apache-2.0
"""CCAnalyzer's classifier as a scikit-learn estimator (Ware, section 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ccbench.base import validation
from ccbench.classify import dtw
from ccbench.classify.vote import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.dtw import Many

__all__ = ["CCAClassifier"]


class CCAClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # sklearn is untyped
    """Nearest-neighbour classifier of queue occupancy traces by DTW distance (1NN-DTW, TNN).

    Each network setting has its own classifier; :func:`~ccbench.classify.vote.vote` combines their
    labels.

    Parameters
    ----------
    n_neighbors : int
        Number of nearest neighbours that vote. The most frequent label wins, in a tie that of the
        nearest trace.
    thresholds : float or mapping of str to float, optional
        Maximum distance to the nearest trace, in packets per point; a trace farther away is
        :data:`~ccbench.classify.vote.UNKNOWN`. A mapping has a threshold for each label, of which
        that of the nearest trace applies. By default no trace is unknown.
    window : int, optional
        Maximum distance of two matched points, see :func:`ccbench.classify.dtw.distance`.
    n_jobs : int, optional
        Number of threads; by default one per core. The results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray of str
        The labels of the training traces, in alphabetical order.
    traces_ : list of ndarray
        The training traces.
    labels_ : ndarray of str
        The label of each training trace.

    Notes
    -----
    Distances are those of :mod:`ccbench.classify.dtw` divided by the number of points of the
    classified trace, so that thresholds apply to traces of any length.

    Examples
    --------
    >>> saw, flat = [0, 2, 4, 6] * 3, [1] * 12
    >>> classifier = CCAClassifier(thresholds=0.5).fit([saw, flat], ["reno", "vegas"])
    >>> classifier.predict([[0, 2, 4, 6, 6] * 3, [1, 1, 2, 1], [9, 0, 9, 0]]).tolist()
    ['reno', 'vegas', 'unknown']
    """

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        thresholds: float | Mapping[str, float] | None = None,
        window: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        # scikit-learn requires that parameters are checked in fit, not here.
        self.n_neighbors = n_neighbors
        self.thresholds = thresholds
        self.window = window
        self.n_jobs = n_jobs

    def fit(self, X: Many, y: Sequence[str]) -> CCAClassifier:  # noqa: N803
        """Store the training traces.

        Parameters
        ----------
        X : sequence of array_like of shape (n_points,), or one array of rows
            The traces, in packets at equal intervals; lengths may differ.
        y : sequence of str
            The CCA of each trace.

        Raises
        ------
        InputError
            If there are no traces, the number of labels differs, or a parameter is out of range.
        """
        if len(X) != len(y):
            allowed = f"{len(X)} labels, the number of traces"
            raise validation.bad("y", list(y), allowed, "give one for each trace")
        if not len(X):
            raise validation.bad("X", list(X), "one or more traces", "add a trace")
        neighbors = validation.Range(1, len(X))
        validation.whole("n_neighbors", self.n_neighbors, neighbors, example=1)
        self._check_thresholds(y)
        if UNKNOWN in y:
            step = "leave such traces out: a trace far from all others is unknown"
            raise validation.bad("y", UNKNOWN, "the name of a CCA", step)
        self.traces_ = [np.asarray(trace, dtype=np.float32) for trace in X]
        self.labels_ = np.asarray(y, dtype=str)
        self.classes_ = np.unique(self.labels_)
        return self

    def kneighbors(
        self,
        X: Many,  # noqa: N803
        n_neighbors: int | None = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the nearest training traces.

        Parameters
        ----------
        X : sequence of array_like of shape (n_points,), or one array of rows
            The traces.
        n_neighbors : int, optional
            Number of neighbours; by default `n_neighbors` of the classifier.

        Returns
        -------
        distances : ndarray, shape (n_traces, n_neighbors)
            Distances in packets per point, in ascending order.
        indices : ndarray, shape (n_traces, n_neighbors)
            Indices into `traces_`.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        distances, indices = dtw.nearest(
            X, self.traces_, k, window=self.window, threads=self.n_jobs
        )
        return dtw.per_point(distances, X), indices

    def predict(self, X: Many) -> npt.NDArray[Any]:  # noqa: N803
        """Return the label of each trace: one of `classes_`, or unknown."""
        distances, indices = self.kneighbors(X)
        labels = [
            _most_common(self.labels_[nearest])  # in order of distance
            for nearest in indices
        ]
        predicted = np.asarray(labels, dtype=object)
        if self.thresholds is not None:
            limits = self._limits(self.labels_[indices[:, 0]])
            predicted[distances[:, 0] > limits] = UNKNOWN
        return predicted.astype(str)

    def nearest_of_classes(
        self,
        X: Many,  # noqa: N803
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the nearest training trace of each class.

        Returns
        -------
        distances : ndarray, shape (n_traces, n_classes)
            Distances in packets per point, in the order of `classes_`.
        indices : ndarray, shape (n_traces, n_classes)
            Indices into `traces_`.
        """
        check_is_fitted(self)
        distances = dtw.distances(X, self.traces_, window=self.window, threads=self.n_jobs)
        of_class = [np.flatnonzero(self.labels_ == name) for name in self.classes_]
        indices = np.stack([own[distances[:, own].argmin(axis=1)] for own in of_class], axis=1)
        return dtw.per_point(np.take_along_axis(distances, indices, axis=1), X), indices

    def decision_function(self, X: Many) -> npt.NDArray[np.float64]:  # noqa: N803
        """Return the score of each trace and class.

        Returns
        -------
        ndarray, shape (n_traces, n_classes)
            The negative distance to the nearest trace of the class, in packets per point.
        """
        return -self.nearest_of_classes(X)[0]

    def _limits(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        if isinstance(self.thresholds, Mapping):
            return np.array([self.thresholds[label] for label in labels.tolist()])
        return np.full(len(labels), self.thresholds, dtype=np.float64)

    def _check_thresholds(self, labels: Sequence[str]) -> None:
        if self.thresholds is None:
            return
        own = self.thresholds if isinstance(self.thresholds, Mapping) else {"": self.thresholds}
        for label, limit in own.items():
            name = f"thresholds[{label!r}]" if label else "thresholds"
            validation.number(name, limit, validation.Range(0), example=0.5)
        missing = sorted({str(label) for label in labels} - set(own)) if "" not in own else []
        if missing:
            step = f"give one for {missing[0]} too, or one number for all"
            raise validation.bad("thresholds", dict(own), "a number for each label", step)


def _most_common(labels: npt.NDArray[Any]) -> str:
    """Return the most frequent label, in a tie the first."""
    names, first, counts = np.unique(labels, return_index=True, return_counts=True)
    return str(names[min(range(len(names)), key=lambda i: (-counts[i], first[i]))])
