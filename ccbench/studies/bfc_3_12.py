# SPDX-License-Identifier: Apache-2.0
"""Slowdown over load (Goyal 2022, Figure 3-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.bfc.scheme import scheme
from ccbench.studies.bfc_sweep import SCHEMES, at, case_of, figure, measure, ratio
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.case import Case

_LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return tuple(
        case_of(load, scheme(name), quick=quick, load=load)
        for load in (_LOADS[::3] if quick else _LOADS)
        for name in SCHEMES
    )


def _conclude(table: pd.DataFrame) -> Findings:
    return Findings(
        table=table,
        figure=figure(table, "load", log=False),
        comparisons=(
            Comparison(
                what="p99 slowdown of short flows with BFC, loads up to 80 %",
                ours=at(table, "short_p99", "bfc", low=0, high=0.8),
                published="close to 1",
                accepted=(1, 1.5),
            ),
            Comparison(
                what="the same, HPCC by BFC, loads up to 70 %",
                ours=ratio(table, "short_p99", "hpcc", "bfc", low=0, high=0.7),
                published="above 1",
                accepted=(1, 1000),
            ),
            Comparison(
                what="the same, BFC with 32 queues by 128, loads from 90 %",
                ours=ratio(table, "short_p99", "bfc", "bfc-128", low=0.9, high=1),
                published="above 1",
                accepted=(1, 1000),
            ),
            Comparison(
                what="mean slowdown of long flows, HPCC by BFC, loads up to 70 %",
                ours=ratio(table, "long_mean", "hpcc", "bfc", low=0, high=0.7),
                published="above 1",
                accepted=(1, 1000),
            ),
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.12"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
