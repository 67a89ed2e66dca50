# SPDX-License-Identifier: Apache-2.0
"""BFC supplemented with end-to-end congestion control (Goyal 2022, Figure 3-15)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    EDGES,
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
from ccbench.studies.published import at_most, between, percentage
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_WITH_CC = replace(BFC, name=f"{BFC.name}-cc", control="delay", packets_per_ack=1)
_SCHEMES = (BFC, _WITH_CC, scheme("ideal-fq"))
#: "Within 10 %" and "by 30 %".
_LONG_PERCENT, _GAIN_PERCENT = 10, 30
_LONG = {"kind": "background", "up_to_bytes": EDGES[-1]}
_WHERE = "section 3.6.4"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return cases_of_incasts(_SCHEMES, quick=quick, duration_s=SHORTER_S)


def _conclude(table: pd.DataFrame) -> Findings:
    incast, none = (table[table["traffic"] == name] for name in INCASTS)
    own, with_cc = BFC.name, _WITH_CC.name

    def buffered(rows: pd.DataFrame) -> float:
        peaks = [value(rows, "buffer_p99_mb", scheme=name) for name in (with_cc, own)]
        return 100 * peaks[0] / peaks[1]

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            *(
                Comparison(
                    quantity=f"p99 slowdown of flows up to 3 MB {words}, relative to BFC without "
                    "it",
                    measured=by_seed(
                        rows, lambda part: p99_ratio(part, with_cc, own, factor=100, **_LONG)
                    ),
                    published=between(
                        100 - _LONG_PERCENT, 100 + _LONG_PERCENT, _WHERE, text="within 10 %"
                    ),
                    unit="%",
                )
                for rows, words in ((incast, "with incast"), (none, "without incast"))
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB with incast, relative to BFC without it",
                measured=by_seed(
                    incast, lambda part: p99_ratio(part, with_cc, own, factor=100, **SHORT)
                ),
                published=percentage(100 - _GAIN_PERCENT, _WHERE, text="improves by 30 %"),
                unit="%",
            ),
            Comparison(
                quantity="buffered bytes with incast, p99 of the fullest switch, relative to BFC "
                "without it",
                measured=by_seed(incast, buffered),
                published=percentage(100 - _GAIN_PERCENT, _WHERE, text="the peak improves by 30 %"),
                unit="%",
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB without incast ÷ Ideal-FQ",
                measured=by_seed(none, lambda part: p99_ratio(part, with_cc, "ideal-fq", **SHORT)),
                published=at_most(2, _WHERE, text="close to IdealFQ (in Figure 3-14)"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.15"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
