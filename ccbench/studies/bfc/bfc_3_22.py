# SPDX-License-Identifier: Apache-2.0
"""Slowdown over the size of the flow table (Goyal 2022, Figure 3-22)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.studies.bfc.slowdown import BFC, INCAST, by_seed, cases_of, traffic
from ccbench.studies.bfc.sweep import at, figure, measure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

#: Flow table entries per queue.
_SIZES = (1, 10, 100, 1000)
_USUAL = 100
_WHERE = "section 3.6.6.6"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    workload = traffic("facebook", 60, INCAST)
    return tuple(
        case
        for entries in _SIZES
        for case in cases_of(
            f"{entries}", workload, (replace(BFC, table_per_queue=entries),), quick=quick
        )
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(rows: pd.DataFrame, entries: int) -> float:
        p99 = at(rows, "short_p99", BFC.name, (0, _SIZES[-1]))
        return float(p99[entries] / p99[_USUAL])

    return Findings(
        table=table,
        figure=figure(table, "entries of the flow table for each queue", log=True),
        comparisons=(
            Comparison(
                quantity="p99 slowdown of short flows, smallest table ÷ the usual one",
                measured=by_seed(table, lambda rows: ratio(rows, _SIZES[0])),
                published=at_least(1, _WHERE, text="degrades"),
            ),
            Comparison(
                quantity="p99 slowdown of short flows, largest table ÷ the usual one",
                measured=by_seed(table, lambda rows: ratio(rows, _SIZES[-1])),
                published=at_most(1, _WHERE, text="moderately better"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.22"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
