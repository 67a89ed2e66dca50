# SPDX-License-Identifier: Apache-2.0
"""Distances of measurements in the directions in which CCAs differ.

The directions are those of linear discriminant analysis: in them, the means of the CCAs are far
apart, in units of the variation within a CCA. The measurements of one CCA are near a curved
surface, as they change with the path. The distance to a CCA is therefore that to the plane through
its nearest measurements, and not to these themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits  # scikit-learn needs it too

from ccbench.classify.measurements import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = ["Directions"]

#: Steps that an undefined measurement is away from a defined one.
_UNDEFINED_STEPS = 12.0
#: Shrinkage of the correlations within a CCA, and the variance of rounding and more.
_SHRINKAGE, _ROUNDING = 0.1, 0.5
#: Measurements that define the plane, and the variance below which it has no direction.
_NEAREST, _STEADY = 30, 5.0


class Directions:
    """The directions in which known CCAs differ.

    Parameters
    ----------
    values : ndarray of uint8, shape (n_rows, n_measurements)
    names : sequence of str
        The CCA of each row.
    levels : ndarray, shape (n_rows,)
        The level of noise of each row, of whose effect the directions are independent.
    """

    def __init__(
        self,
        values: npt.NDArray[np.uint8],
        names: Sequence[str],
        levels: npt.NDArray[np.float64],
    ) -> None:
        features = _features(values)
        ccas, own = np.unique(names, return_inverse=True)
        with threadpool_limits(1):  # several threads round differently
            self._matrix = _separating(features, own, levels)
        points = features @ self._matrix
        self._points = {str(cca): points[own == i] for i, cca in enumerate(ccas)}

    def distances(self, values: npt.NDArray[np.uint8], cca: str) -> npt.NDArray[np.float64]:
        """Return the distance of each row to a CCA, in standard deviations; infinite without rows.

        The distance to the plane through the mean of the nearest rows, whose deviations from it are
        the rows of V, is |λ (VᵀV + λI)⁻¹ (x - mean)|: directions in which they vary do not count.

        Parameters
        ----------
        values : ndarray of uint8, shape (n_rows, n_measurements)
        cca : str
        """
        if cca not in self._points:
            return np.full(len(values), np.inf)
        known = self._points[cca]
        points = _features(values) @ self._matrix
        apart = (points**2).sum(axis=1)[:, None] + (known**2).sum(axis=1) - 2 * points @ known.T
        nearest = known[np.argsort(apart, axis=1, kind="stable")[:, :_NEAREST]]
        means = nearest.mean(axis=1)
        deviations = nearest - means[:, None]
        steady = _STEADY * np.eye(points.shape[1])
        varying = np.swapaxes(deviations, 1, 2) @ deviations + steady
        beyond = _STEADY * np.linalg.solve(varying, (points - means)[..., None])[..., 0]
        result: npt.NDArray[np.float64] = np.sqrt((beyond**2).sum(axis=1))
        return result


def _separating(
    features: npt.NDArray[np.float64],
    own: npt.NDArray[np.int64],
    levels: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the directions in which the CCAs of the rows differ, as columns."""
    ccas = range(int(own.max()) + 1)
    scatters = [_scatter(features[own == cca], levels[own == cca]) for cca in ccas]
    within = np.sum(scatters, axis=0) / len(features)
    shrunk = (1 - _SHRINKAGE) * within + _SHRINKAGE * np.diag(np.diag(within))
    variances, axes = np.linalg.eigh(shrunk + _ROUNDING * np.eye(len(within)))
    whitened = axes / np.sqrt(variances)
    means = np.stack([features[own == cca].mean(axis=0) for cca in ccas])
    _, _, between = np.linalg.svd((means - means.mean(axis=0)) @ whitened, full_matrices=False)
    result: npt.NDArray[np.float64] = whitened @ between[: len(ccas) - 1].T
    return result


def _features(values: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return measurements, and whether each is undefined."""
    return np.hstack([values.astype(float), _UNDEFINED_STEPS * (values == UNDEFINED)])


def _scatter(
    features: npt.NDArray[np.float64], levels: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the products of a CCA's deviations from their trend with the noise."""
    terms = np.stack([np.ones(len(levels)), levels, levels**2], axis=1)
    trend, *_ = np.linalg.lstsq(terms, features, rcond=None)
    rest = features - terms @ trend
    result: npt.NDArray[np.float64] = rest.T @ rest
    return result
