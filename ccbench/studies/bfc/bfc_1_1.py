# SPDX-License-Identifier: Apache-2.0
"""Capacity of a recorded cellular link over time (Goyal 2022, Figure 1-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.experiment import trace_library
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, ModelStudy, Rows

if TYPE_CHECKING:
    import pandas as pd

#: A recorded Verizon LTE link, of which the thesis does not say more.
_LINK = "Verizon-LTE-short.down"
#: "A fraction of a second".
_WINDOW_S = 0.25
_WHERE = "section 1.1.1"


def _rows(*, quick: bool) -> Rows:
    rates = trace_library.find(_LINK).rates_mbps(_WINDOW_S)
    return [
        {"time_s": i * _WINDOW_S, "mbps": rate}
        for i, rate in enumerate(rates[:40] if quick else rates)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    rates = table["mbps"].to_numpy()
    growth = rates[1:] / np.where(rates[:-1] > 0, rates[:-1], np.nan)
    drawn = Figure(figsize=(8, 3.2), layout="constrained")
    axes = drawn.subplots()
    axes.step(table["time_s"], rates, where="post")
    axes.set(xlabel="time (s)", ylabel="capacity (Mbit/s)", title=_LINK)
    return Findings(
        table=table,
        figure=drawn,
        comparisons=(
            Comparison(
                quantity="largest growth of the capacity from a quarter of a second to the next",
                measured=float(np.nanmax(growth)),
                published=at_least(2, _WHERE, text="can double within a fraction of a second"),
            ),
            Comparison(
                quantity="largest decline of the capacity from a quarter of a second to the next",
                measured=float(1 / np.nanmin(growth[growth > 0])),
                published=at_least(2, _WHERE, text="or reduce to half"),
            ),
        ),
    )


STUDY = ModelStudy(info=info("bfc-1.1"), rows=_rows, conclude=_conclude)
