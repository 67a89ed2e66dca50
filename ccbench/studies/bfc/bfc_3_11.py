# SPDX-License-Identifier: Apache-2.0
"""Facebook's flows with and without incast under all schemes (Goyal 2022, Figure 3-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    OTHERS,
    SHORT,
    by_seed,
    cases_of_incasts,
    figure,
    measure,
    p99_ratio,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, unbounded
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_SCHEMES = (BFC, *map(scheme, ("ideal-fq", *OTHERS)))
_WORDS = {"100x20MB": "with incast", "none": "without incast"}
_WHERE = "section 3.6.2.2"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return cases_of_incasts(_SCHEMES, quick=quick)


def _conclude(table: pd.DataFrame) -> Findings:
    def ratio(rows: pd.DataFrame, of: str, by: str) -> float:
        return p99_ratio(rows, of, by, **SHORT)

    comparisons = []
    for name, words in _WORDS.items():
        part = table[table["traffic"] == name]
        comparisons += [
            Comparison(
                quantity=f"p99 slowdown of flows up to 3 KB {words}, smallest of the others ÷ BFC",
                measured=by_seed(
                    part, lambda rows: min(ratio(rows, of, BFC.name) for of in OTHERS)
                ),
                published=at_least(1, _WHERE, text="trends as with Google's flows: BFC is best"),
            ),
            Comparison(
                quantity=f"p99 slowdown of flows up to 3 KB {words}, HPCC ÷ BFC",
                measured=by_seed(part, lambda rows: ratio(rows, "hpcc", BFC.name)),
                published=unbounded("not stated for these flows", _WHERE),
            ),
        ]
    comparisons.append(
        Comparison(
            quantity="p99 slowdown of flows up to 3 KB without incast, BFC ÷ Ideal-FQ",
            measured=by_seed(
                table[table["traffic"] == "none"],
                lambda rows: 100 * ratio(rows, BFC.name, "ideal-fq"),
            ),
            published=unbounded("not stated for these flows", _WHERE),
            unit="%",
        )
    )
    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=tuple(comparisons),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.11"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
