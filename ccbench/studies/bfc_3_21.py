# SPDX-License-Identifier: Apache-2.0
"""Dynamic and stochastic assignment of queues (Goyal 2022, Figure 3-21)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.bfc.scheme import scheme
from ccbench.studies.bfc_slowdown import INCAST
from ccbench.studies.bfc_sweep import at, case_of, figure, measure
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.case import Case

_SCHEMES = ("bfc", "bfc-stochastic")


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return tuple(
        case_of(INCAST.degree, scheme(name), quick=quick, incast=INCAST) for name in _SCHEMES
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(column: str) -> float:
        dynamic, stochastic = (at(table, column, name, low=0, high=1e9) for name in _SCHEMES)
        return stochastic / dynamic

    return Findings(
        table=table,
        figure=figure(table, "incast degree", log=False),
        comparisons=tuple(
            Comparison(
                what=f"{what}, stochastic by dynamic",
                ours=ratio(column),
                published=published,
                accepted=(low, 1000),
            )
            for what, column, published, low in (
                ("p99 slowdown of short flows", "short_p99", "much worse", 2),
                ("mean slowdown of long flows", "long_mean", "worse", 1),
                ("flows that meet others in their queue", "collision_percent", "a high share", 2),
            )
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.21"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
