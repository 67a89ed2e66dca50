# SPDX-License-Identifier: Apache-2.0
"""Slowdown over the size of the flow table (Goyal 2022, Figure 3-22)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.bfc.scheme import scheme
from ccbench.studies.bfc_slowdown import INCAST
from ccbench.studies.bfc_sweep import at, case_of, figure, measure
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.case import Case

#: Entries for each queue.
_SIZES = (1, 10, 100, 1000)


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return tuple(
        case_of(
            entries, replace(scheme("bfc"), table_per_queue=entries), quick=quick, incast=INCAST
        )
        for entries in _SIZES
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def short_p99(entries: int) -> float:
        return at(table, "short_p99", "bfc", low=entries, high=entries)

    return Findings(
        table=table,
        figure=figure(table, "entries of the flow table for each queue", log=True),
        comparisons=(
            Comparison(
                what="p99 slowdown of short flows, smallest table by the usual one",
                ours=short_p99(_SIZES[0]) / short_p99(100),
                published="above 1",
                accepted=(1, 1000),
            ),
            Comparison(
                what="the same, the largest table by the usual one",
                ours=short_p99(_SIZES[-1]) / short_p99(100),
                published="moderately below 1",
                accepted=(0.5, 1.0),
            ),
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.22"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
