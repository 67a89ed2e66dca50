# SPDX-License-Identifier: Apache-2.0
"""BFC without network cards that obey pauses, and with sampling (Goyal 2022, Figure E-1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.studies.bfc.slowdown import (
    BFC,
    INCAST,
    SHORT,
    SHORTER_S,
    by_seed,
    cases_of,
    figure,
    measure,
    p99_ratio,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, exactly, percentage
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase

_NIC = replace(
    BFC, name=f"{BFC.name}-nic", control="window", nic_backpressure=False, packets_per_ack=1
)
_SAMPLING = replace(BFC, name=f"{BFC.name}-sampling", sampling=0.5)
_WHERE = "appendix E"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    workload = traffic("facebook", 60, INCAST)
    schemes = (BFC, _NIC, _SAMPLING)
    return cases_of("100x20MB", workload, schemes, quick=quick, duration_s=SHORTER_S)


def _conclude(table: pd.DataFrame) -> Findings:
    own = BFC.name

    def slowdown(name: str) -> Comparison:
        return Comparison(
            quantity=f"p99 slowdown of flows up to 3 KB, {name}, relative to BFC's",
            measured=by_seed(table, lambda rows: p99_ratio(rows, name, own, factor=100, **SHORT)),
            published=percentage(100, _WHERE, text="similar"),
            unit="%",
        )

    def buffered(rows: pd.DataFrame, name: str) -> float:
        of, by = (value(rows, "buffer_p99_mb", scheme=each) for each in (name, own))
        return 100 * of / by

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=(
            slowdown(_NIC.name),
            slowdown(_SAMPLING.name),
            Comparison(
                quantity=f"buffered bytes, p99 of the fullest switch, {_NIC.name}, relative to "
                "BFC's",
                measured=by_seed(table, lambda rows: buffered(rows, _NIC.name)),
                published=at_least(100, _WHERE, text="increased"),
                unit="%",
            ),
            Comparison(
                quantity=f"buffered bytes, p99 of the fullest switch, {_SAMPLING.name}, relative "
                "to BFC's",
                measured=by_seed(table, lambda rows: buffered(rows, _SAMPLING.name)),
                published=percentage(100, _WHERE, text="nearly identical"),
                unit="%",
            ),
            Comparison(
                quantity=f"dropped packets, {_NIC.name}",
                measured=value(table, "dropped_packets", scheme=_NIC.name),
                published=exactly(0, _WHERE, text="no drops"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-e.1"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
