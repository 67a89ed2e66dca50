# SPDX-License-Identifier: Apache-2.0
"""Mice beside many long flows (Goyal 2022, Figure 3-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.bfc.case import Case
from ccbench.bfc.scheme import scheme
from ccbench.bfc.workload import Mice, Workload
from ccbench.studies.bfc_slowdown import NETWORK
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.bfc.simulation import Simulation

_SCHEMES = ("bfc", "bfc-128", "bfc-cc", "ideal-fq")
_ELEPHANTS = (8, 32, 128, 512, 1024)
#: In the same rack; the long flows come from the other racks.
_DIRECT, _INDIRECT = 0, 1
_SENDERS = range(16, 128)


def _cases(*, quick: bool) -> tuple[Case, ...]:
    return tuple(
        Case(
            name=f"{count}",
            topology=NETWORK,
            workload=Workload(
                load=0,
                long_flows=tuple((_SENDERS[i % len(_SENDERS)], _DIRECT) for i in range(count)),
                mice=tuple(
                    Mice(receiver=receiver, bytes=1000, gbps=3.0)
                    for receiver in (_DIRECT, _INDIRECT)
                ),
            ),
            scheme=scheme(name),
            duration_s=2e-4 if quick else 4e-3,
            drain_s=1e-3,
        )
        for count in (_ELEPHANTS[::3] if quick else _ELEPHANTS)
        for name in _SCHEMES
    )


def _measure(case: Case, result: Simulation) -> Rows:
    late = result.flows[result.flows["start_s"] > case.duration_s / 2]  # queues have built up
    mice = late[late["kind"] == "background"]
    return [
        {
            "scheme": case.scheme.name,
            "long_flows": int(case.name),
            **{
                f"{name}_p50": float(mice[mice["destination"] == receiver]["slowdown"].median())
                for name, receiver in (("direct", _DIRECT), ("indirect", _INDIRECT))
            },
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    def worst(scheme_name: str, column: str, low: int, high: int) -> float:
        part = table[(table["scheme"] == scheme_name) & table["long_flows"].between(low, high)]
        return float(part[column].max()) if len(part) else np.nan

    most = int(table["long_flows"].max())
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("direct", "indirect"), strict=True):
        for scheme_name, part in table.groupby("scheme", sort=False):
            axes.plot(part["long_flows"], part[f"{name}_p50"], marker="o", label=str(scheme_name))
        axes.set(xscale="log", yscale="log", xlabel="long flows", ylabel=f"slowdown, {name} mice")
    figure.axes[0].legend()
    settings = (
        ("direct mice, BFC, up to 8 long flows", "bfc", "direct_p50", (0, 8), "low", (1, 6)),
        ("direct mice, BFC, most long flows", "bfc", "direct_p50", (most, most), "high", (6, 1e9)),
        (
            "indirect mice, BFC, up to 128 long flows",
            "bfc",
            "indirect_p50",
            (0, 128),
            "1",
            (1, 1.5),
        ),
        (
            "indirect mice, BFC, most long flows",
            *("bfc", "indirect_p50", (most, most), "above 1", (1.5, 1e9)),
        ),
        (
            "indirect mice, BFC with end-to-end control, most long flows",
            *("bfc-cc", "indirect_p50", (most, most), "close to Ideal-FQ", (1, 1.5)),
        ),
    )
    return Findings(
        table=table,
        figure=figure,
        comparisons=tuple(
            Comparison(
                what=f"median slowdown of {what}",
                ours=worst(name, column, *between),
                published=published,
                accepted=accepted,
            )
            for what, name, column, between, published, accepted in settings
        ),
    )


STUDY = SimulationStudy(
    about=about("bfc-3.14"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
