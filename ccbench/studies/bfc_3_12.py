# SPDX-License-Identifier: Apache-2.0
"""Slowdown over load (Goyal 2022, Figure 3-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.bfc.case import Case
from ccbench.bfc.scheme import scheme
from ccbench.bfc.workload import Workload
from ccbench.studies.bfc_slowdown import NETWORK
from ccbench.studies.bfc_sweep import at, figure, measure
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

_SCHEMES = ("bfc", "bfc-128", "hpcc", "dctcp", "ideal-fq")
_LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return tuple(
        Case(
            name=f"{load:g}",
            topology=NETWORK,
            workload=Workload(sizes="facebook", load=load),
            scheme=scheme(name),
            duration_s=5e-4 if quick else 1e-2,
            drain_s=1e-3 if quick else 5e-3,
        )
        for load in (_LOADS[::3] if quick else _LOADS)
        for name in _SCHEMES
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
                ours=at(table, "short_p99", "hpcc", low=0, high=0.7)
                / at(table, "short_p99", "bfc", low=0, high=0.7),
                published="above 1",
                accepted=(1, 1000),
            ),
            Comparison(
                what="the same, BFC with 32 queues by 128, loads from 90 %",
                ours=at(table, "short_p99", "bfc", low=0.9, high=1)
                / at(table, "short_p99", "bfc-128", low=0.9, high=1),
                published="above 1",
                accepted=(1, 1000),
            ),
            Comparison(
                what="mean slowdown of long flows, HPCC by BFC, loads up to 70 %",
                ours=at(table, "long_mean", "hpcc", low=0, high=0.7)
                / at(table, "long_mean", "bfc", low=0, high=0.7),
                published="above 1",
                accepted=(1, 1000),
            ),
        ),
    )


STUDY = SimulationStudy(
    name="bfc-3.12",
    title="Slowdown of short and of long flows at loads of 50 to 95 %",
    source="Goyal 2022, Figure 3-12",
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
