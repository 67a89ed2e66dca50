# SPDX-License-Identifier: Apache-2.0
"""What the studies of BFC's slowdowns share: the network, what is measured, the figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from ccbench.bfc.case import Case
from ccbench.bfc.scheme import scheme
from ccbench.bfc.topology import clos
from ccbench.bfc.workload import Incast, Workload

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.simulation import Simulation
    from ccbench.studies.study import Rows

__all__ = [
    "EDGES",
    "INCAST",
    "NETWORK",
    "SCHEMES",
    "SHORT_BYTES",
    "TRAFFIC",
    "cases",
    "figure",
    "measure",
    "value",
]

#: The network of section 3.6.2.1.
NETWORK = clos()
#: 100 to 1, 20 MB together, 5 % of the load.
INCAST = Incast(degree=100, total_mb=20, load=0.05)
SCHEMES = ("bfc", "bfc-ns3", "ideal-fq", "hpcc", "dctcp", "dcqcn")
#: The flow sizes at which one row ends and the next begins; the first are the short flows.
EDGES = (3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6)
SHORT_BYTES = EDGES[0]
_QUEUES = 32
#: Load and incast with and without incast, 60 % together.
TRAFFIC: dict[str, dict[str, Any]] = {
    "none": {"load": 0.6, "incast": None},
    "100x20MB": {"load": 0.55, "incast": INCAST},
}


def cases(
    sizes: str, incasts: tuple[str, ...], *, quick: bool, duration_s: float, seeds: tuple[int, ...]
) -> tuple[Case, ...]:
    """Return the cases of a distribution of sizes, with and without incast, under all schemes."""
    return tuple(
        Case(
            name=incast,
            topology=NETWORK,
            workload=Workload(sizes=sizes, **TRAFFIC[incast]),
            scheme=scheme(name),
            duration_s=duration_s / 20 if quick else duration_s,
            drain_s=1e-3 if quick else 5e-3,
            seed=seed,
        )
        for incast in incasts
        for name in SCHEMES
        for seed in (seeds[:1] if quick else seeds)
    )


def measure(case: Case, result: Simulation) -> Rows:
    """Return a row for each range of flow sizes, and one for incast flows."""
    common = {
        "incast": case.name,
        "scheme": case.scheme.name,
        "seed": case.seed,
        "buffer_p99_mb": float(result.buffers.quantile(0.99).max()) / 1e6,
        "paused_percent": 100 * result.paused_share(),
        "dropped_packets": result.summary["dropped_packets"],
        "few_active_percent": 100 * _few_active(result),
    }
    rows = []
    for kind, edges in (("background", EDGES), ("incast", ())):
        for up_to, row in result.slowdowns(edges, kind=kind).iterrows():
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


def _few_active(result: Simulation) -> float:
    """Return how often a port of a switch has no more active flows than BFC's ports have queues."""
    counts = result.active_flows
    few = counts["flows"] <= _QUEUES
    return float(counts["count"][few].sum() / counts["count"].sum())


def value(table: pd.DataFrame, column: str, **where: object) -> float:
    """Return the mean of a column over the rows that match; NaN if there are none."""
    for name, wanted in where.items():
        table = table[table[name] == wanted]
    return float(table[column].mean())


def figure(table: pd.DataFrame, columns: tuple[str, ...]) -> Figure:
    """Draw slowdown over flow size: a row for each kind of incast, a panel for each column."""
    kinds = list(dict.fromkeys(table["incast"]))
    drawn = Figure(figsize=(4 * len(columns), 3.2 * len(kinds)), layout="constrained")
    panels = drawn.subplots(len(kinds), len(columns), squeeze=False)
    background = table[table["kind"] == "background"].replace({"up_to_bytes": float("inf")}, 1e7)
    for row, kind in zip(panels, kinds, strict=True):
        part = background[background["incast"] == kind]
        for axes, column in zip(row, columns, strict=True):
            for name in SCHEMES:
                mean = part[part["scheme"] == name].groupby("up_to_bytes")[column].mean()
                axes.plot(mean.index, mean, marker="o", markersize=3, label=name)
            axes.set(
                xscale="log",
                yscale="log",
                xlabel="flows up to (bytes)",
                ylabel=f"slowdown, {column}",
                title=f"incast: {kind}",
            )
    panels[0][0].legend()
    return drawn
