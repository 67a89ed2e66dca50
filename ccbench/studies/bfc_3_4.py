# SPDX-License-Identifier: Apache-2.0
"""Active flows at a link under fair queueing (Goyal 2022, Figure 3-4)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.bfc import flow_sizes
from ccbench.bfc.case import Case
from ccbench.bfc.scheme import scheme
from ccbench.bfc.topology import star
from ccbench.bfc.workload import Workload, payload_share
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.simulation import Simulation

_LOADS = (0.5, 0.7, 0.85, 0.95)
_GBPS = (10.0, 40.0, 100.0)
#: Senders enough that their own links do not shape the traffic. Windows are without end in effect:
#: what is active is decided at the link alone.
_SENDERS = 64
_POLICIES = {
    "fair": replace(scheme("ideal-fq"), name="fair", window_bdp=1e5),
    "srf": replace(scheme("ideal-srf"), name="srf", window_bdp=1e5),
    "fifo": replace(scheme("ideal-fq"), name="fifo", assignment="single", window_bdp=1e5),
}
_QUEUES = 32


def _payload() -> float:
    """Return the share of a link's load that is payload: here headers count in the load."""
    return payload_share(flow_sizes.get("google"))


def _cases(*, quick: bool) -> tuple[Case, ...]:
    wanted = [("fair", gbps, load) for gbps in _GBPS for load in _LOADS]
    wanted += [(policy, 100.0, load) for policy in ("srf", "fifo") for load in _LOADS]
    if quick:
        wanted = [wanted[0]]
    return tuple(
        Case(
            name=f"{gbps:g}G, load {load:g}",
            topology=star(servers=_SENDERS + 1, gbps=gbps),
            workload=Workload(sizes="google", load=load * _payload(), receiver=_SENDERS),
            scheme=_POLICIES[policy],
            # As many flows at each rate.
            duration_s=(0.005 if quick else 0.05) * 100 / gbps,
            drain_s=0,
        )
        for policy, gbps, load in wanted
    )


def _measure(case: Case, result: Simulation) -> Rows:
    # All ports but the receiver's are idle: of the samples these are all with no flow.
    counts = result.active_flows.set_index("flows")["count"].astype(float)
    counts[0] = max(counts[0] - len(result.samples) * _SENDERS, 0)
    share = counts.cumsum() / counts.sum()
    numbers = np.arange(len(share))
    return [
        {
            "policy": case.scheme.name,
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
    fair = table[table["policy"] == "fair"]
    fast = fair[fair["gbps"] == fair["gbps"].max()]
    at = table[(table["gbps"] == table["gbps"].max()) & (table["load"] <= 0.85)]  # noqa: PLR2004
    p99 = at.groupby("policy")["p99"].max()
    spread = fair.pivot_table("mean", index="load", columns="gbps")
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for gbps, part in fair.groupby("gbps"):
        left.plot(part["load"], part["p99"], marker="o", label=f"{gbps} Gbit/s")
    for policy, part in table[table["gbps"] == table["gbps"].max()].groupby("policy"):
        right.plot(part["load"], part["p99"], marker="o", label=str(policy))
    for axes in (left, right):
        axes.axhline(_QUEUES, color="black", linewidth=1)
        axes.set(xlabel="load", ylabel="active flows, p99", yscale="log")
        axes.legend()
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                what="active flows at the fastest link, p99 up to a load of 85 %, fair queueing",
                ours=float(fast[fast["load"] <= 0.85]["p99"].max()),  # noqa: PLR2004
                published="at most about the 32 queues",
                accepted=(0, 1.25 * _QUEUES),
            ),
            Comparison(
                what="mean of active flows, most by least of the link rates, worst load up to 85 %",
                ours=float((spread.max(axis=1) / spread.min(axis=1))[:0.85].max()),
                published="invariant to link speed",
                accepted=(1, 1.5),
            ),
            Comparison(
                what="p99 of active flows, FIFO by fair queueing, loads up to 85 %",
                ours=float(p99.get("fifo", np.nan) / p99["fair"]),
                published="much larger",
                accepted=(2, 1000),
            ),
            Comparison(
                what="the same, SRF by fair queueing",
                ours=float(p99.get("srf", np.nan) / p99["fair"]),
                published="below 1",
                accepted=(0, 1),
            ),
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.4"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
