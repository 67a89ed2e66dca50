# SPDX-License-Identifier: Apache-2.0
"""Estimates: mean and confidence interval of repeated measurements."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ccbench.base.estimate import CONFIDENCE, Estimate


class TestEstimate:
    """:class:`Estimate`."""

    def test_any_iterable(self) -> None:
        """Measurements come as any iterable and are stored as a tuple of floats."""
        assert (1.0, 2.0) == Estimate(iter(np.array([1, 2]))).values
        assert Estimate([1, 2]) == Estimate((1.0, 2.0))

    def test_interval_of_two(self) -> None:
        """For two values Student's quantile is that of the Cauchy distribution: tan(0.475 pi)."""
        expected = math.tan(math.pi * CONFIDENCE / 2) * 0.5
        assert Estimate((1.0, 2.0)).half_width == pytest.approx(expected)

    @pytest.mark.parametrize("count", [2, 5, 20])
    def test_coverage(self, count: int) -> None:
        """For normal samples of any size, 95 % of the intervals contain the true mean."""
        samples = np.random.default_rng(1).normal(3, 2, (4000, count))
        estimates = [Estimate(sample) for sample in samples]
        covered = np.mean([e.low <= 3 <= e.high for e in estimates])
        # Three standard deviations of a share of 4000.
        assert abs(covered - CONFIDENCE) < 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / 4000)

    def test_single_value(self) -> None:
        """A single measurement is a mean without an interval, and is printed as such."""
        single = Estimate((0.25,))
        assert single.mean == 0.25
        assert math.isnan(single.half_width)
        assert math.isnan(single.low)
        assert f"{single:+.2f}" == "+0.25"

    def test_no_value(self) -> None:
        """Without a measurement there is no mean."""
        assert math.isnan(Estimate(()).mean)

    def test_sign_of_the_half_width(self) -> None:
        """A format with a sign applies the sign to the mean only."""
        assert f"{Estimate((0.1, 0.1)):+.1f}" == "+0.1 ± 0.0"

    @pytest.mark.parametrize("missing", [math.nan, -math.inf])
    def test_missing_value(self, missing: float) -> None:
        """A measurement without a finite value is not dropped: there is no interval."""
        estimate = Estimate((1.0, missing, 2.0))
        assert not math.isfinite(estimate.mean)
        assert math.isnan(estimate.half_width)
        assert math.isnan(estimate.low)
