# SPDX-License-Identifier: Apache-2.0
"""Transfers of a given size: flows of kind ``"bytes"``, single ones and lists of short flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.run import flow_analysis
from ccbench.run.outcomes._outcome import OutcomeColumn, OutcomeTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["TRANSFERS"]

#: Units of sizes, the largest first.
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0))


def _of_group(run: RunRecord, flows: pd.DataFrame) -> dict[str, float]:
    every = flow_analysis.completion_times(run)
    done = every[every.index.isin(flows.index)]
    delivered = run.completions.loc[flows.index, "delivered_bytes"].sum()
    if not (of_connections := run.connections).empty:
        own = of_connections[of_connections["flow"].isin(flows.index)]
        delivered = own.groupby("flow")["delivered_bytes"].last().sum() if len(own) else delivered
    times_s = done["fct_s"].dropna()
    return {
        "transfers": len(done),
        "finished": len(times_s),
        "size_bytes": int(done["size_bytes"].sum()),
        "delivered_bytes": int(delivered),
        "mean_fct_s": times_s.mean(),
        "median_fct_s": times_s.median(),
    }


def _remarks(tables: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Yield a sentence for each group of which a transfer did not finish."""
    for i, flows in enumerate(tables[0].index):
        rows = [table.iloc[i] for table in tables]
        count = int(rows[0]["transfers"])
        missing = [count - int(row["finished"]) for row in rows]
        if not any(missing):
            continue
        delivered = sum(row["delivered_bytes"] for row in rows) / len(rows)
        amount = _amount(delivered, rows[0]["size_bytes"])
        name = f"flow{'' if count == 1 else 's'} {flows}"
        if len(rows) > 1:
            failed = sum(n > 0 for n in missing)
            yield f"{name}: {amount} on average; did not finish in {failed} of {len(rows)} runs"
        elif count == 1:
            yield f"{name}: {amount}; did not finish"
        else:
            yield f"{name}: {amount}; {missing[0]} of {count} did not finish"


def _amount(delivered_bytes: float, size_bytes: float) -> str:
    """Return the part of a size that arrived.

    Examples
    --------
    >>> _amount(11_218_000, 20_000_000)
    '11.2 of 20 MB'
    """
    unit, each = next(pair for pair in _UNITS if size_bytes >= pair[1])
    return f"{delivered_bytes / each:,.3g} of {size_bytes / each:,.3g} {unit}"


TRANSFERS = OutcomeTable(
    name="transfers",
    kind="bytes",
    columns=(
        OutcomeColumn("transfers", "transfers", ".0f"),
        OutcomeColumn("finished", "finished", ".4g"),
        OutcomeColumn("size_bytes", "size\nbytes", ",.0f"),
        OutcomeColumn("delivered_bytes", "delivered\nbytes", ",.0f"),
        OutcomeColumn("mean_fct_s", "mean completion\ns", ".3f"),
        OutcomeColumn("median_fct_s", "median\ns", ".3f"),
    ),
    of_group=_of_group,
    remarks=_remarks,
)
