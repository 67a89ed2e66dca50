# SPDX-License-Identifier: Apache-2.0
"""Prediction of harm, with its uncertainty, in scenarios that were not run."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits  # scikit-learn needs it too

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from ccbench.raygen.space import Chromosome, Space

__all__ = ["Predictor"]

#: Bounds of the fitted length scale of a gene, as fractions of its range. With a larger maximum, a
#: few experiments in which a gene happened not to matter would make it irrelevant.
_LENGTHS = (0.1, 2.0)
#: Bounds of the variance of harm that no gene explains: chaos within the runs.
_NOISE = (1e-4, 1.0)
#: Bounds of the variance that the genes explain, relative to the measured variance.
_SIGNAL = (0.05, 20.0)
#: Maximum number of experiments to which the covariance is fitted: fitting takes a hundred times as
#: long as a prediction, and further experiments hardly change its few parameters.
_MAX_FITTED = 1000


class Predictor:
    """A Gaussian process over the genes, each scaled to 0 to 1 on its own scale.

    Its covariance is a Matérn kernel (5/2) with a length scale for each gene, plus noise. All
    parameters are fitted by maximum likelihood; with more than 1000 experiments, to every second or
    third experiment and so on, but all experiments are used for predictions. The time is cubic in
    the number of experiments: milliseconds for 60, seconds for 1000.

    Parameters
    ----------
    space : Space
        The search space.
    measured : mapping
        Relative harm by chromosome; at least one.

    Attributes
    ----------
    noise : float
        Variance of a measurement.
    explained : float
        Fraction of the variance of the measured harm that is predicted in leave-one-out
        cross-validation, with the covariance fitted to all experiments (section 5.4.2 of the
        reference). At 0 or below, the prediction is no better than the mean.

    References
    ----------
    Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), sections 2.2, 4.2, 5.4.

    Examples
    --------
    Harm that increases by 0.1 with each doubling of the round-trip time:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> measured = {(100.0, 10.0 * 2**n, 1.0, 1, 1): 0.1 * n for n in range(6)}
    >>> mean, _ = Predictor(DEFAULT_SPACE, measured).predict([(100.0, 56.6, 1.0, 1, 1)])
    >>> round(float(mean[0]), 2)
    0.25
    """

    def __init__(self, space: Space, measured: Mapping[Chromosome, float]) -> None:
        # Importing scikit-learn takes a second.
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
        from sklearn.gaussian_process import GaussianProcessRegressor, kernels  # noqa: PLC0415

        self._space = space
        points = self._coordinates(measured)
        kernel = kernels.ConstantKernel(1.0, _SIGNAL) * kernels.Matern(
            [0.5] * points.shape[1], _LENGTHS, nu=2.5
        ) + kernels.WhiteKernel(0.05, _NOISE)
        harm = np.array(list(measured.values()))
        every = math.ceil(len(harm) / _MAX_FITTED)
        # More threads are slower on such small matrices, and could round differently.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # parameters may reach their bounds
            some = GaussianProcessRegressor(kernel, normalize_y=True)
            some.fit(points[::every], harm[::every])
            self._process = GaussianProcessRegressor(
                some.kernel_, optimizer=None, normalize_y=True
            ).fit(points, harm)
        self.noise = float(self._process.kernel_.k2.noise_level * (harm.var() or 1.0))
        self.explained = self._cross_validated(points)

    def predict(
        self, chromosomes: Sequence[Chromosome]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Predict harm without noise.

        Parameters
        ----------
        chromosomes : sequence of tuple
            n scenarios.

        Returns
        -------
        mean : ndarray, shape (n,)
            Expected relative harm.
        covariance : ndarray, shape (n, n)
            Covariance of the prediction; the square root of the diagonal is the standard deviation.
        """
        with threadpool_limits(1):
            mean, covariance = self._process.predict(
                self._coordinates(chromosomes), return_cov=True
            )
        covariance[np.diag_indices_from(covariance)] -= self.noise
        return mean, covariance

    def _cross_validated(self, points: npt.NDArray[np.float64]) -> float:
        with threadpool_limits(1):
            inverse = np.linalg.inv(self._process.kernel_(points))
        # In units of the standard deviation of harm, by which the process normalises.
        errors = self._process.alpha_.ravel() / inverse.diagonal()
        return 1 - float(np.mean(errors**2))

    def _coordinates(
        self, chromosomes: Mapping[Chromosome, float] | Sequence[Chromosome]
    ) -> npt.NDArray[np.float64]:
        return np.array([self._space.coordinates(chromosome) for chromosome in chromosomes])
