# SPDX-License-Identifier: Apache-2.0
"""Two data centres with a link of 200 μs (Goyal 2022, Figure 3-20)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.topology import clos, two_data_centres
from ccbench.datacenter.workload import HEADER_BYTES, PAYLOAD_BYTES, Workload
from ccbench.studies.bfc.slowdown import (
    BFC,
    EDGES,
    SEEDS,
    by_seed,
    drain_s,
    payload_load,
    settled,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, percentage
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

_RACKS, _PER_RACK, _SPINES = 4, 16, 8
#: Each data centre has 64 servers, with the racks and spines of section 3.6.2.1.
_ONE = clos(racks=_RACKS, servers_per_rack=_PER_RACK, spines=_SPINES)
_BOTH = two_data_centres(one=_ONE, spines=_SPINES)
_INTERCONNECT_GBPS = 200.0
_LONG_FLOWS = 20
#: Flows within each data centre. Of 63 other servers 48 are in other racks, instead of 112 of 127
#: in the network of section 3.6.2.1.
_INSIDE = Workload(
    sizes="facebook", load=round(payload_load(60) * (112 / 127) / (48 / 63), 9), islands=2
)
#: Windows, and HPCC's rates, follow the RTT of a flow's path: 8 or 416 μs.
_SCHEMES = tuple(
    replace(chosen, pair_rtt=True) for chosen in (BFC, *map(scheme, ("hpcc", "dcqcn")))
)
_ALONE, _WITH = "without long flows", "with long flows"
_DURATION_S = 1.2e-2
_SETTLED = 1 / 3
_WHERE = "section 3.6.6.4"


def _long_flows() -> tuple[tuple[int, int], ...]:
    """Return long flows between the data centres, in both directions, at different servers."""
    there = [(3 * i, _ONE.servers + 3 * i + 1) for i in range(_LONG_FLOWS)]
    back = [(_ONE.servers + 3 * i, 3 * i + 1) for i in range(_LONG_FLOWS)]
    return (*there, *back)


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    workloads = {
        _ALONE: _INSIDE,
        _WITH: replace(_INSIDE, long_flows=_long_flows()),
    }
    return tuple(
        SimulationCase(
            name=name,
            topology=_BOTH,
            workload=workload,
            scheme=chosen,
            duration_s=1e-3 if quick else _DURATION_S,
            drain_s=drain_s(quick=quick),
            seed=seed,
        )
        for name, workload in workloads.items()
        for chosen in _SCHEMES
        for seed in (SEEDS[:1] if quick else SEEDS)
    )


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    samples = result.samples[result.samples.index <= case.duration_s]
    later = samples[samples.index >= _SETTLED * case.duration_s]["long_bytes"]
    seconds = later.index[-1] - later.index[0]
    wire = (PAYLOAD_BYTES + HEADER_BYTES) / PAYLOAD_BYTES
    gbps = (later.iloc[-1] - later.iloc[0]) * wire * 8 / seconds / 1e9
    table = settled(case, result).slowdowns(EDGES, until="acked")
    return [
        {
            "traffic": case.name,
            "scheme": case.scheme.name,
            "seed": case.seed,
            "up_to_bytes": up_to,
            "utilisation_percent": 100 * gbps / (2 * _INTERCONNECT_GBPS),
            **dict(zip(row.index, row, strict=True)),
        }
        for up_to, row in table.iterrows()
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    joined, alone = (table[table["traffic"] == name] for name in (_WITH, _ALONE))

    def used(rows: pd.DataFrame, name: str) -> float:
        return value(rows, "utilisation_percent", scheme=name)

    def used_of_bfc(rows: pd.DataFrame, name: str) -> float:
        return used(rows, name) / used(rows, BFC.name)

    def short(rows: pd.DataFrame, name: str) -> float:
        return value(rows, "p99", scheme=name, up_to_bytes=EDGES[0])

    def grown(rows: pd.DataFrame, name: str) -> float:
        """Return the slowdown of short flows with long flows by that without."""
        with_long, without = (rows[rows["traffic"] == one] for one in (_WITH, _ALONE))
        return short(with_long, name) / short(without, name)

    drawn = Figure(figsize=(9, 3.2), layout="constrained")
    left, right = drawn.subplots(1, 2)
    drawn_part = joined.replace({"up_to_bytes": float("inf")}, 1e7)
    for name, rows in drawn_part.groupby("scheme", sort=False):
        mean = rows.groupby("up_to_bytes")["p99"].mean()
        left.plot(mean.index, mean, marker="o", markersize=3, label=str(name))
    left.set(xscale="log", yscale="log", xlabel="flows up to (bytes)", ylabel="slowdown, p99")
    left.legend()
    names = [chosen.name for chosen in _SCHEMES]
    right.bar(np.arange(len(names)), [used(joined, name) for name in names])
    right.set_xticks(np.arange(len(names)), names)
    right.set(ylabel="utilisation of the interconnect (%)")
    return Findings(
        table=table,
        figure=drawn,
        comparisons=(
            Comparison(
                quantity="BFC: utilisation of the link between the data centres",
                measured=by_seed(joined, lambda rows: used(rows, BFC.name)),
                published=percentage(100, _WHERE, text="close to 100"),
                unit="%",
            ),
            *(
                Comparison(
                    quantity=f"utilisation of the link between the data centres, {other.upper()} "
                    "÷ BFC",
                    measured=by_seed(joined, partial(used_of_bfc, name=other)),
                    published=at_most(1, _WHERE, text="not at full utilisation"),
                )
                for other in ("hpcc", "dcqcn")
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, smallest of the others ÷ BFC",
                measured=by_seed(
                    joined,
                    lambda rows: (
                        min(short(rows, other) for other in ("hpcc", "dcqcn"))
                        / short(rows, BFC.name)
                    ),
                ),
                published=at_least(1, _WHERE, text="the relative advantage is maintained"),
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, HPCC ÷ DCQCN",
                measured=by_seed(joined, lambda rows: short(rows, "hpcc") / short(rows, "dcqcn")),
                published=at_least(1, _WHERE, text="HPCC becomes worse than DCQCN"),
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB without long flows, HPCC ÷ DCQCN",
                measured=by_seed(alone, lambda rows: short(rows, "hpcc") / short(rows, "dcqcn")),
                published=at_most(1, _WHERE, text="HPCC has the better tail latency"),
            ),
            *(
                Comparison(
                    quantity=f"p99 slowdown of flows up to 3 KB with long flows ÷ that without, "
                    f"{name}",
                    measured=by_seed(table, partial(grown, name=name)),
                    published=at_least(1, _WHERE, text="worse for all three protocols"),
                )
                for name in names
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.20"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
