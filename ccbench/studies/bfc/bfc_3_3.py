# SPDX-License-Identifier: Apache-2.0
"""Change of a long flow's fair share by interval and link rate (Goyal 2022, Figure 3-3)."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.datacenter.flow_sizes import NAMES
from ccbench.studies.bfc.fair_share import GBPS, changes
from ccbench.studies.bfc.slowdown import SEEDS, by_seed, value
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, ModelStudy, Rows

if TYPE_CHECKING:
    import pandas as pd

_RTT_US = 8
_WHERE = "section 3.2.1"


def _rows(*, quick: bool) -> Rows:
    return [
        {
            "sizes": sizes,
            "gbps": gbps,
            "seed": seed,
            "interval_us": interval,
            "change_percent": change,
        }
        for sizes in NAMES
        for gbps in GBPS
        for seed in (SEEDS[:1] if quick else SEEDS)
        for interval, change in changes(sizes, gbps, seed, quick=quick).items()
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    slowest, *_, fastest = GBPS

    def change(rows: pd.DataFrame, sizes: str, gbps: float) -> float:
        return value(rows, "change_percent", sizes=sizes, gbps=gbps, interval_us=_RTT_US)

    def by_rate(rows: pd.DataFrame, sizes: str) -> float:
        return change(rows, sizes, fastest) / change(rows, sizes, slowest)

    def by_sizes(rows: pd.DataFrame, shorter: str, longer: str) -> float:
        return change(rows, shorter, fastest) / change(rows, longer, fastest)

    drawn = Figure(figsize=(12, 3.2), layout="constrained")
    for sizes, axes in zip(NAMES, drawn.subplots(1, len(NAMES), sharey=True), strict=True):
        for gbps, rows in table[table["sizes"] == sizes].groupby("gbps"):
            mean = rows.groupby("interval_us")["change_percent"].mean()
            axes.plot(mean.index, mean, marker="o", markersize=3, label=f"{gbps:g} Gbit/s")
        axes.set(xscale="log", xlabel="interval (μs)", title=sizes)
    drawn.axes[0].set(ylabel="mean change of the fair share (%)")
    drawn.axes[0].legend()
    return Findings(
        table=table,
        figure=drawn,
        comparisons=(
            *(
                Comparison(
                    quantity=f"{sizes}: change over 8 μs at 100 Gbit/s ÷ that at 10 Gbit/s",
                    measured=by_seed(table, partial(by_rate, sizes=sizes)),
                    published=at_least(1, _WHERE, text="more rapidly as link speeds increase"),
                )
                for sizes in NAMES
            ),
            *(
                Comparison(
                    quantity=f"change over 8 μs at 100 Gbit/s, {shorter} ÷ {longer}",
                    measured=by_seed(table, partial(by_sizes, shorter=shorter, longer=longer)),
                    published=at_least(1, _WHERE, text="more rapidly as flows become shorter"),
                )
                for shorter, longer in pairwise(NAMES)
            ),
        ),
    )


STUDY = ModelStudy(info=info("bfc-3.3"), rows=_rows, conclude=_conclude)
