# SPDX-License-Identifier: Apache-2.0
"""Means of repeated measurements with confidence intervals."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CONFIDENCE", "Difference", "Estimate"]

#: Probability that an interval contains the true mean.
CONFIDENCE = 0.95


@dataclass(frozen=True, init=False)
class Estimate:
    """The mean of independent measurements of one quantity.

    The interval is Student's: it is valid for few repetitions if the values are approximately
    normally distributed, and for many repetitions of any distribution.

    Parameters
    ----------
    values : iterable of float
        The measurements, one per repetition; the attribute is a tuple.

    Examples
    --------
    >>> harm = Estimate([0.10, 0.14, 0.06])
    >>> round(harm.mean, 3), round(harm.low, 3), round(harm.high, 3)
    (0.1, 0.001, 0.199)
    >>> print(harm)
    0.100 ± 0.099
    """

    values: tuple[float, ...]

    def __init__(self, values: Iterable[float]) -> None:
        object.__setattr__(self, "values", tuple(map(float, values)))

    @property
    def repetitions(self) -> int:
        """Number of measurements."""
        return len(self.values)

    @cached_property
    def mean(self) -> float:
        """Mean of the measurements; NaN without any."""
        return statistics.fmean(self.values) if self.values else math.nan

    @cached_property
    def deviation(self) -> float:
        """Sample standard deviation; NaN for fewer than two values or any that is not finite."""
        is_spread = len(self.values) > 1 and all(map(math.isfinite, self.values))
        return statistics.stdev(self.values) if is_spread else math.nan

    @cached_property
    def half_width(self) -> float:
        """Half the width of the 95 % confidence interval; NaN for fewer than two measurements."""
        return self.joint_half_width(1)

    def joint_half_width(self, count: int) -> float:
        """Return half the width of one of `count` simultaneous 95 % confidence intervals.

        The correction is Bonferroni's, valid for any dependence, and so also for the largest of
        `count` means. NaN for fewer than two measurements.
        """
        if len(self.values) < 2:  # noqa: PLR2004 - one value has no deviation
            return math.nan
        from scipy import special  # noqa: PLC0415 - takes a tenth of a second, needed only here

        quantile = special.stdtrit(len(self.values) - 1, 1 - (1 - CONFIDENCE) / (2 * count))
        return float(quantile) * self.deviation / math.sqrt(len(self.values))

    @property
    def low(self) -> float:
        """Lower end of the interval; NaN without an interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval; NaN without an interval."""
        return self.mean + self.half_width

    def __format__(self, form: str) -> str:
        """Return mean and half width, each formatted by `form`; without an interval the mean."""
        mean = format(self.mean, form)
        if math.isnan(self.half_width):
            return mean
        return f"{mean} ± {format(self.half_width, form.lstrip('+'))}"

    def __str__(self) -> str:
        """Return mean and half width with three decimals."""
        return format(self, ".3f")


@dataclass(frozen=True)
class Difference:
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
    >>> change = Difference.between(Estimate((1.0, 1.2, 1.1)), Estimate((1.9, 2.0, 2.4)))
    >>> round(change.mean, 2), round(change.half_width, 2), round(change.p_value, 3)
    (1.0, 0.57, 0.014)
    """

    mean: float
    half_width: float
    p_value: float

    @classmethod
    def between(cls, first: Estimate, second: Estimate) -> Difference:
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
