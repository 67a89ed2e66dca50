# SPDX-License-Identifier: Apache-2.0
"""Estimates: mean and confidence interval of repeated measurements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from ccbench.base.estimate import CONFIDENCE, Difference, Estimate


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


class TestDifference:
    """:class:`Difference`."""

    @pytest.mark.parametrize("counts", [(2, 2), (3, 12), (20, 20)])
    def test_welch(self, counts: tuple[int, int]) -> None:
        """The p-value is SciPy's; a difference is significant if its interval excludes zero."""
        rng = np.random.default_rng(sum(counts))
        for spread in (0.2, 1, 5):
            samples = [rng.normal(i, spread, count) for i, count in enumerate(counts)]
            change = Difference.between(*map(Estimate, samples))
            assert change.mean == pytest.approx(samples[1].mean() - samples[0].mean())
            assert change.p_value == pytest.approx(
                stats.ttest_ind(*samples, equal_var=False).pvalue
            )
            is_outside = abs(change.mean) > change.half_width
            assert is_outside == (change.p_value < 1 - CONFIDENCE)

    def test_coverage(self) -> None:
        """Of normal samples with different variances, 95 % of the intervals contain the truth."""
        rng = np.random.default_rng(2)
        changes = [
            Difference.between(Estimate(rng.normal(3, 2, 6)), Estimate(rng.normal(5, 1, 12)))
            for _ in range(4000)
        ]
        covered = np.mean([abs(change.mean - 2) <= change.half_width for change in changes])
        # Welch's approximation is good to a percent.
        assert abs(covered - CONFIDENCE) < 0.01 + 3 * math.sqrt(0.05 * 0.95 / 4000)

    def test_constants(self) -> None:
        """Means without variance differ or are equal, and single measurements never differ."""
        same, other, single = Estimate((1, 1)), Estimate((2, 2)), Estimate((9,))
        assert Difference.between(same, same) == Difference(0.0, 0.0, 1.0)
        assert Difference.between(same, other) == Difference(1.0, 0.0, 0.0)
        assert Difference.between(same, single).p_value == 1.0
        assert math.isnan(Difference.between(same, single).half_width)
