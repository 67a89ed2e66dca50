# SPDX-License-Identifier: Apache-2.0
"""The part of the spread of repeated measurements that the order of starts explains."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.experiment.scenario import Scenario
    from ccbench.harm._pairs import Sides

__all__ = ["OrderEffect", "alpha_leads"]

#: Fewest values of each order whose variance can be compared.
_FEWEST = 2


@dataclass(frozen=True)
class OrderEffect:
    """Repetitions in which alpha starts first, and those in which beta does.

    Attributes
    ----------
    alpha_first, beta_first : tuple of float
        The measured values.

    Examples
    --------
    >>> order = OrderEffect((0.12, 0.10, 0.14), (-0.13, -0.11, -0.12))
    >>> round(order.explained, 2), round(order.balanced, 2)
    (0.99, 0.0)
    """

    alpha_first: tuple[float, ...]
    beta_first: tuple[float, ...]

    @property
    def explained(self) -> float:
        """Share of the variance that the order explains: adjusted R², at least 0.

        NaN with fewer than two repetitions of an order, or if a value is missing.
        """
        orders = self.alpha_first, self.beta_first
        together = (*self.alpha_first, *self.beta_first)
        if min(map(len, orders)) < _FEWEST or not all(map(math.isfinite, together)):
            return math.nan
        total = statistics.variance(together)
        within = sum(statistics.variance(values) * (len(values) - 1) for values in orders)
        return max(0.0, 1 - within / (len(together) - 2) / total) if total else 0.0

    @property
    def balanced(self) -> float:
        """Harm with both orders equally often: the mean of their medians; NaN without one of them.

        The median of all repetitions is that of the order that is more frequent among them by
        chance, if the order decides. This value is not, and mirrors that of exchanged roles.
        """
        return statistics.fmean((_median(self.alpha_first), _median(self.beta_first)))

    def to_dict(self) -> dict[str, Any]:
        """Return counts and medians as a dictionary (JSON-able except for NaN)."""
        document: dict[str, Any] = {"explained": self.explained, "balanced": self.balanced}
        for name in ("alpha_first", "beta_first"):
            values = getattr(self, name)
            document |= {f"{name}_repetitions": len(values), f"{name}_median": _median(values)}
        return document


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else math.nan


def alpha_leads(competing: Scenario, flows: Sides) -> bool:
    """Return whether the alpha flows start before the beta flows, on average."""
    starts_s: Sequence[float] = competing.starts_s().tolist()
    return statistics.fmean(starts_s[flows.alpha]) < statistics.fmean(starts_s[flows.beta])
