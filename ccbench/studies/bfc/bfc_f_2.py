# SPDX-License-Identifier: Apache-2.0
"""Shortest remaining flow first at a single receiver (Goyal 2022, Figure F-2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.datacenter import flow_sizes
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.topology import star
from ccbench.datacenter.workload import Workload, payload_share
from ccbench.studies.bfc.slowdown import BFC, SEEDS, by_seed, drain_s, figure, measure, value
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

_BFC = replace(BFC, name=f"{BFC.name}-srf", shortest_first=True)
_HOMA, _IDEAL = "homa", "ideal-srf"
_SCHEMES = (_BFC, *map(scheme, (_HOMA, _IDEAL)))
_SIZES = ("google", "facebook")
#: The rack's other servers send.
_SENDERS = 15
_LOAD = 0.6
_DURATION_S = 5e-2
_WHERE = "appendix F.1"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        SimulationCase(
            name=sizes,
            topology=star(servers=_SENDERS + 1),
            workload=Workload(
                sizes=sizes,
                load=_LOAD * payload_share(flow_sizes.get(sizes)),
                receiver=_SENDERS,
            ),
            scheme=chosen,
            duration_s=1e-3 if quick else _DURATION_S,
            drain_s=drain_s(quick=quick),
            seed=seed,
        )
        for sizes in _SIZES
        for chosen in _SCHEMES
        for seed in (SEEDS[:1] if quick else SEEDS)
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def over_sizes(rows: pd.DataFrame, of: str, by: str) -> float:
        """Return the ratio of two schemes' p99, the mean over all ranges of flow sizes."""
        background = rows[rows["kind"] == "background"]
        sizes = background["up_to_bytes"].unique()
        ratios = [
            value(background, "p99", scheme=of, up_to_bytes=size)
            / value(background, "p99", scheme=by, up_to_bytes=size)
            for size in sizes
        ]
        return sum(ratios) / len(ratios)

    comparisons = []
    for sizes in _SIZES:
        rows = table[table["traffic"] == sizes]
        comparisons += [
            Comparison(
                quantity=f"{sizes}: p99 slowdown, {_BFC.name} ÷ {_IDEAL}, mean of all sizes",
                measured=by_seed(rows, lambda part: 100 * over_sizes(part, _BFC.name, _IDEAL)),
                published=similar(100, "caption of Figure F-2", text="close to optimal"),
                unit="%",
            ),
            Comparison(
                quantity=f"{sizes}: p99 slowdown, {_HOMA} ÷ {_BFC.name}, mean of all sizes",
                measured=by_seed(rows, lambda part: over_sizes(part, _HOMA, _BFC.name)),
                published=at_least(1, _WHERE, text="BFC-SRF is better at the tail"),
            ),
        ]
    return Findings(
        table=table,
        figure=figure(table, ("mean", "p95", "p99")),
        comparisons=tuple(comparisons),
    )


STUDY = SimulationStudy(
    info=info("bfc-f.2"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
