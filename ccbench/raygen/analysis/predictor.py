# SPDX-License-Identifier: Apache-2.0
"""Predicts harm where nothing was run, and says how sure it is."""

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

#: How far harm stays alike along a gene, as parts of its range: the bounds of what is fitted. With
#: a longer one, a few experiments in which a gene happened not to matter would settle that it never
#: does.
_LENGTHS = (0.1, 2.0)
#: Bounds of the part of the variance of harm that no gene explains: chaos within the runs.
_NOISE = (1e-4, 1.0)
#: Bounds of the variance that the genes explain, relative to what was measured.
_SIGNAL = (0.05, 20.0)
#: The covariance is fitted to so many experiments at most: to fit it takes a hundred times as long
#: as to use it, and more tell hardly more about its few numbers.
_MOST_FITTED = 1000


class Predictor:
    """A Gaussian process over the genes, each scaled to 0 to 1 on its own scale.

    Its covariance is Matern's (5/2) with a length for each gene, plus noise, all fitted to what was
    measured by maximum likelihood; of more than 1000 experiments, to every second or third one and
    so on, but all count for the predictions. That takes time that grows with the cube of their
    number: milliseconds for 60, seconds for 1000.

    Parameters
    ----------
    space : Space
        Where `measured` lies.
    measured : mapping
        Relative harm by chromosome; at least one.

    Attributes
    ----------
    noise : float
        Variance of what is measured around what is predicted by a perfect fit.
    explained : float
        Part of the variance of the measured harm that is predicted if each experiment is left out
        in turn (leave-one-out cross-validation, with the covariance fitted to all: section 5.4.2 of
        the reference). At 0 or below it predicts no better than the mean.

    References
    ----------
    Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), sections 2.2, 4.2, 5.4.

    Examples
    --------
    Harm that is 0.1 more for every doubling of the round-trip time:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> known = {(100.0, 10.0 * 2**n, 1.0, 1, 1): 0.1 * n for n in range(6)}
    >>> mean, _ = Predictor(DEFAULT_SPACE, known).predict([(100.0, 56.6, 1.0, 1, 1)])
    >>> round(float(mean[0]), 2)
    0.25
    """

    def __init__(self, space: Space, measured: Mapping[Chromosome, float]) -> None:
        # Importing scikit-learn takes a second that what predicts nothing should not wait for.
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
        from sklearn.gaussian_process import GaussianProcessRegressor, kernels  # noqa: PLC0415

        self._space = space
        places = self._places(measured)
        kernel = kernels.ConstantKernel(1.0, _SIGNAL) * kernels.Matern(
            [0.5] * places.shape[1], _LENGTHS, nu=2.5
        ) + kernels.WhiteKernel(0.05, _NOISE)
        harm = np.array(list(measured.values()))
        every = math.ceil(len(harm) / _MOST_FITTED)
        # One thread: on matrices this small more of them take longer, and might round otherwise.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a bound is reached: as it should
            some = GaussianProcessRegressor(kernel, normalize_y=True)
            some.fit(places[::every], harm[::every])
            self._process = GaussianProcessRegressor(
                some.kernel_, optimizer=None, normalize_y=True
            ).fit(places, harm)
        self.noise = float(self._process.kernel_.k2.noise_level * (harm.var() or 1.0))
        self.explained = self._cross_validated(places)

    def predict(
        self, chromosomes: Sequence[Chromosome]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Predict harm without its noise.

        Parameters
        ----------
        chromosomes : sequence of tuple
            Where, n of them.

        Returns
        -------
        mean : ndarray, shape (n,)
            The relative harm to be expected.
        covariance : ndarray, shape (n, n)
            How uncertain that is, and how far one would tell of the other. The square root of the
            diagonal is the standard deviation.
        """
        with threadpool_limits(1):
            mean, covariance = self._process.predict(self._places(chromosomes), return_cov=True)
        covariance[np.diag_indices_from(covariance)] -= self.noise
        return mean, covariance

    def _cross_validated(self, places: npt.NDArray[np.float64]) -> float:
        with threadpool_limits(1):
            inverse = np.linalg.inv(self._process.kernel_(places))
        # As parts of the deviation of harm, which the process takes as 1.
        missed = self._process.alpha_.ravel() / inverse.diagonal()
        return 1 - float(np.mean(missed**2))

    def _places(
        self, chromosomes: Mapping[Chromosome, float] | Sequence[Chromosome]
    ) -> npt.NDArray[np.float64]:
        return np.array([self._space.coordinates(chromosome) for chromosome in chromosomes])
