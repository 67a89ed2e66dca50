# SPDX-License-Identifier: Apache-2.0
"""ExpressPass compared with BFC and HPCC (Goyal 2022, Figures 3-9 to 3-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    BRIEF_S,
    INCASTS,
    LONG,
    SEEDS,
    SHORT,
    by_seed,
    cases_of,
    figure,
    mean_ratio,
    measure,
    p99_ratio,
    traffic,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, percentage, quantity
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_CREDITS = "expresspass"
_SCHEMES = (BFC, *map(scheme, (_CREDITS, "hpcc")))
_INCAST, _NONE = INCASTS
#: Flow sizes and incast that the text compares. Simulations of ExpressPass take longest.
_TRAFFIC = (("google", _INCAST), ("google", _NONE), ("facebook", _NONE))
_SEEDS = SEEDS[:2]
_SUMMARY, _WHERE = "section 3.1", "section 3.6.2.2"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        case
        for sizes, name in _TRAFFIC
        for case in cases_of(
            f"{sizes}, {name}",
            traffic(sizes, 60, INCASTS[name]),
            _SCHEMES,
            quick=quick,
            duration_s=BRIEF_S,
        )
        if case.seed in _SEEDS
    )


def _conclude(table: pd.DataFrame) -> Findings:
    google, quiet = (table[table["traffic"] == f"google, {name}"] for name in (_INCAST, _NONE))

    def long(rows: pd.DataFrame, by: str) -> float:
        return mean_ratio(rows, _CREDITS, by, **LONG)

    def in_facebook(rows: pd.DataFrame) -> float:
        """Return the disadvantage with Google's flows by that with Facebook's."""
        of_google, of_facebook = (
            mean_ratio(rows[rows["traffic"] == f"{sizes}, {_NONE}"], _CREDITS, BFC.name, **LONG)
            for sizes in ("google", "facebook")
        )
        return of_google / of_facebook

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            Comparison(
                quantity="Google with incast: p99 slowdown of flows up to 3 KB, relative to BFC's",
                measured=by_seed(
                    google, lambda rows: p99_ratio(rows, _CREDITS, BFC.name, factor=100, **SHORT)
                ),
                published=percentage(65, _SUMMARY, text="35 % better"),
                unit="%",
            ),
            Comparison(
                quantity="Google with incast: mean slowdown of flows above 3 MB ÷ BFC's",
                measured=by_seed(google, lambda rows: long(rows, BFC.name)),
                published=quantity(17, _SUMMARY, text="17 times worse for long flows"),
            ),
            Comparison(
                quantity="Google without incast: mean slowdown of flows above 3 MB ÷ HPCC's",
                measured=by_seed(quiet, lambda rows: long(rows, "hpcc")),
                published=at_least(1, _WHERE, text="the worst throughput of all systems"),
            ),
            Comparison(
                quantity="mean slowdown of flows above 3 MB ÷ BFC's without incast, Google's "
                "relative to Facebook's",
                measured=by_seed(table, in_facebook),
                published=at_least(1, _WHERE, text="performs better with Facebook's"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-expresspass"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
