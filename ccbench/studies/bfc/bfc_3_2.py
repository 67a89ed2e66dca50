# SPDX-License-Identifier: Apache-2.0
"""Bytes contributed by flows of each size (Goyal 2022, Figure 3-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.datacenter import flow_sizes
from ccbench.studies.bfc.slowdown import value
from ccbench.studies.catalogue import info
from ccbench.studies.published import percentage, unbounded
from ccbench.studies.study import Comparison, Findings, ModelStudy, Rows

if TYPE_CHECKING:
    import pandas as pd

#: "The three vertical lines": BDPs at 12 μs in bytes, by Gbit/s.
_RTT_S = 12e-6
_BDPS = {gbps: gbps * 1e9 / 8 * _RTT_S for gbps in (10, 40, 100)}
#: The size of which the text speaks.
_STATED_BYTES = 100e3
_QUANTILES = 1_000_000


def _rows(*, quick: bool) -> Rows:
    edges = np.unique([*np.logspace(2, 8, 25), *_BDPS.values(), _STATED_BYTES])
    count = _QUANTILES // 100 if quick else _QUANTILES
    rows = []
    for name in flow_sizes.NAMES:
        sizes = flow_sizes.get(name).quantile((np.arange(count) + 0.5) / count)
        sums = np.concatenate([[0.0], np.cumsum(sizes)])
        below = sums[np.searchsorted(sizes, edges, side="right")] / sums[-1]
        rows += [
            {"sizes": name, "up_to_bytes": float(edge), "bytes_percent": 100 * float(share)}
            for edge, share in zip(edges, below, strict=True)
        ]
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    def share(sizes: str, up_to: float) -> float:
        return value(table, "bytes_percent", sizes=sizes, up_to_bytes=up_to)

    drawn = Figure(figsize=(6, 3.2), layout="constrained")
    axes = drawn.subplots()
    for name, rows in table.groupby("sizes", sort=False):
        axes.plot(rows["up_to_bytes"], rows["bytes_percent"], label=str(name))
    for bdp in _BDPS.values():
        axes.axvline(bdp, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="flows up to (bytes)", ylabel="share of all bytes (%)")
    axes.legend()
    return Findings(
        table=table,
        figure=drawn,
        comparisons=(
            Comparison(
                quantity="Google: bytes of flows up to 100 KB",
                measured=share("google", _STATED_BYTES),
                published=percentage(50, "section 3.2", text="nearly half"),
                unit="%",
            ),
            *(
                Comparison(
                    quantity=f"Facebook: bytes of flows up to a BDP of 12 μs at {gbps} Gbit/s",
                    measured=share("facebook", bdp),
                    published=unbounded("read off the figure only", "Figure 3-2"),
                    unit="%",
                )
                for gbps, bdp in _BDPS.items()
            ),
        ),
    )


STUDY = ModelStudy(info=info("bfc-3.2"), rows=_rows, conclude=_conclude)
