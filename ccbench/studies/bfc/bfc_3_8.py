# SPDX-License-Identifier: Apache-2.0
"""The spread of congestion for each queue assignment (Goyal 2022, Figure 3-8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.datacenter.case import SimulationCase
from ccbench.datacenter.workload import Workload
from ccbench.studies.bfc.testbed import BFC, NETWORK, RECEIVERS, SENDERS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

_BYTES = 1_500_000
_FIRST_GROUP, _THIRD_GROUP = 2, 8
#: Numbers of flows in the second group.
_FLOWS = (4, 8, 12, 16, 20)
#: Maximum number of flows in the second group with enough queues between the first two switches.
_FEW = BFC.queues - 1 - _FIRST_GROUP
_SCHEMES = {
    "single": replace(BFC, name="single", assignment="single", queues=2),
    "stochastic": replace(BFC, name="stochastic", assignment="stochastic"),
    "dynamic": replace(BFC, name="dynamic"),
}
_RUNS = 4
_WHERE = "section 3.6.1"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    return tuple(
        SimulationCase(
            name=f"{count} flows",
            topology=NETWORK,
            workload=Workload(
                load=0,
                transfers=(
                    *((SENDERS[0], RECEIVERS[0], _BYTES),) * _FIRST_GROUP,
                    *((SENDERS[1], RECEIVERS[1], _BYTES),) * count,
                    *((SENDERS[2], RECEIVERS[1], _BYTES),) * _THIRD_GROUP,
                ),
            ),
            scheme=chosen,
            duration_s=1e-4,
            seed=seed,
            drain_s=2e-2,
        )
        for count in (_FLOWS[:1] if quick else _FLOWS)
        for chosen in _SCHEMES.values()
        for seed in ((1,) if quick else range(1, _RUNS + 1))
    )


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    first = result.flows[result.flows["source"] == SENDERS[0]]
    return [
        {
            "assignment": case.scheme.name,
            "flows": len(result.flows) - _FIRST_GROUP - _THIRD_GROUP,
            "seed": case.seed,
            "fct_us": 1e6 * float(fct_s),
        }
        for fct_s in first["fct_s"]
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    of_each = table.groupby(["assignment", "flows"])["fct_us"]
    mean, spread = of_each.mean(), of_each.std(ddof=0)
    figure = Figure(figsize=(5.5, 3.2), layout="constrained")
    axes = figure.subplots()
    for name in _SCHEMES:
        axes.errorbar(
            mean[name].index, mean[name], yerr=spread[name], marker="o", capsize=3, label=name
        )
    axes.set(xlabel="flows of group 2", ylabel="FCT of group 1 (μs)")
    axes.legend()
    relative = 100 * spread / mean
    few = relative["dynamic"].index <= _FEW
    steady, crowded = relative["dynamic"][few], relative["dynamic"][~few]
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="FCT of group 1, single queue ÷ stochastic assignment, all numbers of "
                "flows",
                measured=float((mean["single"] / mean["stochastic"]).mean()),
                published=at_least(1, _WHERE, text="the worst; stochastic is substantially lower"),
            ),
            Comparison(
                quantity="FCT of group 1, stochastic ÷ dynamic assignment, all numbers of flows",
                measured=float((mean["stochastic"] / mean["dynamic"]).mean()),
                published=at_least(1, _WHERE, text="dynamic has the lowest"),
            ),
            Comparison(
                quantity="deviation of the FCT ÷ its mean, dynamic, fewer flows than queues",
                measured=float(steady.max()),
                published=similar(0, _WHERE, text="close to 0"),
                unit="%",
            ),
            Comparison(
                quantity="deviation of the FCT ÷ its mean, dynamic, more flows than queues minus "
                "fewer",
                measured=float(crowded.max() - steady.max()),
                published=at_least(0, _WHERE, text="increases"),
                unit="points",
            ),
            Comparison(
                quantity="deviation of the FCT ÷ its mean, stochastic, fewer flows than queues",
                measured=float(relative["stochastic"][few].max()),
                published=unbounded("high", _WHERE),
                unit="%",
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.8"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
