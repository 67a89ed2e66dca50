# SPDX-License-Identifier: Apache-2.0
"""Comparisons of the Nimbus studies: means over seeds, and worst cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate
from ccbench.studies.published import percentage
from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from ccbench.studies.published import Published

__all__ = ["compared", "farthest", "relative_to", "worst_case"]


def compared(
    quantity: str,
    values: pd.Series[float],
    published: Published,
    *,
    unit: str = "%",
    note: str = "",
) -> Comparison:
    """Return the comparison of a quantity's mean over seeds with a published statement.

    Parameters
    ----------
    quantity : str
        As in :class:`Comparison`.
    values : Series
        The quantity, one value per seed. Seeds without a value (NaN) are ignored.
    published : Published
        The statement.
    unit, note : str
        As in :class:`Comparison`.

    Examples
    --------
    >>> import pandas as pd
    >>> delay = compared("delay", pd.Series([10.0, 12.0, 11.0]), percentage(11, "Table 1"))
    >>> delay.value, delay.verdict
    (11.0, 'agrees')
    """
    mean = Estimate(values.dropna())
    return Comparison(quantity=quantity, measured=mean, published=published, unit=unit, note=note)


def relative_to(change: float, where: str) -> Published:
    """Return a published change in percent as a percentage of its reference.

    Otherwise a change near 0 would have almost no tolerance: a quarter of 1 % is a quarter of a
    point.

    Examples
    --------
    >>> statement = relative_to(-10, "Table 1")
    >>> statement.text, statement.low, statement.high
    ('90 (-10 %)', 85.0, 95.0)
    """
    stated = f"{change:+g} %" if change else "0 %"
    return percentage(100 + change, where, text=f"{100 + change:g} ({stated})")


def farthest(
    cases: Mapping[str, pd.Series[float]], expected: float
) -> tuple[str, pd.Series[float]]:
    """Return the case whose mean over seeds is farthest from the expected value.

    Parameters
    ----------
    cases : mapping of str to Series
        One value per seed, by case.
    expected : float
        Expected value, such as 100 for a ratio of equal throughputs in percent.

    Examples
    --------
    >>> import pandas as pd
    >>> cases = {"shallow": pd.Series([99.0, 101.0]), "deep": pd.Series([80.0, 90.0])}
    >>> name, values = farthest(cases, 100)
    >>> name
    'deep'
    """
    return max(cases.items(), key=lambda case: abs(float(case[1].mean()) - expected))


def worst_case(rows: pd.DataFrame, by: Sequence[str]) -> pd.Series[float]:
    """Return the accuracy per seed of the case with the lowest mean over seeds.

    Parameters
    ----------
    rows : DataFrame
        Table with the columns ``seed`` and ``accuracy_percent``.
    by : sequence of str
        The columns that identify a case.
    """
    cases = rows.groupby(list(by))["accuracy_percent"]
    lowest: Any = cases.mean().idxmin()
    case = lowest if isinstance(lowest, tuple) else (lowest,)
    words = (f"{value:g}" if isinstance(value, float) else str(value) for value in case)
    return cases.get_group(case).rename(" ".join(words))
