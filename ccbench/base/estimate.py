# SPDX-License-Identifier: Apache-2.0
r"""Repeated measurements with confidence intervals: medians, and means.

Repetitions of an experiment are few, and their distribution is often skewed: most runs agree, and
in a few of them another flow loses a burst of packets. No interval from six values contains the
*mean* of such a distribution: if 5 % of the values are ten times the others, three of four samples
have none of them, and look as if there were none. Simulations (six values, 4000 samples) of
Student's interval, Johnson's and Hall's corrections for skewness and the range of the values gave,
as shares that contain the true mean:

============================  =========  =========  ======  =======
distribution                  Student's  Johnson's  Hall's  range
============================  =========  =========  ======  =======
normal                        96 %       96 %       96 %    98 %
exponential                   89 %       89 %       92 %    93 %
lognormal, sigma = 1          84 %       84 %       89 %    90 %
mixture of two exponentials   81 %       82 %       88 %    89 %
20 % of the values 3 times    73 %       73 %       74 %    73 %
5 % of the values 10 times    26 %       26 %       28 %    26 %
============================  =========  =========  ======  =======

The *median* has an interval that holds for every distribution. Each value is below the median with
probability one half, so the binomial distribution gives the probability that the median is between
two order statistics; for six values, between the smallest and the largest, this is 96.9 %. Results
of repeated runs are therefore medians: of more than half of all runs, the value is on the same side
of 0 as an interval without 0. Their interval is up to a third wider than Student's for normal
values.

Averages over many cases are approximately normal, even with few seeds. Studies report means of
these, with Student's interval.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import count as count_from
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CONFIDENCE", "ERROR", "Estimate", "MeanDifference", "fewest", "order_statistics"]

#: Probability that an interval contains the true value, and that it does not.
CONFIDENCE = 0.95
ERROR = 0.05

#: The estimated statistic.
Statistic: TypeAlias = Literal["mean", "median"]

#: Relative difference that may be a rounding error of sums of measurements.
_ROUNDING = 1e-12

#: Skewness beyond which a sample is called skewed, in standard deviations of the skewness of normal
#: samples of its size. It is exceeded by 2.5 % of normal samples of six values, and by all of those
#: with an outlier; fewer than five values cannot exceed it.
_SKEWED = 2.25


@dataclass(frozen=True, init=False)
class Estimate:
    """The median or mean of independent measurements of one quantity, with its interval.

    The interval of a median is between two order statistics and holds for any distribution. That
    of a mean, and of a median of fewer than :func:`fewest` values, is Student's, which assumes a
    normal distribution; :attr:`doubt` states whether the sample supports it.

    Parameters
    ----------
    values : iterable of float
        The measurements, one per repetition; the attribute is a tuple.
    of : {"mean", "median"}
        The estimated statistic.
    error : float
        Probability that the interval does not contain the true value.

    Examples
    --------
    >>> harm = Estimate([0.10, 0.14, 0.06, 0.11, 0.29, 0.12], of="median")
    >>> round(harm.value, 3), harm.low, harm.high
    (0.115, 0.06, 0.29)
    >>> print(harm)
    0.115 (0.060 to 0.290)
    """

    values: tuple[float, ...]
    of: Statistic
    error: float

    def __init__(
        self, values: Iterable[float], of: Statistic = "mean", error: float = ERROR
    ) -> None:
        object.__setattr__(self, "values", tuple(map(float, values)))
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "error", error)

    @property
    def repetitions(self) -> int:
        """Number of measurements."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """Mean of the measurements; NaN without any."""
        return statistics.fmean(self.values) if self.values else math.nan

    @cached_property
    def value(self) -> float:
        """The estimated statistic of the measurements; not finite if one of them is not."""
        if self.of == "mean" or not math.isfinite(self.mean):
            return self.mean
        return statistics.median(self.values)

    @cached_property
    def deviation(self) -> float:
        """Sample standard deviation; NaN for fewer than two values or any that is not finite."""
        is_spread = len(self.values) > 1 and all(map(math.isfinite, self.values))
        return statistics.stdev(self.values) if is_spread else math.nan

    @property
    def is_distribution_free(self) -> bool:
        """Whether the interval holds for any distribution."""
        return self.of == "median" and order_statistics(self.repetitions, self.error)[0] > 0

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval; NaN for fewer than two measurements."""
        if math.isnan(self.deviation):
            return math.nan, math.nan
        if self.is_distribution_free:
            ordered = sorted(self.values)
            lowest, _ = order_statistics(self.repetitions, self.error)
            return ordered[lowest - 1], ordered[-lowest]
        from scipy import special  # noqa: PLC0415 - takes a tenth of a second, needed only here

        quantile = float(special.stdtrit(self.repetitions - 1, 1 - self.error / 2))
        half_width = quantile * self.deviation / math.sqrt(self.repetitions)
        return self.mean - half_width, self.mean + half_width

    @property
    def low(self) -> float:
        """Lower end of the interval; NaN without an interval."""
        return self.interval[0]

    @property
    def high(self) -> float:
        """Upper end of the interval; NaN without an interval."""
        return self.interval[1]

    @property
    def half_width(self) -> float:
        """Half the width of the interval; NaN without an interval."""
        return (self.high - self.low) / 2

    def joint(self, count: int) -> Estimate:
        """Return this estimate with one of `count` intervals that hold simultaneously.

        The correction is Bonferroni's, valid for any dependence, and so also for the largest of
        `count` estimates.
        """
        return Estimate(self.values, self.of, self.error / count)

    @property
    def doubt(self) -> str:
        """Reason for which the sample hardly supports its interval; empty if there is none."""
        count = self.repetitions
        distinct = len(set(self.values))
        if math.isnan(self.deviation) or distinct == 1:
            return ""
        if self.of == "median" and not self.is_distribution_free:
            return (
                f"{count} repetitions are too few for an interval without assumptions, which takes "
                f"{fewest(self.error)}; this one assumes a normal distribution"
            )
        if distinct <= count // 2:
            return f"{count} repetitions have only {distinct} distinct values"
        if abs(self._skewness) > _SKEWED * math.sqrt(6 * (count - 2) / ((count + 1) * (count + 3))):
            return f"{count} repetitions are skewed: few of them differ much from the others"
        return ""

    @property
    def _skewness(self) -> float:
        deviations = [value - self.mean for value in self.values]
        second, third = (statistics.fmean(d**power for d in deviations) for power in (2, 3))
        return third / second**1.5 if second > 0 else 0.0

    def __format__(self, form: str) -> str:
        """Return value and interval, each formatted by `form`, with as many decimals as it needs.

        The interval of a mean is written as half width. Without an interval, or if all
        measurements are equal except for rounding errors, there is only the value.
        """
        if not self.half_width > _ROUNDING * abs(self.value):
            return format(self.value, form)
        form = _refined(form or ".3f", self.value, self.half_width)
        value, unsigned = format(self.value, form), form.lstrip("+")
        if self.of == "mean":
            return f"{value} ± {format(self.half_width, unsigned)}"
        return f"{value} ({format(self.low, form)} to {format(self.high, form)})"

    def __str__(self) -> str:
        """Return value and interval with three decimals or more."""
        return format(self, ".3f")


def _refined(form: str, value: float, half_width: float) -> str:
    """Return a format with decimals for two significant digits of the half width; one of counts."""
    sign, scale = form[: form.index(".")], 100 if form.endswith("%") else 1
    digits = int(form[len(sign) + 1 : -1])
    if form.endswith("g"):
        digits = max(0, digits - 1 - _exponent(value))
    needed = (2 if digits else 1) - 1 - _exponent(half_width * scale)
    return f"{sign}.{max(digits, needed)}{'%' if scale > 1 else 'f'}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


@cache
def order_statistics(count: int, error: float) -> tuple[int, float]:
    """Return the interval between order statistics that contains the median.

    Parameters
    ----------
    count : int
        Number of values.
    error : float
        Largest probability that the interval does not contain the median.

    Returns
    -------
    int
        Largest k for which this holds of the interval from the k-th smallest to the k-th largest
        value; 0 if there is none.
    float
        Its probability for a continuous distribution; smaller for others.

    Examples
    --------
    >>> order_statistics(6, 0.05), order_statistics(5, 0.05)
    ((1, 0.03125), (0, 0.0))
    """
    samples = 2**count  # by the side of the median on which each value is
    k = outside = 0
    while (more := outside + 2 * math.comb(count, k)) <= Fraction(error) * samples:
        k, outside = k + 1, more
    return k, float(Fraction(outside, samples))


def fewest(error: float) -> int:
    """Return the smallest number of values that give an interval without assumptions.

    Examples
    --------
    >>> fewest(0.05), fewest(0.01)
    (6, 8)
    """
    return next(count for count in count_from(2) if order_statistics(count, error)[0] > 0)


@dataclass(frozen=True)
class MeanDifference:
    """The difference of the means of two sets of independent measurements, by Welch's test.

    Attributes
    ----------
    mean : float
        The second mean minus the first.
    half_width : float
        Half the width of its 95 % confidence interval; NaN if a mean is of a single measurement.
    p_value : float
        Two-sided p-value of equal means; 1 if a mean is of a single measurement.

    Examples
    --------
    >>> change = MeanDifference.between(Estimate((1.0, 1.2, 1.1)), Estimate((1.9, 2.0, 2.4)))
    >>> round(change.mean, 2), round(change.half_width, 2), round(change.p_value, 3)
    (1.0, 0.57, 0.014)
    """

    mean: float
    half_width: float
    p_value: float

    @classmethod
    def between(cls, first: Estimate, second: Estimate) -> MeanDifference:
        """Return the difference of two estimates."""
        mean = second.mean - first.mean
        if min(first.repetitions, second.repetitions) < 2:  # noqa: PLR2004 - no variance
            return cls(mean, math.nan, 1.0)
        variances = [e.deviation**2 / e.repetitions for e in (first, second)]
        if sum(variances) == 0:
            return cls(mean, 0.0, float(mean == 0))
        from scipy import special  # noqa: PLC0415 - takes a tenth of a second, needed only here

        error = math.sqrt(sum(variances))
        freedom = sum(variances) ** 2 / sum(
            variance**2 / (e.repetitions - 1)
            for variance, e in zip(variances, (first, second), strict=True)
        )
        quantile = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
        return cls(mean, quantile * error, float(2 * special.stdtr(freedom, -abs(mean) / error)))
