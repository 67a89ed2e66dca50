# SPDX-License-Identifier: Apache-2.0
"""Slowdown over the degree of incast (Goyal 2022, Figure 3-13).

A run lasts until all flows are complete: from a degree of 1000 on, nine of ten long flows with HPCC
outlast the 50 ms, and the others are the faster ones. The text does not say whether its HPCC has
PFC; HPCC without it (``hpcc-pfc``) is a variant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import BFC, by_seed
from ccbench.studies.bfc.sweep import BFC_128, DEGREES, SCHEMES, at, degrees, figure, measure, ratio
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, exactly, percentage, unbounded
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

#: Degrees up to 8 times the 32 queues, and far beyond.
_MODERATE, _HIGH = 200, 1000
_MOST = DEGREES[-1]
_EXTREME = (_HIGH, _MOST)
_WHERE = "section 3.6.3"
_WITHOUT_PFC = scheme("hpcc-pfc")


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return degrees((*SCHEMES, _WITHOUT_PFC), quick=quick)


def _conclude(table: pd.DataFrame) -> Findings:
    bfc, more = BFC.name, BFC_128.name

    def degradation(rows: pd.DataFrame, scheme: str, high: int, moderate: int) -> float:
        slowed = at(rows, "long_mean", scheme, (high, _MOST)).mean()
        return float(slowed / at(rows, "long_mean", scheme, (0, moderate)).mean())

    def without_pfc(column: str) -> float:
        rows = table[table["seed"] == table.loc[table["scheme"] == _WITHOUT_PFC.name, "seed"].min()]
        compared = ratio(rows, column, _WITHOUT_PFC.name, bfc, _EXTREME, statistic="mean")
        return compared.mean

    def dropped(low: int, high: int) -> float:
        return float(at(table, "dropped_percent", bfc, (low, high)).max())

    return Findings(
        table=table,
        figure=figure(table, "incast degree", log=True),
        comparisons=(
            Comparison(
                quantity="p99 slowdown of short flows, HPCC ÷ BFC, mean of degrees from 1000",
                measured=ratio(table, "short_p99", "hpcc", bfc, _EXTREME, statistic="mean"),
                published=at_most(1, _WHERE, text="BFC becomes worse than HPCC"),
            ),
            Comparison(
                quantity="mean slowdown of long flows, BFC, degrees from 1000 relative to "
                "those up to 200",
                measured=by_seed(table, lambda rows: degradation(rows, bfc, _HIGH, _MODERATE)),
                published=at_least(1, _WHERE, text="degrades beyond 8 times the queues"),
            ),
            Comparison(
                quantity="mean slowdown of long flows, BFC with 128 queues, a degree of 2000 "
                "relative to those up to 1000",
                measured=by_seed(table, lambda rows: degradation(rows, more, _MOST, _HIGH)),
                published=at_least(1, _WHERE, text="degrades beyond 8 times the queues"),
            ),
            Comparison(
                quantity="mean slowdown of long flows, HPCC ÷ BFC, mean of degrees from 1000",
                measured=ratio(table, "long_mean", "hpcc", bfc, _EXTREME, statistic="mean"),
                published=at_least(1, _WHERE, text="BFC retains some of its advantage"),
            ),
            *(
                Comparison(
                    quantity=f"{words}, HPCC without PFC ÷ BFC, mean of degrees from 1000",
                    measured=without_pfc(column),
                    published=unbounded("variant", _WHERE),
                )
                for column, words in (
                    ("short_p99", "p99 slowdown of short flows"),
                    ("long_mean", "mean slowdown of long flows"),
                )
            ),
            Comparison(
                quantity="packets that BFC drops, worst degree up to 1000",
                measured=dropped(0, _HIGH),
                published=exactly(0, "section 3.5", text="never"),
                unit="%",
            ),
            Comparison(
                quantity="packets that BFC drops at a degree of 2000",
                measured=dropped(_MOST, _MOST),
                published=percentage(0.007, "section 3.5"),
                unit="%",
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.13"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
