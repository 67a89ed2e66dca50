# SPDX-License-Identifier: Apache-2.0
"""BFC with labelled incast flows over the degree of incast (Goyal 2022, Figure F-5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.studies.bfc.slowdown import BFC, SHORTEST_S
from ccbench.studies.bfc.sweep import DEGREES, degrees, figure, measure, ratio
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_LABEL = replace(BFC, name=f"{BFC.name}-incast-label", incast_label=True)
_ALL = (DEGREES[0], DEGREES[-1])
_WHERE = "appendix F.3"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return degrees((BFC, _LABEL), quick=quick, duration_s=SHORTEST_S)


def _conclude(table: pd.DataFrame) -> Findings:
    return Findings(
        table=table,
        figure=figure(table, "incast degree", log=True),
        comparisons=tuple(
            Comparison(
                quantity=f"{words}, {statistic} of all degrees, relative to BFC's",
                measured=ratio(table, column, _LABEL.name, BFC.name, _ALL, statistic=statistic),
                published=at_most(1, _WHERE, text="the best across all the scenarios"),
            )
            for column, words in (
                ("short_p99", "p99 slowdown of short flows"),
                ("long_mean", "mean slowdown of long flows"),
            )
            for statistic in ("mean", "max")
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-f.5"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
