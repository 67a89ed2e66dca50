# SPDX-License-Identifier: Apache-2.0
"""Google's flows with incast under all schemes (Goyal 2022, Figure 3-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.studies.bfc_slowdown import SHORT_BYTES, cases, figure, measure, value
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.case import Case


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return cases("google", ("100x20MB",), quick=quick, duration_s=5e-3, seeds=(1,))


def _conclude(table: pd.DataFrame) -> Findings:
    short = {"kind": "background", "up_to_bytes": SHORT_BYTES}
    p99 = {name: value(table, "p99", scheme=name, **short) for name in set(table["scheme"])}
    note = (
        "BFC as the thesis writes it. In the authors' simulator a flow of one packet pauses "
        "nothing, and the threshold is higher: bfc-ns3."
    )
    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            *(
                Comparison(
                    what=f"p99 slowdown of flows up to 3 KB, {other} by {of}",
                    ours=p99[other] / p99[of],
                    published="5 to 30" if other == "hpcc" else "5 or more",
                    accepted=(5, 30) if other == "hpcc" else (5, 1000),
                    note=note if of == "bfc" else "",
                )
                for of in ("bfc", "bfc-ns3")
                for other in ("hpcc", "dctcp", "dcqcn")
            ),
            Comparison(
                what="packets dropped by BFC",
                ours=value(table, "dropped_packets", scheme="bfc"),
                published="none",
                accepted=(0, 0),
            ),
            Comparison(
                what="p99 slowdown of incast flows, HPCC by BFC",
                ours=value(table, "p99", scheme="hpcc", kind="incast")
                / value(table, "p99", scheme="bfc", kind="incast"),
                published="2",
                accepted=(1.5, 2.5),
            ),
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.9"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
