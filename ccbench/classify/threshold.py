# SPDX-License-Identifier: Apache-2.0
"""Limit of the distance to the nearest trace above which a CCA is unknown (Ware, section 2.3.3.4).

Traces of one CCA are close to each other: the threshold is a quantile of their distances. The
quantile is chosen by cross-validation, in which each CCA in turn is left out of the training set
and plays the unknown CCA. Too low a threshold labels known CCAs unknown; too high a threshold
labels unknown CCAs known.

The thesis has one distance for all CCAs of a setting. But the spread of traces differs between
CCAs: BBR's queue depends on its random delivery rate samples, and two of its traces can be three
times as far apart as any two of Reno's. Therefore a CCA has its own limit if its quantile is
greater than that of all CCAs together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ccbench.classify import dtw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from ccbench.classify.dtw import Many

__all__ = [
    "ERROR_TOLERANCE",
    "Threshold",
    "choose_threshold",
    "limits",
    "refit_threshold",
    "same_cca_distances",
]

#: Insignificant difference in the sum of both error rates.
ERROR_TOLERANCE = 0.03

#: Candidate quantiles. The thesis chose between 0.90 and 0.95 (Table 2.3), with three traces of
#: each CCA under equal conditions. Here conditions vary, and a trace is close to only some others.
_QUANTILES = np.round(np.arange(0.01, 1.0, 0.01), 2)


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A threshold and its error rates.

    Parameters
    ----------
    distance : float
        Limit of all CCAs together, in packets per point.
    limits : mapping of str to float
        Limit of each CCA, at least `distance`: a trace whose nearest trace is of this CCA is
        unknown above it, as for :class:`~ccbench.classify.classifier.CCAClassifier`.
    quantile : float
        Quantile of the distances between traces of one CCA that defines all limits.
    false_unknown : float
        Fraction of traces of known CCAs that are labelled unknown.
    false_known : float
        Fraction of traces of CCAs left out of the training set that are not labelled unknown.
    """

    distance: float
    limits: Mapping[str, float]
    quantile: float
    false_unknown: float
    false_known: float

    @property
    def typical(self) -> float:
        """Mean limit of the CCAs: the expected limit of an unknown CCA."""
        return sum(self.limits.values()) / len(self.limits)


def choose_threshold(
    traces: Many, labels: Sequence[str], tested: Many, tested_labels: Sequence[str]
) -> Threshold:
    """Choose the threshold of a setting.

    It is the largest quantile from 0.01 to 0.99 whose sum of both error rates exceeds the minimum
    by at most :data:`ERROR_TOLERANCE`. The sum is flat around its minimum, whose position depends
    on the sample. The largest quantile is preferred because real paths have more noise than these
    traces, and because a wrong label must win in several settings to become the server's label.

    Parameters
    ----------
    traces, labels
        The training set of the setting, with at least two CCAs and two traces of some CCA.
    tested, tested_labels
        Other traces of the same CCAs.

    Examples
    --------
    >>> low, high = [[1, 1], [2, 2], [2, 2]], [[9, 9], [10, 10], [10, 10]]
    >>> labels = ["low"] * 3 + ["high"] * 3
    >>> choose_threshold(low + high, labels, [[3, 3], [8, 8]], ["low", "high"]).distance
    1.0
    """
    names, tested_names = np.asarray(labels), np.asarray(tested_labels)
    ccas, indices = np.unique(names, return_inverse=True)
    pooled, candidates = limits(same_cca_distances(traces, labels), _QUANTILES)
    distances = dtw.per_point(dtw.distances(tested, traces), tested)
    is_own = tested_names[:, None] == names
    false_unknown = 1 - _within(distances, indices, candidates)
    false_known = _within(np.where(is_own, np.inf, distances), indices, candidates)
    errors = false_unknown + false_known
    best = int(np.flatnonzero(errors <= errors.min() + ERROR_TOLERANCE)[-1])
    return Threshold(
        distance=float(pooled[best]),
        limits=dict(zip(ccas.tolist(), candidates[:, best].tolist(), strict=True)),
        quantile=float(_QUANTILES[best]),
        false_unknown=float(false_unknown[best]),
        false_known=float(false_known[best]),
    )


def refit_threshold(threshold: Threshold, traces: Many, labels: Sequence[str]) -> Threshold:
    """Return the threshold of another training set at the same quantile.

    Its error rates are not measured; they are NaN.

    Parameters
    ----------
    threshold : Threshold
        Threshold with the quantile.
    traces, labels
        The training set of the setting, as for :func:`choose_threshold`.

    Examples
    --------
    >>> low, high = [[1, 1], [2, 2], [2, 2]], [[9, 9], [10, 10], [10, 10]]
    >>> labels = ["low"] * 3 + ["high"] * 3
    >>> threshold = choose_threshold(low + high, labels, [[3, 3], [8, 8]], ["low", "high"])
    >>> refit_threshold(threshold, [[0, 0], [4, 4]], ["far", "far"]).distance
    4.0
    """
    same = same_cca_distances(traces, labels)
    (pooled,), own = limits(same, [threshold.quantile])
    return Threshold(
        distance=float(pooled),
        limits=dict(zip(same, own[:, 0].tolist(), strict=True)),
        quantile=threshold.quantile,
        false_unknown=math.nan,
        false_known=math.nan,
    )


def same_cca_distances(traces: Many, labels: Sequence[str]) -> dict[str, npt.NDArray[np.float64]]:
    """Return the distances between all pairs of traces of each CCA, in packets per point.

    Parameters
    ----------
    traces, labels
        The training set of a setting.

    Examples
    --------
    >>> same_cca_distances([[1, 1], [2, 2], [9, 9]], ["low", "low", "high"])
    {'high': array([], dtype=float64), 'low': array([1.])}
    """
    names = np.asarray(labels)
    distances = {}
    for name in np.unique(names).tolist():
        own = [trace for trace, label in zip(traces, labels, strict=True) if label == name]
        pairs = np.triu_indices(len(own), k=1)
        distances[name] = dtw.per_point(dtw.pairwise(own), own)[pairs]
    return distances


def limits(
    same: Mapping[str, npt.NDArray[np.float64]],
    quantiles: Sequence[float] | npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return quantiles of the distances of all CCAs together, and the limit of each CCA.

    Parameters
    ----------
    same : mapping of str to ndarray
        The result of :func:`same_cca_distances`.
    quantiles : array_like, shape (n_quantiles,)

    Returns
    -------
    ndarray, shape (n_quantiles,)
        Quantiles of all CCAs together.
    ndarray, shape (n_ccas, n_quantiles)
        For each CCA, in the order of `same`: the greater of its own quantile and that of all CCAs.
        A CCA with a single trace has no distances of its own.

    Examples
    --------
    >>> limits({"a": np.array([1.0, 3.0]), "b": np.array([])}, [0.5])
    (array([2.]), array([[2.],
           [2.]]))
    """
    pooled = np.quantile(np.concatenate(list(same.values())), quantiles)
    own = [np.quantile(some, quantiles) if len(some) else pooled for some in same.values()]
    return pooled, np.maximum(pooled, np.stack(own))


def _within(
    distances: npt.NDArray[np.float64],
    indices: npt.NDArray[np.int64],
    candidates: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the fraction of rows whose nearest trace is within the limit of its CCA.

    Parameters
    ----------
    distances : ndarray, shape (n_rows, n_traces)
    indices : ndarray, shape (n_traces,)
        The CCA of each trace.
    candidates : ndarray, shape (n_ccas, n_quantiles)

    Returns
    -------
    ndarray, shape (n_quantiles,)
    """
    nearest = indices[distances.argmin(axis=1)]
    share: npt.NDArray[np.float64] = np.mean(
        distances.min(axis=1)[:, None] <= candidates[nearest], axis=0
    )
    return share
