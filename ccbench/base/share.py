# SPDX-License-Identifier: Apache-2.0
"""Shares of counted cases with exact confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ccbench.base.estimate import CONFIDENCE

__all__ = ["Share"]


@dataclass(frozen=True)
class Share:
    """The percentage of cases that have a property.

    The interval is that of C. Clopper and E. Pearson ("The use of confidence or fiducial limits
    illustrated in the case of the binomial", 1934): exact for independent cases, also if all of
    them have the property, where a standard deviation would be 0.

    Parameters
    ----------
    count : int
        Number of cases with the property.
    n_cases : int
        Number of all cases.
    is_sample : bool
        Whether they are a random sample of more cases. If not, there is no interval.

    Examples
    --------
    >>> right = Share(132, 132)
    >>> right.mean, round(right.low, 1), right.high
    (100.0, 97.2, 100.0)
    >>> print(right)
    100 (97.2 to 100, of 132)
    >>> print(Share(3, 7, is_sample=False))
    42.9 (of 7)
    """

    count: int
    n_cases: int
    is_sample: bool = True

    @property
    def mean(self) -> float:
        """Percentage with the property; NaN without cases."""
        return 100 * self.count / self.n_cases if self.n_cases else math.nan

    @property
    def low(self) -> float:
        """Lower end of the interval in per cent; NaN without an interval."""
        return self._interval[0]

    @property
    def high(self) -> float:
        """Upper end of the interval in per cent; NaN without an interval."""
        return self._interval[1]

    @cached_property
    def _interval(self) -> tuple[float, float]:
        if not (self.is_sample and self.n_cases):
            return math.nan, math.nan
        from scipy import stats  # noqa: PLC0415 - takes half a second, needed only here

        test = stats.binomtest(self.count, self.n_cases)
        ends = test.proportion_ci(CONFIDENCE, method="exact")
        return 100 * float(ends.low), 100 * float(ends.high)

    def __format__(self, form: str) -> str:
        """Return percentage and interval, each formatted by `form`, and the number of cases."""
        interval = ""
        if not math.isnan(self.low):
            interval = f"{format(self.low, form)} to {format(self.high, form)}, "
        return f"{format(self.mean, form)} ({interval}of {self.n_cases})"

    def __str__(self) -> str:
        """Return percentage and interval with three digits."""
        return format(self, ".3g")
