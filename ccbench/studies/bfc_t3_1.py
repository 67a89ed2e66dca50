# SPDX-License-Identifier: Apache-2.0
"""A long flow that shares a link with short ones (Goyal 2022, Table 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.bfc import flow_sizes
from ccbench.bfc.case import Case
from ccbench.bfc.scheme import scheme
from ccbench.bfc.topology import clos
from ccbench.bfc.workload import HEADER_BYTES, PAYLOAD_BYTES, Workload, payload_share
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.simulation import Simulation

#: Published: throughput in percent and 99th percentile of the queueing delay in μs.
_PUBLISHED = {"bfc": (37.3, 1.2), "hpcc": (22.9, 23.9), "dcqcn": (10.0, 30.4)}
#: Three racks of 16 servers: the link shared is that of the receiver, and all others send the short
#: flows. The longest base RTT is 8 μs. The thesis does not say how many send them, nor what its
#: "single packet" delay is; here it is the time that flows of a single packet take beyond that in
#: an empty network. Other readings were run before this was chosen (docs/studies/bfc.md):
#: agreement is weak evidence.
_LONG, _RECEIVER = 0, 32
_NETWORK = clos(racks=3, servers_per_rack=16, spines=8)


def _payload() -> float:
    return payload_share(flow_sizes.get("facebook"))


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return tuple(
        Case(
            name="shared link",
            topology=_NETWORK,
            # The load is that of the link, headers included.
            workload=Workload(
                sizes="facebook",
                load=0.6 * 100 / _NETWORK.capacity_gbps * _payload(),
                receiver=_RECEIVER,
                long_flows=((_LONG, _RECEIVER),),
            ),
            scheme=scheme(name),
            duration_s=2e-3 if quick else 3e-2,
            drain_s=0,
            seed=seed,
        )
        for name in _PUBLISHED
        for seed in ((1,) if quick else (1, 2, 3, 4, 5))
    )


def _measure(case: Case, result: Simulation) -> Rows:
    single = result.flows[result.flows["bytes"].between(1, PAYLOAD_BYTES)]
    waited_us = 1e6 * (single["fct_s"] - single["ideal_s"])
    long = result.flows[result.flows["kind"] == "long"]["delivered_bytes"].sum()
    on_the_wire = long * (PAYLOAD_BYTES + HEADER_BYTES) / PAYLOAD_BYTES
    offered = result.flows["bytes"].sum() * 8 / result.summary["end_s"] / 1e11
    return [
        {
            "scheme": case.scheme.name,
            "seed": case.seed,
            "throughput_percent": 100 * on_the_wire * 8 / result.summary["end_s"] / 1e11,
            "p99_delay_us": float(waited_us.quantile(0.99)),
            "offered_percent": 100 * offered,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    means = table.groupby("scheme").mean()
    comparisons = []
    for name, (throughput, delay) in _PUBLISHED.items():
        comparisons += [
            Comparison(
                what=f"{name}: throughput of the long flow",
                ours=float(means["throughput_percent"][name]),
                published=f"{throughput}",
                accepted=(0.85 * throughput, 1.15 * throughput),
                unit="%",
            ),
            Comparison(
                what=f"{name}: p99 of the queueing delay",
                ours=float(means["p99_delay_us"][name]),
                published=f"{delay}",
                accepted=(0.7 * delay, 1.3 * delay),
                unit="μs",
            ),
        ]
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = list(_PUBLISHED)
    left.bar(names, means["throughput_percent"][names])
    left.set(ylabel="throughput of the long flow (%)")
    right.bar(names, means["p99_delay_us"][names])
    right.set(ylabel="p99 of the queueing delay (μs)")
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = SimulationStudy(
    about=about("bfc-t3.1"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
