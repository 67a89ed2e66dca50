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

__all__ = ["CONFIDENCE", "Estimate"]

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
