# SPDX-License-Identifier: Apache-2.0
"""DCTCP with slow start (Goyal 2022, Figure 3-19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    INCASTS,
    SHORT,
    SHORTER_S,
    by_seed,
    cases_of_incasts,
    figure,
    measure,
    p99_ratio,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, between
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_SLOW, _FAST = "dctcp-slow-start", "dctcp"
_SCHEMES = (BFC, scheme(_FAST), scheme(_SLOW))
_WHERE = "section 3.6.6.3"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return cases_of_incasts(_SCHEMES, quick=quick, duration_s=SHORTER_S)


def _by_size(rows: pd.DataFrame, column: str) -> pd.Series[float]:
    """Return slow start's slowdown by that without it, for each range of flow sizes."""
    sizes = rows[rows["kind"] == "background"].pivot_table(
        column, index="up_to_bytes", columns="scheme"
    )
    return sizes[_SLOW] / sizes[_FAST]


def _conclude(table: pd.DataFrame) -> Findings:
    incast, none = (table[table["traffic"] == name] for name in INCASTS)

    def buffered(rows: pd.DataFrame) -> float:
        slow, fast = (value(rows, "buffer_p99_mb", scheme=name) for name in (_SLOW, _FAST))
        return 100 * slow / fast

    return Findings(
        table=table,
        figure=figure(table, ("p50", "p99")),
        comparisons=(
            Comparison(
                quantity="with incast: buffered bytes, p99 of the fullest switch, relative to "
                "DCTCP's",
                measured=by_seed(incast, buffered),
                published=at_most(100, _WHERE, text="reduces buffer occupancy"),
                unit="%",
            ),
            Comparison(
                quantity="with incast: p99 slowdown of flows up to 3 KB, relative to DCTCP's",
                measured=by_seed(
                    incast, lambda rows: p99_ratio(rows, _SLOW, _FAST, factor=100, **SHORT)
                ),
                published=at_most(100, _WHERE, text="improves tail latency"),
                unit="%",
            ),
            Comparison(
                quantity="with incast: median slowdown, relative to DCTCP's, largest of all sizes",
                measured=by_seed(incast, lambda rows: 100 * _by_size(rows, "p50").max()),
                published=between(100, 200, _WHERE, text="increases by up to 2 times"),
                unit="%",
            ),
            Comparison(
                quantity="without incast: p99 slowdown, relative to DCTCP's, median of all sizes",
                measured=by_seed(none, lambda rows: 100 * _by_size(rows, "p99").median()),
                published=at_least(100, _WHERE, text="increases for the majority of sizes"),
                unit="%",
            ),
            Comparison(
                quantity="without incast: median slowdown, relative to DCTCP's, median of all "
                "sizes",
                measured=by_seed(none, lambda rows: 100 * _by_size(rows, "p50").median()),
                published=at_least(100, _WHERE, text="increases for the majority of sizes"),
                unit="%",
            ),
            Comparison(
                quantity="without incast: p99 slowdown of flows up to 3 KB ÷ BFC's",
                measured=by_seed(none, lambda rows: p99_ratio(rows, _SLOW, BFC.name, **SHORT)),
                published=at_least(1, _WHERE, text="still slower than with BFC"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.19"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
