# SPDX-License-Identifier: Apache-2.0
"""Means over the repetitions of a sweep, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.sweeps._settings import Value
    from ccbench.sweeps._sweep import Sweep
    from ccbench.sweeps.metrics import SweepMetric

__all__ = ["CaseEstimate", "estimates"]


@dataclass(frozen=True)
class CaseEstimate:
    """A metric's mean for a combination.

    Attributes
    ----------
    values : mapping
        The combination: values by the paths of their settings.
    metric : SweepMetric
    of : str
        Of which flows (their label, or ``group 1`` where that is not the same in all combinations
        or not theirs alone), or of which bottleneck; empty if there is but one.
    estimate : Estimate
        Over the repetitions. NaN if the metric has no value in one of them.
    """

    values: Mapping[str, Value]
    metric: SweepMetric
    of: str
    estimate: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return it as a dictionary of plain values."""
        return {
            "settings": dict(self.values),
            "metric": self.metric.name,
            "unit": self.metric.unit,
            "of": self.of,
            "mean": self.estimate.mean,
            "low": self.estimate.low,
            "high": self.estimate.high,
            "repetitions": self.estimate.repetitions,
            "single": list(self.estimate.values),
        }


def estimates(sweep: Sweep, table: pd.DataFrame) -> tuple[CaseEstimate, ...]:
    """Return the means of all metrics for all combinations, in their order.

    Parameters
    ----------
    sweep : Sweep
    table : DataFrame
        What its :meth:`~ccbench.sweeps.Sweep.run` has returned.

    Examples
    --------
    >>> for one in estimates(sweep, table):  # doctest: +SKIP
    ...     print(one.values, one.of, one.estimate)
    """
    rows = len(table) // len(sweep.cases)
    return tuple(
        CaseEstimate(case.values, metric, of, Estimate(values))
        for i, case in enumerate(sweep.cases)
        for metric in sweep.measured
        for of, values in _values(sweep, metric, table.iloc[i * rows : (i + 1) * rows])
    )


def _values(
    sweep: Sweep, metric: SweepMetric, table: pd.DataFrame
) -> list[tuple[str, pd.Series[float]]]:
    """Return what the metric is of, and its values in a combination's repetitions."""
    if metric.scope == "group":
        return [
            (name, table.loc[table["group"] == i, metric.column])
            for i, name in enumerate(_group_names(sweep))
        ]
    once = table if "group" not in table else table[table["group"] == 0]
    of = metric.columns(len(sweep.cases[0].scenario.bottlenecks))
    names = [f"bottleneck {i}" for i in range(len(of))] if len(of) > 1 else [""]
    return [(name, once[column]) for name, column in zip(names, of, strict=True)]


def _group_names(sweep: Sweep) -> list[str]:
    """Return the groups' labels, or their numbers where labels do not tell them apart."""
    labels = [
        [flow.label or flow.cca or flow.kind for flow in case.scenario.flows]
        for case in sweep.cases
    ]
    if len(labels[0]) == 1:
        return [""]
    return [
        label
        if labels[0].count(label) == 1 and all(one[i] == label for one in labels)
        else f"group {i}"
        for i, label in enumerate(labels[0])
    ]
