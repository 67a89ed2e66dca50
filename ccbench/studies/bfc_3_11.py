# SPDX-License-Identifier: Apache-2.0
"""Facebook's flows with and without incast under all schemes (Goyal 2022, Figure 3-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.studies.bfc_slowdown import SHORT_BYTES, cases, figure, measure, value
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.case import Case


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return cases("facebook", ("100x20MB", "none"), quick=quick, duration_s=1e-2, seeds=(1,))


def _conclude(table: pd.DataFrame) -> Findings:
    def p99(name: str, incast: str) -> float:
        short = {"kind": "background", "up_to_bytes": SHORT_BYTES}
        return value(table, "p99", scheme=name, incast=incast, **short)

    ratio = {
        (other, incast): p99(other, incast) / p99("bfc", incast)
        for other in ("hpcc", "dctcp", "dcqcn")
        for incast in ("100x20MB", "none")
    }
    similar = "The thesis gives these numbers for Google's flows, and calls these trends similar."
    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            *(
                Comparison(
                    what=f"p99 slowdown of flows up to 3 KB with incast, {other} by BFC",
                    ours=ratio[other, "100x20MB"],
                    published="5 to 30" if other == "hpcc" else "5 or more",
                    accepted=(5, 30) if other == "hpcc" else (5, 1000),
                    note=similar,
                )
                for other in ("hpcc", "dctcp", "dcqcn")
            ),
            Comparison(
                what="p99 slowdown of flows up to 3 KB without incast, hpcc by BFC",
                ours=ratio["hpcc", "none"],
                published="2.3 to 3",
                accepted=(2.3, 3),
                note=similar,
            ),
            Comparison(
                what="the same, BFC by Ideal-FQ",
                ours=p99("bfc", "none") / p99("ideal-fq", "none"),
                published="closely tracks optimal",
                accepted=(0.9, 1.1),
                note=similar,
            ),
            Comparison(
                what="packets dropped by BFC",
                ours=value(table, "dropped_packets", scheme="bfc"),
                published="none",
                accepted=(0, 0),
            ),
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.11"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
