# SPDX-License-Identifier: Apache-2.0
"""Google's flows with incast under all schemes (Goyal 2022, Figure 3-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    INCAST,
    OTHERS,
    SEEDS,
    SHORT,
    by_seed,
    case_of,
    figure,
    measure,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import between, quantity, unbounded
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.base.estimate import Estimate
    from ccbench.datacenter.case import Case

_SCHEMES = (BFC, *map(scheme, ("bfc", "ideal-fq", *OTHERS)))
_WHERE = "section 3.6.2.2"


def _cases(*, quick: bool) -> tuple[Case, ...]:
    workload = traffic("google", 60, INCAST)
    return tuple(
        case_of("100x20MB", workload, chosen, quick=quick, seed=seed)
        for chosen in _SCHEMES
        for seed in (SEEDS[:1] if quick else SEEDS)
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(other: str, of: str, **where: object) -> Estimate:
        return by_seed(
            table,
            lambda rows: (
                value(rows, "p99", scheme=other, **where) / value(rows, "p99", scheme=of, **where)
            ),
        )

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            *(
                Comparison(
                    what=f"p99 slowdown of flows up to 3 KB, {other.upper()} by BFC",
                    ours=ratio(other, BFC.name, **SHORT),
                    published=between(
                        5,
                        30,
                        _WHERE,
                        text="5 to 30" if other == "hpcc" else "5 to 30 (existing schemes)",
                    ),
                )
                for other in OTHERS
            ),
            Comparison(
                what="p99 slowdown of flows up to 3 KB, HPCC by BFC as in the text",
                ours=ratio("hpcc", "bfc", **SHORT),
                published=unbounded("variant", _WHERE),
                note="Flows of one packet pause their upstream queue, too.",
            ),
            Comparison(
                what="p99 slowdown of incast flows, HPCC by BFC",
                ours=ratio("hpcc", BFC.name, kind="incast"),
                published=quantity(2, _WHERE),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.9"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
