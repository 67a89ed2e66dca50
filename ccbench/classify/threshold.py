# SPDX-License-Identifier: Apache-2.0
"""The distance to the nearest trace beyond which a CCA is unknown (Ware, section 2.3.3.4).

Traces of one CCA are near each other: the threshold is a quantile of their distances. Which one,
unknown CCAs tell, and those that are known play them: each in turn is left out of the training set.
A threshold that is too low calls known ones unknown, one that is too high unknown ones known.

The thesis has one distance for all CCAs of a setting. But they are not alike in how unlike their
own traces are: how long BBR's queue is depends on the delivery rates that it happens to measure,
and two of its traces can be three times as far apart as any two of Reno's. So a CCA has a limit of
its own where its quantile is greater than that of all together.
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
    "HARDLY",
    "Threshold",
    "choose_threshold",
    "chosen_before",
    "limits",
    "same_cca_distances",
]

#: What of the sum of both shares of errors is hardly a difference.
HARDLY = 0.03

#: Those that are tried. The thesis's choices are between 0.90 and 0.95 (Table 2.3), where traces of
#: a CCA were three of one kind. Ours differ on purpose, and a trace is near to some of them only.
_QUANTILES = np.round(np.arange(0.01, 1.0, 0.01), 2)


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A threshold, and what it costs.

    Parameters
    ----------
    distance : float
        That of all CCAs together, in packets per point.
    limits : mapping of str to float
        That of each CCA, at least `distance`: beyond it a trace whose nearest one is of this CCA is
        unknown, as for :class:`~ccbench.classify.classifier.CCAClassifier`.
    quantile : float
        Which quantile of the distances between traces of one CCA all these are.
    false_unknown : float
        The share of traces of known CCAs that it calls unknown.
    false_known : float
        The share of traces whose CCA was left out that it does not call unknown.
    """

    distance: float
    limits: Mapping[str, float]
    quantile: float
    false_unknown: float
    false_known: float

    @property
    def typical(self) -> float:
        """The mean of the limits of the CCAs: what to expect of one that is not known."""
        return sum(self.limits.values()) / len(self.limits)


def choose_threshold(
    traces: Many, labels: Sequence[str], tested: Many, tested_labels: Sequence[str]
) -> Threshold:
    """Choose the threshold of a setting.

    Of quantiles from 0.01 to 0.99, it is the largest whose sum of both shares of errors is hardly
    more (:data:`HARDLY`) than the smallest one. About there the sum changes little, and the lowest
    would be somewhere else with every other sample. Real paths have more noise than these traces,
    and a label that is wrong has to be that of several settings until it is a server's.

    Parameters
    ----------
    traces, labels
        The training set of the setting; at least two traces of some CCA, and two CCAs.
    tested, tested_labels
        Other traces, of the same CCAs.

    Examples
    --------
    >>> low, high = [[1, 1], [2, 2], [2, 2]], [[9, 9], [10, 10], [10, 10]]
    >>> labels = ["low"] * 3 + ["high"] * 3
    >>> choose_threshold(low + high, labels, [[3, 3], [8, 8]], ["low", "high"]).distance
    1.0
    """
    names, tested_names = np.asarray(labels), np.asarray(tested_labels)
    known, indices = np.unique(names, return_inverse=True)
    pooled, candidates = limits(same_cca_distances(traces, labels), _QUANTILES)
    distances = dtw.per_point(dtw.distances(tested, traces), tested)
    is_own = tested_names[:, None] == names
    false_unknown = 1 - _within(distances, indices, candidates)
    false_known = _within(np.where(is_own, np.inf, distances), indices, candidates)
    errors = false_unknown + false_known
    best = int(np.flatnonzero(errors <= errors.min() + HARDLY)[-1])
    return Threshold(
        distance=float(pooled[best]),
        limits=dict(zip(known.tolist(), candidates[:, best].tolist(), strict=True)),
        quantile=float(_QUANTILES[best]),
        false_unknown=float(false_unknown[best]),
        false_known=float(false_known[best]),
    )


def chosen_before(before: Threshold, traces: Many, labels: Sequence[str]) -> Threshold:
    """Return the threshold of another training set at a quantile that was chosen before.

    What errors it costs is not measured, and not a number.

    Parameters
    ----------
    before : Threshold
        Whose quantile it is.
    traces, labels
        The training set of the setting, as for :func:`choose_threshold`.

    Examples
    --------
    >>> low, high = [[1, 1], [2, 2], [2, 2]], [[9, 9], [10, 10], [10, 10]]
    >>> labels = ["low"] * 3 + ["high"] * 3
    >>> before = choose_threshold(low + high, labels, [[3, 3], [8, 8]], ["low", "high"])
    >>> chosen_before(before, [[0, 0], [4, 4]], ["far", "far"]).distance
    4.0
    """
    same = same_cca_distances(traces, labels)
    (pooled,), own = limits(same, [before.quantile])
    return Threshold(
        distance=float(pooled),
        limits=dict(zip(same, own[:, 0].tolist(), strict=True)),
        quantile=before.quantile,
        false_unknown=math.nan,
        false_known=math.nan,
    )


def same_cca_distances(traces: Many, labels: Sequence[str]) -> dict[str, npt.NDArray[np.float64]]:
    """Return the distances between every two traces of each CCA, in packets per point.

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
    found = {}
    for name in np.unique(names).tolist():
        own = [trace for trace, label in zip(traces, labels, strict=True) if label == name]
        pairs = np.triu_indices(len(own), k=1)
        found[name] = dtw.per_point(dtw.pairwise(own), own)[pairs]
    return found


def limits(
    same: Mapping[str, npt.NDArray[np.float64]],
    quantiles: Sequence[float] | npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return quantiles of distances: of those of all CCAs together, and the limit of each CCA.

    Parameters
    ----------
    same : mapping of str to ndarray
        As :func:`same_cca_distances` gives it.
    quantiles : array_like, shape (n_quantiles,)
        Which.

    Returns
    -------
    ndarray, shape (n_quantiles,)
        Of all together.
    ndarray, shape (n_ccas, n_quantiles)
        For each CCA, in the order of `same`: its own quantile, or that of all if it is greater. A
        CCA with a single trace has no distances of its own.

    Examples
    --------
    >>> limits({"a": np.array([1.0, 3.0]), "b": np.array([])}, [0.5])
    (array([2.]), array([[2.],
           [2.]]))
    """
    pooled = np.quantile(np.concatenate(list(same.values())), quantiles)
    own = [np.quantile(one, quantiles) if len(one) else pooled for one in same.values()]
    return pooled, np.maximum(pooled, np.stack(own))


def _within(
    distances: npt.NDArray[np.float64],
    indices: npt.NDArray[np.int64],
    candidates: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the share of rows whose nearest trace is within the limit of its CCA.

    Parameters
    ----------
    distances : ndarray, shape (n_rows, n_traces)
    indices : ndarray, shape (n_traces,)
        Of which CCA each is.
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
