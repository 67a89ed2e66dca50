# SPDX-License-Identifier: Apache-2.0
"""Shortest remaining flow first with incast (Goyal 2022, Figure F-3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    BRIEF_S,
    INCAST,
    SHORT,
    by_seed,
    cases_of,
    figure,
    mean_ratio,
    measure,
    settled,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase
    from ccbench.datacenter.simulation import Simulation

_BFC = replace(BFC, name=f"{BFC.name}-srf", shortest_first=True)
_HOMA = "homa"
_SCHEMES = (_BFC, scheme(_HOMA))
_SIZES = ("google", "facebook")
#: Flows up to one BDP, up to two, and up to four.
_BDPS = (1e5, 2e5, 4e5)
_WHERE = "appendix F.1"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        case
        for sizes in _SIZES
        for case in cases_of(
            sizes, traffic(sizes, 60, INCAST), _SCHEMES, quick=quick, duration_s=BRIEF_S
        )
    )


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    p99 = settled(case, result).slowdowns(_BDPS, until="acked")["p99"].tolist()
    by_bdp = {"one_bdp_p99": p99[0], "two_bdp_p99": p99[1], "four_bdp_p99": p99[2]}
    return [{**row, **by_bdp} for row in measure(case, result)]


def _conclude(table: pd.DataFrame) -> Findings:
    def hump(rows: pd.DataFrame) -> float:
        """Return the p99 of flows of 1 to 2 BDPs by that of flows of 2 to 4."""
        of, by = (value(rows, f"{size}_bdp_p99", scheme=_HOMA) for size in ("two", "four"))
        return of / by

    def by_bfc(rows: pd.DataFrame) -> float:
        of, by = (value(rows, "two_bdp_p99", scheme=name) for name in (_HOMA, _BFC.name))
        return of / by

    comparisons = []
    for sizes in _SIZES:
        rows = table[table["traffic"] == sizes]
        comparisons += [
            Comparison(
                quantity=f"{sizes}: mean slowdown of flows up to 3 KB, {_BFC.name} ÷ {_HOMA}",
                measured=by_seed(rows, lambda part: mean_ratio(part, _BFC.name, _HOMA, **SHORT)),
                published=at_least(1, _WHERE, text="higher with BFC-SRF"),
            ),
            Comparison(
                quantity=f"{sizes}: {_HOMA}, p99 slowdown of flows of 1 to 2 BDPs relative to "
                "2 to 4",
                measured=by_seed(rows, hump),
                published=at_least(1, _WHERE, text="high at the tail between 1 and 2 BDP"),
            ),
            Comparison(
                quantity=f"{sizes}: p99 slowdown of flows of 1 to 2 BDPs, {_HOMA} ÷ {_BFC.name}",
                measured=by_seed(rows, by_bfc),
                published=unbounded("read off the figure only", "Figure F-3"),
            ),
        ]
    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=tuple(comparisons),
    )


STUDY = SimulationStudy(
    info=info("bfc-f.3"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
