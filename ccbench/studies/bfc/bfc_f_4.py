# SPDX-License-Identifier: Apache-2.0
"""Parameters of HPCC, DCTCP and ExpressPass (Goyal 2022, Figure F-4)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BRIEF_S,
    LONG,
    SHORT,
    by_seed,
    cases_of,
    measure,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, similar
from ccbench.studies.study import Comparison, Findings, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase
    from ccbench.datacenter.scheme import Scheme

#: The thesis states the range of HPCC's target only; these are around the default of each.
_ETAS = (0.90, 0.95, 0.98)
_MARKS_KB = ((50.0, 200.0), (100.0, 400.0), (200.0, 800.0))
_CREDITS = (8, 16, 32)
_ALPHAS = (1 / 16, 1 / 4, 1 / 2)


def _variants() -> dict[str, tuple[Scheme, ...]]:
    """Return schemes in ascending order of a parameter, by the parameter."""
    hpcc, dctcp, express = (scheme(name) for name in ("hpcc", "dctcp", "expresspass"))
    return {
        "target": tuple(replace(hpcc, name=f"hpcc, {eta:g}", hpcc_target=eta) for eta in _ETAS),
        "marking": tuple(
            replace(dctcp, name=f"dctcp, {low:g}-{high:g} KB", ecn_kb=(low, high))
            for low, high in _MARKS_KB
        ),
        "credits": tuple(
            replace(express, name=f"expresspass, {count} credits", credit_queue=count)
            for count in _CREDITS
        ),
        "alpha": tuple(
            replace(express, name=f"expresspass, α = {alpha:g}", credit_alpha=alpha)
            for alpha in _ALPHAS
        ),
    }


_WHERE = "appendix F.2"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        case
        for parameter, schemes in _variants().items()
        for case in cases_of(
            parameter, traffic("facebook", 60), schemes, quick=quick, duration_s=BRIEF_S
        )
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def growth(
        rows: pd.DataFrame, parameter: str, column: str, factor: float = 1, **where: object
    ) -> float:
        """Return a slowdown with the largest value of a parameter by that with the smallest."""
        least, *_, most = _variants()[parameter]
        of, by = (value(rows, column, scheme=one.name, **where) for one in (most, least))
        return factor * of / by

    words = {
        "target": "HPCC, η = 0.98 relative to 0.9",
        "marking": "DCTCP, marking from 200 KB relative to 50 KB",
        "alpha": "ExpressPass, α = 1/2 relative to 1/16",
    }
    comparisons = []
    for parameter, varied in words.items():
        rows = table[table["traffic"] == parameter]
        rises, falls = (at_most, at_least) if parameter == "alpha" else (at_least, at_most)
        comparisons += [
            Comparison(
                quantity=f"{varied}: p99 slowdown of flows up to 3 KB",
                measured=by_seed(rows, partial(growth, parameter=parameter, column="p99", **SHORT)),
                published=rises(1, _WHERE, text="improves" if parameter == "alpha" else "worsens"),
            ),
            Comparison(
                quantity=f"{varied}: mean slowdown of flows above 3 MB",
                measured=by_seed(rows, partial(growth, parameter=parameter, column="mean", **LONG)),
                published=falls(1, _WHERE, text="worsens" if parameter == "alpha" else "improves"),
            ),
        ]
    rows = table[table["traffic"] == "credits"]
    for quantity, column, where in (
        ("p99 slowdown of flows up to 3 KB", "p99", SHORT),
        ("mean slowdown of flows above 3 MB", "mean", LONG),
    ):
        comparisons.append(
            Comparison(
                quantity=f"ExpressPass, 32 credits relative to 8: {quantity}",
                measured=by_seed(
                    rows,
                    partial(growth, parameter="credits", column=column, factor=100, **where),
                ),
                published=similar(100, _WHERE, text="little impact"),
                unit="%",
            )
        )
    drawn = Figure(figsize=(16, 3.2), layout="constrained")
    background = table[table["kind"] == "background"].replace({"up_to_bytes": float("inf")}, 1e7)
    for axes, parameter in zip(drawn.subplots(1, len(_variants())), _variants(), strict=True):
        part = background[background["traffic"] == parameter]
        for name, of_scheme in part.groupby("scheme", sort=False):
            mean = of_scheme.groupby("up_to_bytes")["p99"].mean()
            axes.plot(mean.index, mean, marker="o", markersize=3, label=str(name))
        axes.set(xscale="log", yscale="log", xlabel="flows up to (bytes)", title=parameter)
        axes.legend()
    drawn.axes[0].set(ylabel="slowdown, p99")
    return Findings(table=table, figure=drawn, comparisons=tuple(comparisons))


STUDY = SimulationStudy(
    info=info("bfc-f.4"),
    cases=_cases,
    measure=measure,
    conclude=_conclude,
)
