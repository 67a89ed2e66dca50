# SPDX-License-Identifier: Apache-2.0
"""Mice competing with many long flows (Goyal 2022, Figure 3-14)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.workload import Mice, Workload
from ccbench.studies.bfc.slowdown import BFC, NETWORK, drain_s
from ccbench.studies.bfc.sweep import BFC_128
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

#: Algorithm 2 needs the ACK of each packet.
_BFC_CC = replace(BFC, name=f"{BFC.name}-cc", control="delay", packets_per_ack=1)
_IDEAL = scheme("ideal-fq")
_SCHEMES = (BFC, BFC_128, _BFC_CC, _IDEAL)
#: Numbers of long flows; the first is below the queues of a port, the third below those of eight.
_ELEPHANTS = (8, 32, 128, 512, 1024)
_FEW, _MODERATE, _MOST = _ELEPHANTS[0], _ELEPHANTS[2], _ELEPHANTS[-1]
#: Receivers in one rack; the long flows come from other racks.
_DIRECT, _INDIRECT = 0, 1
_SENDERS = range(16, 128)
_WHERE = "section 3.6.4"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        SimulationCase(
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
            scheme=chosen,
            duration_s=2e-4 if quick else 4e-3,
            drain_s=drain_s(quick=quick),
        )
        for count in (_ELEPHANTS[::3] if quick else _ELEPHANTS)
        for chosen in _SCHEMES
    )


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    late = result.flows[result.flows["start_s"] > case.duration_s / 2]  # queues have built up
    mice = late[late["kind"] == "background"]
    slowdown = (mice["acked_s"] / mice["ideal_acked_s"]).groupby(mice["destination"]).median()
    return [
        {
            "scheme": case.scheme.name,
            "long_flows": int(case.name),
            "direct_p50": float(slowdown.get(_DIRECT, np.nan)),
            "indirect_p50": float(slowdown.get(_INDIRECT, np.nan)),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    by_count = table.set_index(["scheme", "long_flows"])

    def median(chosen: str, column: str, count: int) -> float:
        return float(by_count[column].get((chosen, count), np.nan))

    def growth(column: str, count: int) -> float:
        """Return the ratio of BFC's slowdown with `count` long flows to that with the fewest."""
        return median(BFC.name, column, count) / median(BFC.name, column, _FEW)

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("direct", "indirect"), strict=True):
        for scheme_name, part in table.groupby("scheme", sort=False):
            axes.plot(part["long_flows"], part[f"{name}_p50"], marker="o", label=str(scheme_name))
        axes.set(xscale="log", yscale="log", xlabel="long flows", ylabel=f"slowdown, {name} mice")
    figure.axes[0].legend()
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="median slowdown of direct mice, BFC, 128 long flows relative to 8",
                measured=growth("direct_p50", _MODERATE),
                published=at_least(1, _WHERE, text="degrades beyond the number of queues"),
            ),
            Comparison(
                quantity="median slowdown of indirect mice, BFC, 128 long flows relative to 8",
                measured=100 * growth("indirect_p50", _MODERATE),
                published=similar(100, _WHERE, text="degrades only beyond 8 times the queues"),
                unit="%",
            ),
            Comparison(
                quantity="median slowdown of indirect mice, BFC, 1024 long flows relative to 8",
                measured=growth("indirect_p50", _MOST),
                published=at_least(1, _WHERE, text="degrades beyond 8 times the queues"),
            ),
            Comparison(
                quantity="median slowdown of mice, BFC with end-to-end control ÷ Ideal-FQ, worst "
                "case",
                measured=100 * _farthest(by_count),
                published=similar(100, _WHERE, text="close to Ideal-FQ in all cases"),
                unit="%",
            ),
        ),
    )


def _farthest(by_count: pd.DataFrame) -> float:
    """Return the ratio farthest from 1, over both kinds of mice and all long flows."""
    ratios = (by_count.loc[_BFC_CC.name] / by_count.loc[_IDEAL.name]).to_numpy().ravel()
    finite = ratios[~np.isnan(ratios)]
    return float(finite[np.argmax(np.abs(finite - 1))]) if len(finite) else np.nan


STUDY = SimulationStudy(
    info=info("bfc-3.14"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
