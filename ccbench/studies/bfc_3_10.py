# SPDX-License-Identifier: Apache-2.0
"""Google's flows without incast under all schemes (Goyal 2022, Figure 3-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.studies.bfc_slowdown import SHORT_BYTES, cases, figure, measure, value
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.case import Case


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return cases("google", ("none",), quick=quick, duration_s=2e-3, seeds=(1,))


def _conclude(table: pd.DataFrame) -> Findings:
    short = {"kind": "background", "up_to_bytes": SHORT_BYTES}
    p99 = {name: value(table, "p99", scheme=name, **short) for name in set(table["scheme"])}
    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            Comparison(
                what="p99 slowdown of flows up to 3 KB, HPCC by BFC",
                ours=p99["hpcc"] / p99["bfc"],
                published="2.3 to 3",
                accepted=(2.3, 3),
            ),
            Comparison(
                what="the same, BFC by Ideal-FQ",
                ours=p99["bfc"] / p99["ideal-fq"],
                published="closely tracks optimal",
                accepted=(0.9, 1.1),
            ),
            Comparison(
                what="the same, DCQCN by DCTCP",
                ours=p99["dcqcn"] / p99["dctcp"],
                published="above 1",
                accepted=(1, 1000),
                note="DCQCN 'is worst on latency for small flow sizes'.",
            ),
            Comparison(
                what="time in which a port has at most 32 active flows, BFC",
                ours=value(table, "few_active_percent", scheme="bfc"),
                published="99",
                accepted=(99, 100),
                unit="%",
            ),
            Comparison(
                what="time that PFC stopped ports, most of any scheme",
                ours=float(table["paused_percent"].max()),
                published="never",
                accepted=(0, 0),
                unit="%",
            ),
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.10"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
