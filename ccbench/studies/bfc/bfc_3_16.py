# SPDX-License-Identifier: Apache-2.0
"""HPCC without PFC and with queue assignment (Goyal 2022, Figure 3-16)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    INCAST,
    LONG,
    SHORT,
    SHORTEST_S,
    by_seed,
    cases_of,
    figure,
    mean_ratio,
    measure,
    p99_ratio,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, similar
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_PFC, _IDEAL = "hpcc", "ideal-fq"
_NO_PFC, _SFQ, _DQA = "hpcc-pfc", "hpcc-pfc-sfq", "hpcc-pfc-dqa"
_SCHEMES = (BFC, *map(scheme, (_IDEAL, _PFC, _NO_PFC, _SFQ, _DQA)))
_WHERE, _ABOUT_PFC = "section 3.6.5", "section 3.6.2.2"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    workload = traffic("facebook", 60, INCAST)
    return cases_of("100x20MB", workload, _SCHEMES, quick=quick, duration_s=SHORTEST_S)


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(rows: pd.DataFrame, column: str, of: str, by: str) -> float:
        divisor = value(rows, column, scheme=by)
        return value(rows, column, scheme=of) / divisor if divisor else math.nan

    def dropped(name: str) -> Comparison:
        return Comparison(
            quantity=f"dropped packets, {name} ÷ {_NO_PFC}",
            measured=100 * ratio(table, "dropped_packets", name, _NO_PFC),
            published=similar(100, _WHERE, text="drops at the same rate"),
            unit="%",
        )

    def short(of: str, by: str, *, where: str, text: str, better: bool) -> Comparison:
        bound = at_most if better else at_least
        return Comparison(
            quantity=f"p99 slowdown of flows up to 3 KB, {of} ÷ {by}",
            measured=by_seed(table, lambda rows: p99_ratio(rows, of, by, **SHORT)),
            published=bound(1, where, text=text),
        )

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            short(_NO_PFC, _PFC, where=_ABOUT_PFC, text="improves", better=True),
            Comparison(
                quantity=f"buffered bytes, p99 of the fullest switch, {_NO_PFC} ÷ {_PFC}",
                measured=by_seed(table, lambda rows: ratio(rows, "buffer_p99_mb", _NO_PFC, _PFC)),
                published=at_least(1, _ABOUT_PFC, text="higher tail buffer occupancy"),
            ),
            short(_NO_PFC, BFC.name, where=_ABOUT_PFC, text="still worse", better=False),
            short(_SFQ, _NO_PFC, where=_WHERE, text="improves short flows", better=True),
            short(_DQA, _SFQ, where=_WHERE, text="SFQ has the higher tail", better=True),
            Comparison(
                quantity=f"mean slowdown of flows above 3 MB, {_DQA} ÷ {_NO_PFC}",
                measured=by_seed(table, lambda rows: 100 * mean_ratio(rows, _DQA, _NO_PFC, **LONG)),
                published=similar(100, _WHERE, text="no benefit for long flows"),
                unit="%",
            ),
            dropped(_SFQ),
            dropped(_DQA),
            short(_DQA, BFC.name, where=_WHERE, text="better than BFC", better=True),
            short(_DQA, _IDEAL, where=_WHERE, text="better than IdealFQ", better=True),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.16"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
