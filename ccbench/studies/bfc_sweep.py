# SPDX-License-Identifier: Apache-2.0
"""What the studies share that change one setting: slowdown of short and of long flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.bfc.case import Case
from ccbench.bfc.workload import Workload
from ccbench.studies.bfc_slowdown import NETWORK, SHORT_BYTES

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.scheme import Scheme
    from ccbench.bfc.simulation import Simulation
    from ccbench.bfc.workload import Incast
    from ccbench.studies.study import Rows

__all__ = ["LONG_BYTES", "SCHEMES", "at", "case_of", "figure", "measure", "ratio"]

#: Those of figures 3-12 and 3-13.
SCHEMES = ("bfc", "bfc-128", "hpcc", "dctcp", "ideal-fq")

#: From this size on flows are long.
LONG_BYTES = 3e6


def case_of(  # noqa: PLR0913 - what the studies change
    setting: float,
    scheme: Scheme,
    *,
    quick: bool,
    load: float = 0.55,
    incast: Incast | None = None,
    duration_s: float = 1e-2,
) -> Case:
    """Return Facebook's flows on the thesis's network, at one value of the setting."""
    return Case(
        name=f"{setting:g}",
        topology=NETWORK,
        workload=Workload(sizes="facebook", load=load, incast=incast),
        scheme=scheme,
        duration_s=5e-4 if quick else duration_s,
        drain_s=1e-3 if quick else 5e-3,
    )


def measure(case: Case, result: Simulation) -> Rows:
    """Return p99 of the slowdown of short flows and the mean of that of long ones."""
    table = result.slowdowns((SHORT_BYTES, LONG_BYTES))
    assignments = max(int(result.ports["assignments"].sum()), 1)
    return [
        {
            "scheme": case.scheme.name,
            "setting": float(case.name),
            "seed": case.seed,
            "short_p99": float(table["p99"].iloc[0]),
            "long_mean": float(table["mean"].iloc[-1]),
            "unfinished": int(table["unfinished"].sum()),
            "collision_percent": 100 * int(result.ports["collisions"].sum()) / assignments,
            "dropped_percent": 100
            * result.summary["dropped_packets"]
            / result.summary["sent_data_packets"],
        }
    ]


def at(table: pd.DataFrame, column: str, scheme: str, *, low: float, high: float) -> float:
    """Return the mean of a column for a scheme over the settings from `low` to `high`."""
    part = table[(table["scheme"] == scheme) & table["setting"].between(low, high)]
    return float(part[column].mean())


def ratio(  # noqa: PLR0913 - what, of whom, by whom, and where
    table: pd.DataFrame, column: str, scheme: str, by: str, *, low: float, high: float
) -> float:
    """Return :func:`at` for one scheme by that for another one."""
    return at(table, column, scheme, low=low, high=high) / at(table, column, by, low=low, high=high)


def figure(table: pd.DataFrame, setting: str, *, log: bool) -> Figure:
    """Draw both slowdowns over the setting."""
    drawn = Figure(figsize=(8, 3.2), layout="constrained")
    labels = {"long_mean": "slowdown of long flows, mean", "short_p99": "of short flows, p99"}
    for axes, (column, label) in zip(drawn.subplots(1, 2), labels.items(), strict=True):
        for name, part in table.groupby("scheme", sort=False):
            mean = part.groupby("setting")[column].mean()
            axes.plot(mean.index, mean, marker="o", markersize=3, label=str(name))
        axes.set(xlabel=setting, ylabel=label, yscale="log", xscale="log" if log else "linear")
    drawn.axes[0].legend()
    return drawn
