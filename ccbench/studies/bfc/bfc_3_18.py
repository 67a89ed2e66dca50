# SPDX-License-Identifier: Apache-2.0
"""Spatial locality: the same load on all links (Goyal 2022, Figure 3-18)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    BRIEF_S,
    INCASTS,
    NETWORK,
    OTHERS,
    SHORT,
    by_seed,
    cases_of,
    figure,
    measure,
    p99_ratio,
    traffic,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase
    from ccbench.datacenter.workload import Workload

_SCHEMES = (BFC, *map(scheme, OTHERS))
#: The servers' links have twice the core's capacity.
_LOCAL = 0.5
_WORDS = {"100x20MB": "with incast", "none": "without incast"}
_WHERE = "section 3.6.6.2"


def with_locality(workload: Workload) -> Workload:
    """Return the traffic with half of its flows within racks, and the same load of the core.

    Of uniformly drawn pairs, 112 of 127 are in two racks.
    """
    servers = NETWORK.servers
    per_rack = int((NETWORK.racks() == NETWORK.racks()[0]).sum())
    between_racks = (servers - per_rack) / (servers - 1)
    load = round(workload.load * between_racks / (1 - _LOCAL), 9)
    return replace(workload, load=load, local_share=_LOCAL)


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        case
        for name, incast in INCASTS.items()
        for case in cases_of(
            name,
            with_locality(traffic("facebook", 60, incast)),
            _SCHEMES,
            quick=quick,
            duration_s=BRIEF_S,
        )
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def least(rows: pd.DataFrame) -> float:
        return min(p99_ratio(rows, other, BFC.name, **SHORT) for other in OTHERS)

    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=tuple(
            Comparison(
                quantity=f"p99 slowdown of flows up to 3 KB {words}, smallest of the others ÷ BFC",
                measured=by_seed(table[table["traffic"] == name], least),
                published=at_least(1, _WHERE, text="trends as in Figure 3-11: BFC is best"),
            )
            for name, words in _WORDS.items()
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.18"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
