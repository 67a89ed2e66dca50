# SPDX-License-Identifier: Apache-2.0
"""Slowdown over load (Goyal 2022, Figure 3-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.studies.bfc.slowdown import BFC, by_seed, case_of, traffic
from ccbench.studies.bfc.sweep import BFC_128, SCHEMES, at, figure, measure, ratio, seeds
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, quantity
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

#: Loads in percent of the core links' capacity.
_LOADS = (50, 60, 70, 80, 90, 95)
#: "HPCC only supports loads up to 70%"; beyond, flows would accumulate without limit.
_HPCC_MOST = 70
_STABLE = (0, _HPCC_MOST)
_WHERE = "section 3.6.3"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        case_of(f"{load}", traffic("facebook", load), chosen, quick=quick, seed=seed)
        for load in (_LOADS[::4] if quick else _LOADS)
        for chosen in SCHEMES
        if chosen.name != "hpcc" or load <= _HPCC_MOST
        for seed in seeds(chosen, quick=quick)
    )


def _conclude(table: pd.DataFrame) -> Findings:
    bfc, more = BFC.name, BFC_128.name
    return Findings(
        table=table,
        figure=figure(table, "load (%)", log=False),
        comparisons=(
            Comparison(
                quantity="p99 slowdown of short flows with BFC, largest at loads up to 80 %",
                measured=by_seed(table, lambda rows: at(rows, "short_p99", bfc, (0, 80)).max()),
                published=quantity(1, _WHERE, text="close to the perfect value of 1"),
            ),
            Comparison(
                quantity="p99 slowdown of short flows, HPCC ÷ BFC, smallest at loads up to 70 %",
                measured=ratio(table, "short_p99", "hpcc", bfc, _STABLE, statistic="min"),
                published=at_least(1, _WHERE, text="BFC is lower"),
            ),
            Comparison(
                quantity="mean slowdown of long flows, HPCC ÷ BFC, smallest at loads up to 70 %",
                measured=ratio(table, "long_mean", "hpcc", bfc, _STABLE, statistic="min"),
                published=at_least(1, _WHERE, text="BFC has the higher throughput"),
            ),
            Comparison(
                quantity="p99 slowdown of short flows with BFC, load of 95 % relative to 80 %",
                measured=by_seed(
                    table,
                    lambda rows: (
                        at(rows, "short_p99", bfc, (95, 95)).mean()
                        / at(rows, "short_p99", bfc, (80, 80)).mean()
                    ),
                ),
                published=at_least(1, _WHERE, text="degrades substantially"),
            ),
            Comparison(
                quantity="p99 slowdown of short flows with BFC, 32 queues relative to 128, "
                "smallest "
                "at loads from 90 %",
                measured=ratio(table, "short_p99", bfc, more, (90, 95), statistic="min"),
                published=at_least(1, _WHERE, text="better with 128"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.12"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
