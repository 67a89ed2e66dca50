# SPDX-License-Identifier: Apache-2.0
"""Google's flows without incast under all schemes (Goyal 2022, Figure 3-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    OTHERS,
    SHORT,
    by_seed,
    cases_of,
    figure,
    measure,
    p99_ratio,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, between, exactly, percentage, similar
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.base.estimate import Estimate
    from ccbench.datacenter.case import SimulationCase

_SCHEMES = (BFC, *map(scheme, ("ideal-fq", *OTHERS)))
_WHERE = "section 3.6.2.2"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return cases_of("none", traffic("google", 60), _SCHEMES, quick=quick)


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(of: str, by: str, factor: float = 1) -> Estimate:
        return by_seed(table, lambda rows: p99_ratio(rows, of, by, factor=factor, **SHORT))

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, HPCC ÷ BFC",
                measured=ratio("hpcc", BFC.name),
                published=between(2.3, 3, _WHERE),
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, BFC ÷ Ideal-FQ",
                measured=ratio(BFC.name, "ideal-fq", 100),
                published=similar(100, _WHERE, text="closely tracks optimal"),
                unit="%",
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, DCQCN ÷ DCTCP",
                measured=ratio("dcqcn", "dctcp"),
                published=at_least(1, _WHERE, text="DCQCN is worst"),
            ),
            Comparison(
                quantity="time during which a port has fewer active flows than queues, BFC",
                measured=by_seed(
                    table, lambda rows: value(rows, "few_active_percent", scheme=BFC.name)
                ),
                published=percentage(99, _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="time that PFC stopped ports, largest of all schemes",
                measured=float(table["paused_percent"].max()),
                published=exactly(0, "caption of Figure 3-10", text="never"),
                unit="%",
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.10"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
