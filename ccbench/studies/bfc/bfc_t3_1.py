# SPDX-License-Identifier: Apache-2.0
"""A long flow competing with short flows (Goyal 2022, Table 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.datacenter import flow_sizes
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.workload import HEADER_BYTES, PAYLOAD_BYTES, Workload, payload_share
from ccbench.studies.bfc.slowdown import BFC, NETWORK, by_seed, value
from ccbench.studies.catalogue import info
from ccbench.studies.published import percentage, quantity
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

#: Published throughput in percent and 99th percentile of the queueing delay in μs.
_PUBLISHED = {BFC.name: (37.3, 1.2), "hpcc": (22.9, 23.9), "dcqcn": (10.0, 30.4)}
_WHERE = "Table 3.1"
#: As in the authors' file (scratch/nsdifinal.cc, commented out), 14 servers of the receiver's rack
#: send the short flows. The long flow comes from another rack, with a base RTT of 8 μs. Neither
#: source defines the "single packet" delay; here it is the time that flows of a single packet take,
#: minus the time in an empty network.
_LONG, _RECEIVER = 80, 33
_SENDERS = tuple(range(34, 48))
_GBPS = 100.0
_SEEDS = tuple(range(1, 11))


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    # The load of the link includes headers; with the long flow's 40 % the total is 100 %.
    gbps = 0.6 * _GBPS * payload_share(flow_sizes.get("facebook"))
    workload = Workload(
        sizes="facebook",
        load=gbps / NETWORK.capacity_gbps,
        receiver=_RECEIVER,
        senders=_SENDERS,
        long_flows=((_LONG, _RECEIVER),),
    )
    return tuple(
        SimulationCase(
            name="shared link",
            topology=NETWORK,
            workload=workload,
            scheme=scheme(name),
            duration_s=2e-3 if quick else 5e-2,
            drain_s=0,
            seed=seed,
        )
        for name in _PUBLISHED
        for seed in (_SEEDS[:1] if quick else _SEEDS)
    )


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    single = result.flows[result.flows["bytes"].between(1, PAYLOAD_BYTES)]
    waited_us = 1e6 * (single["fct_s"] - single["ideal_s"])
    long = result.flows[result.flows["kind"] == "long"]["delivered_bytes"].sum()
    on_the_wire = long * (PAYLOAD_BYTES + HEADER_BYTES) / PAYLOAD_BYTES
    capacity_bytes = _GBPS * 1e9 / 8 * result.summary["end_s"]
    return [
        {
            "scheme": case.scheme.name,
            "seed": case.seed,
            "throughput_percent": 100 * on_the_wire / capacity_bytes,
            "p99_delay_us": float(waited_us.quantile(0.99)),
            "offered_percent": 100 * result.flows["bytes"].sum() / capacity_bytes,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    comparisons = []
    for name, (throughput, delay) in _PUBLISHED.items():
        rows = table[table["scheme"] == name]
        words = "BFC" if name == BFC.name else name.upper()
        comparisons += [
            Comparison(
                quantity=f"{words}: throughput of the long flow",
                measured=by_seed(rows, lambda seed: value(seed, "throughput_percent")),
                published=percentage(throughput, _WHERE),
                unit="%",
            ),
            Comparison(
                quantity=f"{words}: p99 of the queueing delay",
                measured=by_seed(rows, lambda seed: value(seed, "p99_delay_us")),
                published=quantity(delay, _WHERE),
                unit="μs",
            ),
        ]
    means = table.groupby("scheme").mean()
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = list(_PUBLISHED)
    left.bar(names, means["throughput_percent"][names])
    left.set(ylabel="throughput of the long flow (%)")
    right.bar(names, means["p99_delay_us"][names])
    right.set(ylabel="p99 of the queueing delay (μs)")
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = SimulationStudy(
    info=info("bfc-t3.1"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
