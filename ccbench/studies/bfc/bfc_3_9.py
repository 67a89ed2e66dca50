# SPDX-License-Identifier: Apache-2.0
"""Google's flows with incast under all schemes (Goyal 2022, Figure 3-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    INCAST,
    OTHERS,
    SHORT,
    by_seed,
    cases_of,
    figure,
    measure,
    p99_ratio,
    traffic,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import between, quantity, unbounded
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.base.estimate import Estimate
    from ccbench.datacenter.case import SimulationCase

_SCHEMES = (BFC, *map(scheme, ("bfc", "ideal-fq", *OTHERS)))
_WHERE = "section 3.6.2.2"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return cases_of("100x20MB", traffic("google", 60, INCAST), _SCHEMES, quick=quick)


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(of: str, by: str, **where: Any) -> Estimate:
        return by_seed(table, lambda rows: p99_ratio(rows, of, by, **where))

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            *(
                Comparison(
                    quantity=f"p99 slowdown of flows up to 3 KB, {other.upper()} ÷ BFC",
                    measured=ratio(other, BFC.name, **SHORT),
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
                quantity="p99 slowdown of flows up to 3 KB, HPCC ÷ BFC as in the text",
                measured=ratio("hpcc", "bfc", **SHORT),
                published=unbounded("variant", _WHERE),
                note="Flows of one packet pause their upstream queue, too.",
            ),
            Comparison(
                quantity="p99 slowdown of incast flows, HPCC ÷ BFC",
                measured=ratio("hpcc", BFC.name, kind="incast"),
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
