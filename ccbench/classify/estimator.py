# SPDX-License-Identifier: Apache-2.0
"""Classification with another estimator, such as those of scikit-learn and tslearn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone

from ccbench.base import validation
from ccbench.classify.vote import vote

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training_set import TrainingSet

__all__ = ["Estimator", "judge_with"]


class Estimator(Protocol):
    """A classifier of traces with scikit-learn's interface.

    A scikit-learn estimator fulfils it (``sklearn.base.BaseEstimator``), and so does a time series
    classifier of tslearn. A trace may be labelled ``unknown``.
    """

    def fit(self, X: npt.NDArray[np.float32], y: Sequence[str]) -> Any:  # noqa: N803
        """Learn from traces, of shape (n_traces, n_points), and their CCAs."""

    def predict(self, X: npt.NDArray[np.float32]) -> npt.NDArray[np.str_]:  # noqa: N803
        """Return the CCA of each trace, of shape (n_traces, n_points)."""

    def get_params(self, *, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with which ``sklearn.base.clone`` makes an equal estimator."""


def judge_with(
    estimator: Estimator, traces: Sequence[QueueTrace], training_set: TrainingSet
) -> tuple[str, tuple[str, ...]]:
    """Identify the CCA of a server with an estimator instead of both stages.

    An equal estimator is fitted for each setting.

    Parameters
    ----------
    estimator : Estimator
    traces : sequence of QueueTrace
    training_set : TrainingSet

    Returns
    -------
    str
        The label of most traces.
    tuple of str
        The label of each trace.

    Raises
    ------
    InputError
        If there are no traces, or the training set has no samples of a setting.

    Examples
    --------
    >>> from sklearn.neighbors import NearestCentroid
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> label, votes = judge_with(NearestCentroid(), training_set.samples[:2], training_set)
    >>> len(votes)
    2
    """
    if not traces:
        raise validation.bad("traces", [], "one or more", "observe the server first")
    fitted: dict[Any, Any] = {}
    labels = []
    for trace in traces:
        if trace.setting not in fitted:
            own = training_set.samples_of(trace.setting)
            points = np.stack([sample.points for sample in own])
            fitted[trace.setting] = clone(estimator).fit(points, [sample.cca for sample in own])
        labels.append(str(fitted[trace.setting].predict(trace.points[None])[0]))
    return vote(labels, [0.0] * len(labels)), tuple(labels)
