# SPDX-License-Identifier: Apache-2.0
"""Dynamic and stochastic assignment of queues (Goyal 2022, Figure 3-21)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.studies.bfc.slowdown import (
    BFC,
    EDGES,
    INCAST,
    SHORT,
    by_seed,
    cases_of,
    figure,
    measure,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_STOCHASTIC = replace(BFC, name=f"{BFC.name}-stochastic", assignment="stochastic")
_SIZES = (*EDGES, float("inf"))
_WHERE = "section 3.6.6.5"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    workload = traffic("facebook", 60, INCAST)
    return cases_of("100x20MB", workload, (BFC, _STOCHASTIC), quick=quick)


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(rows: pd.DataFrame, column: str, **where: object) -> float:
        stochastic, dynamic = (
            value(rows, column, scheme=chosen.name, **where) for chosen in (_STOCHASTIC, BFC)
        )
        return stochastic / dynamic

    def p99(rows: pd.DataFrame, up_to_bytes: float) -> float:
        return ratio(rows, "p99", kind="background", up_to_bytes=up_to_bytes)

    return Findings(
        table=table,
        figure=figure(table, ("p99",)),
        comparisons=(
            Comparison(
                quantity="p99 slowdown, stochastic ÷ dynamic, smallest of all flow sizes",
                measured=by_seed(table, lambda rows: min(p99(rows, size) for size in _SIZES)),
                published=at_least(1, _WHERE, text="much worse for all flow sizes"),
            ),
            Comparison(
                quantity="p99 slowdown, stochastic ÷ dynamic, of flows up to 3 KB ÷ that of "
                "flows above 3 MB",
                measured=by_seed(table, lambda rows: p99(rows, EDGES[0]) / p99(rows, _SIZES[-1])),
                published=at_least(1, "caption of Figure 3-21", text="especially for small flows"),
            ),
            Comparison(
                quantity="flows that meet others in their queue, stochastic ÷ dynamic",
                measured=by_seed(table, lambda rows: ratio(rows, "collision_percent", **SHORT)),
                published=at_least(1, "caption of Figure 3-21", text="more"),
            ),
            Comparison(
                quantity="time during which a port has fewer active flows than queues, dynamic",
                measured=by_seed(
                    table, lambda rows: value(rows, "few_active_percent", scheme=BFC.name)
                ),
                published=at_least(50, _WHERE, text="most of the time"),
                unit="%",
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.21"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
