# SPDX-License-Identifier: Apache-2.0
"""Common parts of the slowdown studies: network, traffic, schemes, measurement, figure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.topology import clos
from ccbench.datacenter.workload import Incast, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from ccbench.datacenter.scheme import Scheme
    from ccbench.datacenter.simulation import Simulation
    from ccbench.studies.study import Rows

__all__ = [
    "BFC",
    "BRIEF_S",
    "DURATION_S",
    "EDGES",
    "INCAST",
    "INCASTS",
    "LONG",
    "NETWORK",
    "OTHERS",
    "SEEDS",
    "SHORT",
    "SHORTER_S",
    "SHORTEST_S",
    "by_seed",
    "case_of",
    "cases_of",
    "cases_of_incasts",
    "drain_s",
    "figure",
    "mean_ratio",
    "measure",
    "p99_ratio",
    "payload_load",
    "settled",
    "traffic",
    "value",
]

#: The network of section 3.6.2.1.
NETWORK = clos()
#: BFC as in the authors' simulator, which produced the thesis's results.
BFC = scheme("bfc-ns3")
#: The schemes with which the text compares BFC.
OTHERS = ("hpcc", "dctcp", "dcqcn")
#: 100 to 1, 20 MB in total, 5 % of the load: an event every 500 μs.
INCAST = Incast(degree=100, total_mb=20, load=0.05)
#: Upper limits of the flow size ranges in bytes; the first range contains the short flows.
EDGES = (3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6)
#: Traffic of Figure 3-11: with incast and without.
INCASTS = {"100x20MB": INCAST, "none": None}
#: Short flows, and long flows.
SHORT: dict[str, Any] = {"kind": "background", "up_to_bytes": EDGES[0]}
LONG: dict[str, Any] = {"kind": "background", "up_to_bytes": math.inf}
#: The authors simulate 50 ms, once. Three such runs provide an interval; flows that start in the
#: first 2.5 ms, in which queues build up, are excluded. At a load of 95 %, runs of 10 ms are too
#: short: with 32 queues, the 99th percentile of short flows' slowdown is 1.4, compared to 4.2 in
#: 50 ms.
SEEDS = (1, 2, 3)
DURATION_S = 5e-2
#: Durations of the studies that compare variants among themselves, or many schemes.
SHORTER_S = 2e-2
SHORTEST_S = 1e-2
BRIEF_S = 6e-3
_FIRST_COUNTED = 1 / 20
_QUEUES = 32


def payload_load(percent: float) -> float:
    """Return payload as a share of the core links' capacity, for a load as the thesis defines it.

    "By X % load we mean X % load on the links in the core." The authors' file has 0.65 for 60 %:
    one in eight flows stays within its rack, and headers add to the payload.
    """
    return round(percent * 0.65 / 60, 9)


def drain_s(*, quick: bool) -> float:
    """Return the longest time for which a simulation continues after its last start of a flow.

    It ends with its last flow, so that schemes with slow long flows are not favoured.
    """
    return 1e-3 if quick else 0.5  # longer than any flow


def traffic(sizes: str, percent: float, incast: Incast | None = None) -> Workload:
    """Return the traffic at a load as the thesis defines it, including incast."""
    load = payload_load(percent) - (0 if incast is None else incast.load)
    return Workload(sizes=sizes, load=round(load, 9), incast=incast)


def case_of(  # noqa: PLR0913 - each is one setting of the case
    name: str,
    workload: Workload,
    chosen: Scheme,
    *,
    quick: bool,
    seed: int = 1,
    duration_s: float = DURATION_S,
) -> SimulationCase:
    """Return the case of a scheme on the thesis's network."""
    return SimulationCase(
        name=name,
        topology=NETWORK,
        workload=workload,
        scheme=chosen,
        duration_s=DURATION_S / 80 if quick else duration_s,
        drain_s=drain_s(quick=quick),
        seed=seed,
    )


def cases_of(
    name: str,
    workload: Workload,
    schemes: Sequence[Scheme],
    *,
    quick: bool,
    duration_s: float = DURATION_S,
) -> tuple[SimulationCase, ...]:
    """Return the cases of several schemes with all seeds."""
    seeds = SEEDS[:1] if quick else SEEDS
    return tuple(
        case_of(name, workload, chosen, quick=quick, seed=seed, duration_s=duration_s)
        for chosen in schemes
        for seed in seeds
    )


def cases_of_incasts(
    schemes: Sequence[Scheme], *, quick: bool, duration_s: float = DURATION_S
) -> tuple[SimulationCase, ...]:
    """Return the cases of several schemes with the traffic of Figure 3-11."""
    return tuple(
        case
        for name, incast in INCASTS.items()
        for case in cases_of(
            name, traffic("facebook", 60, incast), schemes, quick=quick, duration_s=duration_s
        )
    )


def settled(case: SimulationCase, result: Simulation) -> Simulation:
    """Return a simulation restricted to flows that start after its first twentieth."""
    later = result.flows["start_s"] >= _FIRST_COUNTED * case.duration_s
    return replace(result, flows=result.flows[later])


def measure(case: SimulationCase, result: Simulation) -> Rows:
    """Return a row for each range of flow sizes, and one for incast flows.

    A flow ends when its sender has the last ACK, as in the authors' simulators. The state of the
    network (buffers, pauses, active flows) is that of the period in which flows start.
    """
    assignments = max(int(result.ports["assignments"].sum()), 1)
    common = {
        "traffic": case.name,
        "scheme": case.scheme.name,
        "seed": case.seed,
        "buffer_p99_mb": float(result.buffers.loc[: case.duration_s].quantile(0.99).max()) / 1e6,
        "paused_percent": 100 * result.paused_share(case.duration_s),
        "dropped_packets": result.summary["dropped_packets"],
        "few_active_percent": 100 * _few_active(case, result),
        "collision_percent": 100 * int(result.ports["collisions"].sum()) / assignments,
    }
    rows = []
    for kind, edges in (("background", EDGES), ("incast", ())):
        counted = settled(case, result).slowdowns(edges, kind=kind, until="acked")
        for up_to, row in counted.iterrows():
            if row["flows"] or row["unfinished"]:
                rows.append(
                    {
                        **common,
                        "kind": kind,
                        "up_to_bytes": up_to,
                        **dict(zip(row.index, row, strict=True)),
                    }
                )
    return rows


def _few_active(case: SimulationCase, result: Simulation) -> float:
    """Return how often a switch port has fewer active flows than a BFC port has queues."""
    active = result.active_flows.loc[: case.duration_s]
    few = active["flows"] < _QUEUES
    return float(active["ports"][few].sum() / active["ports"].sum())


def value(table: pd.DataFrame, column: str, **where: object) -> float:
    """Return the mean of a column over the matching rows; NaN if there are none."""
    for name, expected in where.items():
        table = table[table[name] == expected]
    return float(table[column].mean())


def p99_ratio(rows: pd.DataFrame, of: str, by: str, *, factor: float = 1, **where: object) -> float:
    """Return the ratio of two schemes' p99 slowdown in the matching rows, times a factor."""
    of_p99, by_p99 = (value(rows, "p99", scheme=name, **where) for name in (of, by))
    return factor * of_p99 / by_p99


def mean_ratio(rows: pd.DataFrame, of: str, by: str, **where: object) -> float:
    """Return the ratio of two schemes' mean slowdown in the matching rows."""
    of_mean, by_mean = (value(rows, "mean", scheme=name, **where) for name in (of, by))
    return of_mean / by_mean


def by_seed(table: pd.DataFrame, compute: Callable[[pd.DataFrame], float]) -> Estimate:
    """Return the estimate over seeds of a statistic of each seed's rows."""
    return Estimate(compute(rows) for _, rows in table.groupby("seed"))


def figure(table: pd.DataFrame, columns: Sequence[str]) -> Figure:
    """Draw slowdown over flow size: one row per kind of traffic, one panel per column."""
    kinds = list(dict.fromkeys(table["traffic"]))
    drawn = Figure(figsize=(4 * len(columns), 3.2 * len(kinds)), layout="constrained")
    panels = drawn.subplots(len(kinds), len(columns), squeeze=False)
    background = table[table["kind"] == "background"].replace({"up_to_bytes": float("inf")}, 1e7)
    for row, kind in zip(panels, kinds, strict=True):
        part = background[background["traffic"] == kind]
        for axes, column in zip(row, columns, strict=True):
            for name, rows in part.groupby("scheme", sort=False):
                mean = rows.groupby("up_to_bytes")[column].mean()
                axes.plot(mean.index, mean, marker="o", markersize=3, label=str(name))
            axes.set(
                xscale="log",
                yscale="log",
                xlabel="flows up to (bytes)",
                ylabel=f"slowdown, {column}",
                title=f"incast: {kind}",
            )
    panels[0][0].legend()
    return drawn
