# SPDX-License-Identifier: Apache-2.0
"""A long flow's fair share over time by link rate (Goyal 2022, Figure 1-2)."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.studies.bfc.fair_share import GBPS, changes, numbers_of_flows
from ccbench.studies.bfc.slowdown import SEEDS, by_seed, value
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, ModelStudy, Rows

if TYPE_CHECKING:
    import pandas as pd

#: The thesis does not name the distribution; this is that of most of its results.
_SIZES = "facebook"
#: A millisecond, after the link has filled, in steps of a microsecond.
_TIMES_US = np.arange(0.0, 1000.0)
#: Interval of the compared changes in μs. They are those of the whole time, not of the drawn part.
_INTERVAL_US = 1
_WHERE = "section 1.1.1"


def _rows(*, quick: bool) -> Rows:
    rows = []
    for gbps, seed in product(GBPS, SEEDS):
        times_s, numbers = numbers_of_flows(_SIZES, gbps, seed, quick=quick)
        change = changes(_SIZES, gbps, seed, quick=quick)[_INTERVAL_US]
        at_s = 0.5 * times_s[-1] + 1e-6 * _TIMES_US
        counts = numbers[np.searchsorted(times_s, at_s, side="right") - 1]
        common = {"gbps": gbps, "seed": seed, "change_percent": change}
        rows += [
            {**common, "time_us": float(time), "share": 1 / int(count)}
            for time, count in zip(_TIMES_US, counts, strict=True)
        ]
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    def growth(rows: pd.DataFrame, *, slower: float, faster: float) -> float:
        of, by = (value(rows, "change_percent", gbps=gbps) for gbps in (faster, slower))
        return of / by

    drawn = Figure(figsize=(8, 3.2), layout="constrained")
    axes = drawn.subplots()
    first = table[table["seed"] == SEEDS[0]]
    for gbps in GBPS:
        rows = first[first["gbps"] == gbps]
        axes.plot(rows["time_us"], rows["share"] * gbps, label=f"{gbps:g} Gbit/s")
    axes.set(xlabel="time (μs)", ylabel="fair share (Gbit/s)")
    axes.legend()
    return Findings(
        table=table,
        figure=drawn,
        comparisons=tuple(
            Comparison(
                quantity=f"mean change of the fair share per μs, {faster:g} Gbit/s "
                f"relative to {slower:g} Gbit/s",
                measured=by_seed(table, partial(growth, slower=slower, faster=faster)),
                published=at_least(1, _WHERE, text="fluctuates more significantly"),
            )
            for slower, faster in pairwise(GBPS)
        ),
    )


STUDY = ModelStudy(info=info("bfc-1.2"), rows=_rows, conclude=_conclude)
