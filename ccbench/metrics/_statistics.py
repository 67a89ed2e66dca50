# SPDX-License-Identifier: Apache-2.0
"""Statistics of many observations: the mean, percentiles and the maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["STATISTICS", "Statistic"]


@dataclass(frozen=True)
class Statistic:
    """A statistic.

    Attributes
    ----------
    suffix : str
        End of a metric's name.
    words : str
        Beginning of a quantity in words.
    share : float or None
        Of the observations that the statistic is not below; None: the mean.
    """

    suffix: str
    words: str
    share: float | None

    def of_groups(self, groups: Any) -> pd.Series[float]:
        """Return the statistic of each group of a grouped Series."""
        values: pd.Series[float] = (
            groups.mean() if self.share is None else groups.quantile(self.share)
        )
        return values


#: The mean has no suffix.
STATISTICS = (
    Statistic("", "mean ", None),
    Statistic("_p50", "median ", 0.5),
    Statistic("_p95", "95th percentile of the ", 0.95),
    Statistic("_p99", "99th percentile of the ", 0.99),
    Statistic("_max", "maximum ", 1.0),
)
