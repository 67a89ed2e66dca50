# SPDX-License-Identifier: Apache-2.0
"""Slowdown over the degree of incast (Goyal 2022, Figure 3-13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.bfc.scheme import scheme
from ccbench.bfc.workload import Incast
from ccbench.studies.bfc_sweep import SCHEMES, at, case_of, figure, measure, ratio
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.case import Case

_DEGREES = (10, 50, 100, 200, 500, 1000, 2000)


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return tuple(
        case_of(
            degree,
            scheme(name),
            quick=quick,
            incast=Incast(degree=degree, total_mb=20),
            duration_s=4e-3,
        )
        for degree in (_DEGREES[1:5:3] if quick else _DEGREES)
        for name in SCHEMES
    )


def _conclude(table: pd.DataFrame) -> Findings:
    return Findings(
        table=table,
        figure=figure(table, "incast degree", log=True),
        comparisons=(
            Comparison(
                what="p99 slowdown of short flows, HPCC by BFC, degrees up to 200",
                ours=ratio(table, "short_p99", "hpcc", "bfc", low=0, high=200),
                published="above 1",
                accepted=(1, 1000),
            ),
            Comparison(
                what="the same, degrees from 1000",
                ours=ratio(table, "short_p99", "hpcc", "bfc", low=1000, high=2000),
                published="below 1",
                accepted=(0, 1),
            ),
            Comparison(
                what="mean slowdown of long flows with BFC, degrees from 1000 by up to 200",
                ours=at(table, "long_mean", "bfc", low=1000, high=2000)
                / at(table, "long_mean", "bfc", low=0, high=200),
                published="above 1",
                accepted=(1, 1000),
                note="BFC degrades from 8 times the number of queues on: 256 here.",
            ),
            Comparison(
                what="packets that BFC drops, worst degree",
                ours=float(table[table["scheme"] == "bfc"]["dropped_percent"].max()),
                published="0.007 (2000 to 1)",
                accepted=(0, 0.05),
                unit="%",
            ),
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.13"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
