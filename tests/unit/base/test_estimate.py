# SPDX-License-Identifier: Apache-2.0
"""Estimates: mean and confidence interval of repeated measurements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from ccbench.base.estimate import (
    CONFIDENCE,
    ERROR,
    Estimate,
    MeanDifference,
    fewest,
    order_statistics,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FloatArray = npt.NDArray[np.float64]

#: Skewed distributions: their sampler, and their median.
SKEWED: dict[str, tuple[Callable[[np.random.Generator, int], FloatArray], float]] = {
    "lognormal": (lambda rng, n: rng.lognormal(0, 1, n), 1.0),
    "exponential": (lambda rng, n: rng.exponential(1, n), math.log(2)),
    # 90 % with a mean of 1, 10 % with a mean of 10.
    "two exponentials": (
        lambda rng, n: rng.exponential(np.where(rng.random(n) < 0.1, 10, 1)),
        0.7871,
    ),
    # 5 % of the values are ten times the others, as completion times with a lost last packet.
    "rare events": (
        lambda rng, n: rng.lognormal(0, 0.1, n) * np.where(rng.random(n) < 0.05, 10, 1),
        math.exp(0.1 * stats.norm.ppf(0.5 / 0.95)),
    ),
    # The harm of Reno to CUBIC at 10 Mbit/s, 100 ms and 4 BDP: few runs end in another state.
    "two states": (
        lambda rng, n: rng.normal(-0.183, 0.006, n) + np.where(rng.random(n) < 0.12, 0.07, 0),
        -0.183 + 0.006 * stats.norm.ppf(0.5 / 0.88),
    ),
}


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
        """A format with a sign applies the sign to values, not to half widths."""
        assert f"{Estimate((0.1, 0.3)):+.1f}" == "+0.2 ± 1.3"
        assert f"{Estimate((0.1, 0.3, 0.2) * 2, of='median'):+.1f}" == "+0.20 (+0.10 to +0.30)"

    @pytest.mark.parametrize("form", [".2f", ".4g", "+.3f", ".1%", ".0f"])
    @pytest.mark.parametrize("spread", [1e-6, 1e-3, 0.2])
    def test_varying_values_show_their_interval(self, form: str, spread: float) -> None:
        """Whatever the format, the printed half width of values that vary is above 0."""
        values = [50 + spread * i for i in range(6)]
        shown = format(Estimate(values), form).split(" ± ")[1]
        assert float(shown.rstrip("%")) > 0
        low, high = format(Estimate(values, of="median"), form).split("(")[1].split(" to ")
        assert float(low.rstrip("%")) < float(high.rstrip("%)"))

    def test_rounding_errors(self) -> None:
        """Values that differ by rounding errors are shown as equal ones."""
        assert "4.999" == f"{Estimate([4.9992, 4.9992 + 1e-15, 4.9992 - 1e-15]):.3f}"

    def test_equal_values(self) -> None:
        """Equal values are printed without an interval, rather than with one of width 0."""
        assert f"{Estimate((50.0,) * 6, of='median'):.2f}" == "50.00"

    @pytest.mark.parametrize("missing", [math.nan, -math.inf])
    def test_missing_value(self, missing: float) -> None:
        """A measurement without a finite value is not dropped: there is no interval."""
        estimate = Estimate((1.0, missing, 2.0))
        assert not math.isfinite(estimate.mean)
        assert math.isnan(estimate.half_width)
        assert math.isnan(estimate.low)


class TestMedian:
    """:class:`Estimate` of a median."""

    @pytest.mark.parametrize("name", SKEWED)
    @pytest.mark.parametrize("count", [6, 8, 20])
    def test_skewed(self, name: str, count: int) -> None:
        """Of 60 base seeds, at least 90 % have an interval with the true median."""
        sample, median = SKEWED[name]
        estimates = [
            Estimate(sample(np.random.default_rng(seed), count), of="median") for seed in range(60)
        ]
        held = sum(estimate.low <= median <= estimate.high for estimate in estimates)
        assert held >= 0.9 * len(estimates)

    @pytest.mark.parametrize("count", [6, 7, 12, 40])
    def test_probability(self, count: int) -> None:
        """The interval misses the median with the binomial probability that it states."""
        lowest, missed = order_statistics(count, ERROR)
        assert missed == pytest.approx(2 * stats.binom.cdf(lowest - 1, count, 0.5))
        assert missed <= ERROR < 2 * stats.binom.cdf(lowest, count, 0.5)

    def test_fewest(self) -> None:
        """Six values are the fewest for 95 %, as 2 of 2^6 samples are on one side of the median."""
        assert fewest(ERROR) == 6
        assert Estimate(range(6), of="median").is_distribution_free
        few = Estimate(range(5), of="median")
        assert not few.is_distribution_free
        assert few.interval == Estimate(range(5)).interval
        assert "takes 6" in few.doubt

    def test_joint(self) -> None:
        """Simultaneous intervals are wider, and take more values."""
        estimate = Estimate(range(20), of="median")
        assert estimate.joint(5).low < estimate.low < estimate.high < estimate.joint(5).high
        assert not Estimate(range(6), of="median").joint(5).is_distribution_free

    def test_extremes_do_not_matter(self) -> None:
        """A rare event moves an end of the interval and not the median."""
        usual = Estimate([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], of="median")
        rare = Estimate([1.0, 1.1, 1.2, 1.3, 1.4, 15.0], of="median")
        assert (usual.value, usual.low) == (rare.value, rare.low)
        assert rare.high == 15

    def test_missing_value(self) -> None:
        """With a value that is not a number there is neither a median nor an interval."""
        estimate = Estimate([1.0, math.nan, 2.0] * 3, of="median")
        assert math.isnan(estimate.value)
        assert math.isnan(estimate.low)
        assert estimate.doubt == ""


class TestDoubt:
    """:attr:`Estimate.doubt`."""

    @pytest.mark.parametrize(
        ("values", "of", "words"),
        [
            ([1.0, 1.01, 0.99, 1.02, 0.98, 10], "median", "skewed"),
            ([1.0, 1.01, 0.99, 1.02, 10], "mean", "skewed"),
            ([1.0, 1, 2, 2, 1, 2], "median", "only 2 distinct values"),
            ([1.0, 2, 3], "median", "too few"),
            ([1.0, 2, 3, 4, 5, 6], "median", ""),
            ([1.0, 1, 1, 1, 1, 1], "median", ""),
            ([1.0], "median", ""),
        ],
    )
    def test_reasons(self, values: list[float], of: Any, words: str) -> None:
        """Few, skewed and tied values are reported; regular, equal and single ones are not."""
        doubt = Estimate(values, of=of).doubt
        assert words in doubt
        assert bool(words) == bool(doubt)

    def test_normal_samples(self) -> None:
        """Few normal samples are doubted, and most of those with rare events in them."""
        rng = np.random.default_rng(3)
        normal = [Estimate(rng.normal(1, 1, 6), of="median") for _ in range(1000)]
        assert np.mean([bool(e.doubt) for e in normal]) < 0.05
        rare = [Estimate([*rng.lognormal(0, 0.1, 5), 10], of="median") for _ in range(100)]
        assert all(e.doubt for e in rare)


class TestDifference:
    """:class:`Difference`."""

    @pytest.mark.parametrize("counts", [(2, 2), (3, 12), (20, 20)])
    def test_welch(self, counts: tuple[int, int]) -> None:
        """The p-value is SciPy's; a difference is significant if its interval excludes zero."""
        rng = np.random.default_rng(sum(counts))
        for spread in (0.2, 1, 5):
            samples = [rng.normal(i, spread, count) for i, count in enumerate(counts)]
            change = MeanDifference.between(*map(Estimate, samples))
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
            MeanDifference.between(Estimate(rng.normal(3, 2, 6)), Estimate(rng.normal(5, 1, 12)))
            for _ in range(4000)
        ]
        covered = np.mean([abs(change.mean - 2) <= change.half_width for change in changes])
        # Welch's approximation is good to a percent.
        assert abs(covered - CONFIDENCE) < 0.01 + 3 * math.sqrt(0.05 * 0.95 / 4000)

    def test_constants(self) -> None:
        """Means without variance differ or are equal, and single measurements never differ."""
        same, other, single = Estimate((1, 1)), Estimate((2, 2)), Estimate((9,))
        assert MeanDifference.between(same, same) == MeanDifference(0.0, 0.0, 1.0)
        assert MeanDifference.between(same, other) == MeanDifference(1.0, 0.0, 0.0)
        assert MeanDifference.between(same, single).p_value == 1.0
        assert math.isnan(MeanDifference.between(same, single).half_width)
