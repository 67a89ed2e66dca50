# SPDX-License-Identifier: Apache-2.0
"""How the studies of Nimbus compare: a number's mean over the seeds, its range, its worst case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["compared", "spread", "worst_case"]


def compared(  # noqa: PLR0913 - a comparison's own settings, all but two by keyword
    what: str,
    values: pd.Series[float],
    *,
    published: str,
    accepted: tuple[float, float],
    unit: str = "%",
    digits: int = 1,
) -> Comparison:
    """Compare the mean of a number over the seeds; the note has its range."""
    return Comparison(
        what=what,
        ours=float(values.mean()),
        published=published,
        accepted=accepted,
        unit=unit,
        note=spread(values, digits),
    )


def spread(values: pd.Series[float], digits: int = 1) -> str:
    """Return the range of a number over the seeds, for a comparison's note.

    Examples
    --------
    >>> import pandas as pd
    >>> spread(pd.Series([3.14, 2.72]))
    '2.7 to 3.1 over 2 seeds'
    """
    kept = values.dropna()
    low, high = (f"{value:.{digits}f}" for value in (kept.min(), kept.max()))
    return f"{low} to {high} over {len(kept)} seeds"


def worst_case(rows: pd.DataFrame, by: Sequence[str]) -> pd.Series[float]:
    """Return the accuracy of each seed in the case where the mean over the seeds is lowest.

    Parameters
    ----------
    rows : DataFrame
        With the columns ``seed`` and ``accuracy_percent``.
    by : sequence of str
        The columns that tell one case from another.
    """
    cases = rows.groupby(list(by))["accuracy_percent"]
    lowest: Any = cases.mean().idxmin()
    case = lowest if isinstance(lowest, tuple) else (lowest,)
    words = (f"{value:g}" if isinstance(value, float) else str(value) for value in case)
    return cases.get_group(case).rename(" ".join(words))
