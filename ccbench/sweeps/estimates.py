# SPDX-License-Identifier: Apache-2.0
"""Medians over the repetitions of a sweep, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate
from ccbench.experiment.setting_paths import plain
from ccbench.metrics import column_of, group_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.experiment.setting_paths import Value
    from ccbench.metrics import Metric
    from ccbench.sweeps._sweep import Sweep

__all__ = ["CaseEstimate", "estimates"]


@dataclass(frozen=True)
class CaseEstimate:
    """The median of a metric for a combination.

    Attributes
    ----------
    values : mapping
        Values of the settings, by path.
    metric : Metric
    of : str
        Name of the bottleneck or group of flows; empty if there is only one. The name of a group is
        its label, or its number (``group 1``) if the label is not unique or varies.
    estimate : Estimate
        Estimate over the repetitions; NaN if the metric has no value in one of them. Of exact runs
        it has the value of the first, without an interval.
    is_exact : bool
        Whether every seed gives the same runs.
    """

    values: Mapping[str, Value]
    metric: Metric
    of: str
    estimate: Estimate
    is_exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as a dictionary of plain values."""
        return {
            "settings": {path: plain(value) for path, value in self.values.items()},
            "metric": self.metric.name,
            "unit": self.metric.unit,
            "of": self.of,
            "median": self.estimate.value,
            "low": self.estimate.low,
            "high": self.estimate.high,
            "repetitions": self.estimate.repetitions,
            "exact": self.is_exact,
            "doubt": self.estimate.doubt or None,
            "single": list(self.estimate.values),
        }


def estimates(sweep: Sweep, table: pd.DataFrame) -> tuple[CaseEstimate, ...]:
    """Return the medians of all metrics for all combinations, in order.

    Parameters
    ----------
    sweep : Sweep
    table : DataFrame
        Result of :meth:`Sweep.run <ccbench.sweeps.Sweep.run>`.

    Examples
    --------
    >>> for median in estimates(sweep, table):  # doctest: +SKIP
    ...     print(median.values, median.of, median.estimate)
    """
    rows = len(table) // len(sweep.cases)
    exact = table.attrs["exact"]
    return tuple(
        CaseEstimate(
            case.values,
            metric,
            of,
            Estimate(values[:1] if is_exact else values, of="median"),
            is_exact,
        )
        for i, (case, is_exact) in enumerate(zip(sweep.cases, exact, strict=True))
        for metric in sweep.measured
        for of, values in _values(sweep, metric, table.iloc[i * rows : (i + 1) * rows])
    )


def _values(
    sweep: Sweep, metric: Metric, table: pd.DataFrame
) -> list[tuple[str, pd.Series[float]]]:
    """Return the name of each group or bottleneck, and its values over the repetitions."""
    if metric.scope == "flow":
        return [
            (name, table.loc[table["group"] == i, metric.column])
            for i, name in enumerate(_group_names(sweep))
        ]
    once = table if "group" not in table else table[table["group"] == 0]
    return [(_name(of), once[column_of(metric, of)]) for of in table.attrs["objects"][metric.name]]


def _name(of: str) -> str:
    """Return the name of a bottleneck or of a queue within it.

    Examples
    --------
    >>> _name(""), _name("1"), _name("l4s"), _name("1 l4s")
    ('', 'bottleneck 1', 'l4s queue', 'bottleneck 1, l4s queue')
    """
    words = of.split()
    numbers = [f"bottleneck {word}" for word in words if word.isdecimal()]
    return ", ".join(numbers + [f"{word} queue" for word in words if not word.isdecimal()])


def _group_names(sweep: Sweep) -> list[str]:
    """Return the label of each group, or its number if the label is not unique or varies."""
    of_cases = [group_names(case.scenario.flows) for case in sweep.cases]
    return [
        names[0] if len(set(names)) == 1 else f"group {i}"
        for i, names in enumerate(zip(*of_cases, strict=True))
    ]
