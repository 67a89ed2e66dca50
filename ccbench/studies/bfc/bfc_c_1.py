# SPDX-License-Identifier: Apache-2.0
"""Worst-case time without packets, by pause threshold (Goyal 2022, Figure C-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.models.bfc import empty_fraction, worst_empty_fraction
from ccbench.studies.bfc.slowdown import value
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, percentage
from ccbench.studies.study import Comparison, Findings, ModelStudy, Rows

if TYPE_CHECKING:
    import pandas as pd

#: Pause thresholds in 1-hop BDPs at a queue's drain rate.
_THRESHOLDS = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
_OWN = 1.0
#: Ratios of arrival to departure rate, for the largest value without calculus.
_RATIOS = np.concatenate([[1.1], 1 + np.logspace(-4, 4, 80_001)])
_WHERE = "appendix C"


def _rows(*, quick: bool) -> Rows:
    ratios = _RATIOS[::100] if quick else _RATIOS
    rows = []
    for threshold in _THRESHOLDS:
        fractions = empty_fraction(ratios, threshold)
        rows.append(
            {
                "threshold_hops": threshold,
                "worst_percent": 100 * float(worst_empty_fraction(threshold)),
                "largest_percent": 100 * float(fractions.max()),
                "at_ratio": float(ratios[int(fractions.argmax())]),
                "at_1.1_percent": 100 * float(fractions[0]),
            }
        )
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    gains = -np.diff(table["worst_percent"]) / np.diff(table["threshold_hops"])
    drawn = Figure(figsize=(5, 3.2), layout="constrained")
    axes = drawn.subplots()
    axes.plot(table["threshold_hops"], table["worst_percent"], marker="o", markersize=3)
    axes.set(xlabel="pause threshold (1-hop BDPs)", ylabel="time without packets, worst (%)")
    own = {"threshold_hops": _OWN}
    return Findings(
        table=table,
        figure=drawn,
        comparisons=(
            Comparison(
                quantity="worst time without packets, BFC's threshold, equation C.5",
                measured=value(table, "worst_percent", **own),
                published=percentage(20, _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="worst time without packets, BFC's threshold, largest value of equation "
                "C.4",
                measured=value(table, "largest_percent", **own),
                published=percentage(20, _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="time without packets at an enqueue rate 10 % above the dequeue rate",
                measured=value(table, "at_1.1_percent", **own),
                published=percentage(7.6, _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="gain per threshold, last step ÷ the first",
                measured=float(gains[-1] / gains[0]),
                published=at_most(1, _WHERE, text="diminishing returns"),
            ),
        ),
    )


STUDY = ModelStudy(info=info("bfc-c.1"), rows=_rows, conclude=_conclude)
