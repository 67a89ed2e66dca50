# SPDX-License-Identifier: Apache-2.0
"""Active flows at a link under fair queueing (Goyal 2022, Figure 3-4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.datacenter import flow_sizes
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.topology import star
from ccbench.datacenter.workload import Workload, payload_share
from ccbench.studies.bfc.slowdown import by_seed
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, similar
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

_LOADS = (0.5, 0.7, 0.85, 0.95)
_GBPS = (10.0, 40.0, 100.0)
#: Enough senders that their links do not shape the traffic. Windows are effectively unlimited, so
#: that the bottleneck alone determines the active flows.
_SENDERS = 64
_POLICIES = {
    "fair": replace(scheme("ideal-fq"), name="fair", window_bdp=1e5),
    "srf": replace(scheme("ideal-srf"), name="srf", window_bdp=1e5),
    "fifo": replace(scheme("ideal-fq"), name="fifo", assignment="single", window_bdp=1e5),
}
_QUEUES = 32
#: At "loads above 85 %" there are too many active flows.
_HIGH_LOAD = 0.85
_SEEDS = (1, 2, 3)
_WHERE = "section 3.2.3"


def _payload() -> float:
    """Return payload as a share of a link's load; here headers count as load."""
    return payload_share(flow_sizes.get("google"))


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    experiments = [("fair", gbps, load) for gbps in _GBPS for load in _LOADS]
    experiments += [(policy, 100.0, load) for policy in ("srf", "fifo") for load in _LOADS]
    seeds: tuple[int, ...] = _SEEDS
    if quick:
        experiments, seeds = experiments[:1], seeds[:1]
    return tuple(
        SimulationCase(
            name=f"{gbps:g}G, load {load:g}",
            topology=star(servers=_SENDERS + 1, gbps=gbps),
            workload=Workload(sizes="google", load=load * _payload(), receiver=_SENDERS),
            scheme=_POLICIES[policy],
            # An equal number of flows at each rate.
            duration_s=(0.005 if quick else 0.05) * 100 / gbps,
            drain_s=0,
            seed=seed,
        )
        for policy, gbps, load in experiments
        for seed in seeds
    )


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    # All ports but the receiver's are idle: exclude their samples, which have no flow.
    counts = result.active_flows.groupby("flows")["ports"].sum().astype(float)
    counts = counts.reindex(range(counts.index[-1] + 1), fill_value=0.0)
    counts[0] = max(counts[0] - len(result.samples) * _SENDERS, 0)
    share = counts.cumsum() / counts.sum()
    numbers = np.arange(len(share))
    return [
        {
            "policy": case.scheme.name,
            "seed": case.seed,
            "gbps": case.topology.capacity_gbps,
            "load": round(case.workload.load / _payload(), 6),
            "mean": float((counts * numbers).sum() / counts.sum()),
            **{
                f"p{100 * level:g}": int(numbers[np.searchsorted(share, level)])
                for level in (0.5, 0.9, 0.99)
            },
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    fastest = table["gbps"].max()

    def p99(rows: pd.DataFrame, policy: str) -> float:
        """Return the maximum p99 of active flows at the fastest link, up to the high load."""
        part = rows[(rows["policy"] == policy) & (rows["gbps"] == fastest)]
        return float(part[part["load"] <= _HIGH_LOAD]["p99"].max())

    def spread(rows: pd.DataFrame) -> float:
        """Return the ratio of the largest to the smallest mean over link rates, worst load."""
        means = rows[rows["policy"] == "fair"].pivot_table("mean", index="load", columns="gbps")
        return float((means.max(axis=1) / means.min(axis=1))[:_HIGH_LOAD].max())

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for gbps, part in table[table["policy"] == "fair"].groupby("gbps"):
        mean = part.groupby("load")["p99"].mean()
        left.plot(mean.index, mean, marker="o", label=f"{gbps} Gbit/s")
    for policy, part in table[table["gbps"] == fastest].groupby("policy"):
        mean = part.groupby("load")["p99"].mean()
        right.plot(mean.index, mean, marker="o", label=str(policy))
    for axes in (left, right):
        axes.axhline(_QUEUES, color="black", linewidth=1)
        axes.set(xlabel="load", ylabel="active flows, p99", yscale="log")
        axes.legend()
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="active flows at the fastest link, p99 up to a load of 85 %, fair "
                "queueing",
                measured=by_seed(table, lambda rows: p99(rows, "fair")),
                published=at_most(
                    _QUEUES, _WHERE, text="significantly above the 32 queues only beyond 85 %"
                ),
                note="The text does not say which quantile.",
            ),
            Comparison(
                quantity="mean of active flows, largest ÷ smallest of the link rates, worst load "
                "up to 85 %",
                measured=by_seed(table, lambda rows: 100 * spread(rows)),
                published=similar(100, _WHERE, text="invariant to link speed"),
                unit="%",
            ),
            Comparison(
                quantity="p99 of active flows, FIFO ÷ fair queueing, loads up to 85 %",
                measured=by_seed(table, lambda rows: p99(rows, "fifo") / p99(rows, "fair")),
                published=at_least(1, _WHERE, text="much larger"),
            ),
            Comparison(
                quantity="p99 of active flows, SRF ÷ fair queueing, loads up to 85 %",
                measured=by_seed(table, lambda rows: p99(rows, "srf") / p99(rows, "fair")),
                published=at_most(1, _WHERE, text="fewer still"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.4"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
