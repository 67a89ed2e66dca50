# SPDX-License-Identifier: Apache-2.0
"""How far from its nearest trace an unknown CCA's is (Ware, section 2.3.3.4).

Traces of one CCA are near each other: the threshold is a quantile of their distances. Which one,
unknown CCAs tell, and those that are known play them: each in turn is left out of the training set.
A threshold that is too low calls known ones unknown, one that is too high unknown ones known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ccbench.classify import dtw

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.dtw import Many

__all__ = ["Threshold", "choose_threshold", "same_cca_distances"]

#: Those that are tried. The thesis's choices are between 0.90 and 0.95 (Table 2.3), where traces of
#: a CCA were three of one kind. Ours differ on purpose, and a trace is near to some of them only.
_QUANTILES = np.round(np.arange(0.01, 1.0, 0.01), 2)


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A threshold, and what it costs.

    Parameters
    ----------
    distance : float
        In packets per point, as for :class:`~ccbench.classify.classifier.CCAClassifier`.
    quantile : float
        Which quantile of the distances between traces of one CCA that is.
    false_unknown : float
        The share of traces of known CCAs that it calls unknown.
    false_known : float
        The share of traces whose CCA was left out that it does not call unknown.
    """

    distance: float
    quantile: float
    false_unknown: float
    false_known: float


def choose_threshold(
    traces: Many, labels: Sequence[str], tested: Many, tested_labels: Sequence[str]
) -> Threshold:
    """Choose the threshold of a setting.

    Of quantiles from 0.01 to 0.99, it is the one with the smallest sum of both shares of errors; of
    several such the lowest: rather a known CCA is called unknown than an unknown one known.

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
    same = same_cca_distances(traces, labels)
    distances = dtw.per_point(dtw.distances(tested, traces), tested)
    is_own = tested_names[:, None] == names
    nearest = distances.min(axis=1)
    nearest_other = np.where(is_own, np.inf, distances).min(axis=1)
    candidates = np.quantile(same, _QUANTILES)
    false_unknown = (nearest > candidates[:, None]).mean(axis=1)
    false_known = (nearest_other <= candidates[:, None]).mean(axis=1)
    best = int(np.argmin(false_unknown + false_known))
    return Threshold(
        distance=float(candidates[best]),
        quantile=float(_QUANTILES[best]),
        false_unknown=float(false_unknown[best]),
        false_known=float(false_known[best]),
    )


def same_cca_distances(traces: Many, labels: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the distances between every two traces of one CCA, in packets per point.

    Parameters
    ----------
    traces, labels
        The training set of a setting.

    Examples
    --------
    >>> same_cca_distances([[1, 1], [2, 2], [9, 9]], ["low", "low", "high"])
    array([1.])
    """
    names = np.asarray(labels)
    found = []
    for name in np.unique(names):
        own = [trace for trace, label in zip(traces, labels, strict=True) if label == name]
        pairs = np.triu_indices(len(own), k=1)
        found.append(dtw.per_point(dtw.pairwise(own), own)[pairs])
    return np.concatenate(found)
