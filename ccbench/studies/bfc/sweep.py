# SPDX-License-Identifier: Apache-2.0
"""Slowdown of short and long flows over one setting, for Figures 3-12 and 3-13."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from ccbench.base.figures import Figure
from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    DURATION_S,
    EDGES,
    INCAST,
    SEEDS,
    by_seed,
    case_of,
    settled,
    traffic,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.base.estimate import Estimate
    from ccbench.datacenter.case import SimulationCase
    from ccbench.datacenter.scheme import Scheme
    from ccbench.datacenter.simulation import Simulation
    from ccbench.studies.study import Rows

__all__ = ["BFC_128", "DEGREES", "SCHEMES", "at", "degrees", "figure", "measure", "ratio", "seeds"]

BFC_128 = replace(BFC, name=f"{BFC.name}-128", queues=128)

#: The schemes of Figures 3-12 and 3-13.
SCHEMES = (BFC, BFC_128, *map(scheme, ("hpcc", "dctcp", "ideal-fq")))

#: Degrees of incast of Figures 3-13 and F-5.
DEGREES = (10, 100, 200, 500, 1000, 2000)

#: Schemes that are drawn but not compared with the text, with a single run.
_ONLY_DRAWN = ("dctcp", "ideal-fq", "hpcc-pfc")

_SHORT_BYTES, _LONG_BYTES = EDGES[0], EDGES[-1]


def seeds(chosen: Scheme, *, quick: bool) -> tuple[int, ...]:
    """Return the seeds of a scheme's runs."""
    return SEEDS[:1] if quick or chosen.name in _ONLY_DRAWN else SEEDS


def degrees(
    schemes: Sequence[Scheme],
    *,
    quick: bool,
    duration_s: float = DURATION_S,
) -> tuple[SimulationCase, ...]:
    """Return the cases of schemes over the degree of incast."""
    return tuple(
        case_of(
            f"{degree}",
            traffic("facebook", 60, replace(INCAST, degree=degree)),
            chosen,
            quick=quick,
            seed=seed,
            duration_s=duration_s,
        )
        for degree in (DEGREES[1:4:2] if quick else DEGREES)
        for chosen in schemes
        for seed in seeds(chosen, quick=quick)
    )


def measure(case: SimulationCase, result: Simulation) -> Rows:
    """Return the p99 slowdown of short flows and the mean slowdown of long flows."""
    table = settled(case, result).slowdowns((_SHORT_BYTES, _LONG_BYTES), until="acked")
    return [
        {
            "scheme": case.scheme.name,
            "setting": float(case.name),
            "seed": case.seed,
            "short_p99": float(table["p99"].iloc[0]),
            "long_mean": float(table["mean"].iloc[-1]),
            "unfinished": int(table["unfinished"].sum()),
            "dropped_percent": 100
            * result.summary["dropped_packets"]
            / result.summary["sent_data_packets"],
        }
    ]


def at(table: pd.DataFrame, column: str, name: str, where: tuple[float, float]) -> pd.Series:
    """Return a scheme's column by setting, for settings in a closed range."""
    part = table[(table["scheme"] == name) & table["setting"].between(*where)]
    return part.groupby("setting")[column].mean()


def ratio(  # noqa: PLR0913 - a table and a selection from it
    table: pd.DataFrame,
    column: str,
    name: str,
    by: str,
    where: tuple[float, float],
    *,
    statistic: Literal["min", "mean", "max"],
) -> Estimate:
    """Return the ratio of :func:`at` of two schemes, as an estimate over seeds.

    Parameters
    ----------
    table : DataFrame
        Rows of :func:`measure`.
    column : str
        The slowdown column.
    name, by : str
        Numerator and denominator.
    where : tuple of float
        The first and last settings.
    statistic : {"min", "mean", "max"}
        Aggregation over the settings.
    """

    def of_seed(rows: pd.DataFrame) -> float:
        ratios = at(rows, column, name, where) / at(rows, column, by, where)
        return float(ratios.agg(statistic))

    return by_seed(table, of_seed)


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
