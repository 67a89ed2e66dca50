# SPDX-License-Identifier: Apache-2.0
"""How far from its nearest trace an unknown CCA's is (Ware, section 2.3.3.4).

Traces of one CCA are near each other: the threshold is a quantile of their distances. Which one,
unknown CCAs tell, and those that are known play them: each in turn is left out of the training set.
A threshold that is too low calls known ones unknown, one that is too high unknown ones known.

The thesis has one distance for all CCAs of a setting. But they are not alike in how unlike their
own traces are: how long BBR's queue is depends on the delivery rates that it happens to measure,
and two of its traces can be three times as far apart as any two of Reno's. So a CCA has a limit of
its own where its quantile is greater than that of all together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ccbench.classify import dtw

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from ccbench.classify.dtw import Many

__all__ = ["Threshold", "choose_threshold"]

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
    known, indices = np.unique(names, return_inverse=True)
    same = [_between(traces, names == name) for name in known]
    pooled = np.quantile(np.concatenate(same), _QUANTILES)
    # A row for each CCA; one with a single trace has no distances of its own.
    candidates = np.stack(
        [np.maximum(pooled, np.quantile(own, _QUANTILES)) if len(own) else pooled for own in same]
    )
    distances = dtw.per_point(dtw.distances(tested, traces), tested)
    is_own = tested_names[:, None] == names
    false_unknown = 1 - _within(distances, indices, candidates)
    false_known = _within(np.where(is_own, np.inf, distances), indices, candidates)
    best = int(np.argmin(false_unknown + false_known))
    return Threshold(
        distance=float(pooled[best]),
        limits=dict(zip(known.tolist(), candidates[:, best].tolist(), strict=True)),
        quantile=float(_QUANTILES[best]),
        false_unknown=float(false_unknown[best]),
        false_known=float(false_known[best]),
    )


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


def _between(traces: Many, own: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Return the distance per point of every two of those traces that `own` marks."""
    chosen = [trace for trace, is_own in zip(traces, own, strict=True) if is_own]
    pairs = np.triu_indices(len(chosen), k=1)
    distances: npt.NDArray[np.float64] = dtw.per_point(dtw.pairwise(chosen), chosen)[pairs]
    return distances
