# SPDX-License-Identifier: Apache-2.0
"""Accuracy by buffer, round-trip time and queue management (Goyal et al. 2022, appendix D.1).

Buffers of 0.25 to 4 BDP at 25, 50 and 75 ms; PIE with targets of 0.25 and 1 BDP at 50 ms. The
paper's two exceptions are buffers that hold no more than NimbusCC's target delay, and PIE with an
equally small target. A choice left open by the paper: PIE's queue holds 4 BDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, worst_case
from ccbench.studies.nimbus.measures import judged
from ccbench.studies.nimbus.testbed import CATEGORIES, RTT_MS, cross_traffic, seeds, shared
from ccbench.studies.published import at_least, at_most
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_BUFFERS_BDP = (0.25, 0.5, 1.0, 2.0, 4.0)
_RTTS_MS = (25.0, 50.0, 75.0)
_TARGETS_BDP = (0.25, 1.0)
#: BasicDelay's d_t. A shallow buffer holds what the link sends in this time, for example 0.25 BDP
#: at 50 ms.
_SHALLOW_MS = 12.5
_TEXT = "appendix D.1"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 16.0 if quick else 120.0
    scenarios = []
    for category in CATEGORIES:
        for seed in seeds(quick=quick):
            scenarios += [
                shared(
                    Flow(cca="nimbus"),
                    # All flows have the sender's RTT.
                    *cross_traffic(category),
                    rtt_ms=rtt_ms,
                    queue_bdp=buffer,
                    duration_s=duration_s,
                    seed=seed,
                    name=f"nimbus, {category} traffic, {rtt_ms:g} ms, {buffer:g} BDP",
                )
                for rtt_ms in (_RTTS_MS[1:2] if quick else _RTTS_MS)
                for buffer in ((0.25, 2.0) if quick else _BUFFERS_BDP)
            ]
            scenarios += [
                shared(
                    Flow(cca="nimbus"),
                    *cross_traffic(category),
                    queue_bdp=max(_BUFFERS_BDP),
                    qdisc="pie",
                    qdisc_options=(("target_ms", target * RTT_MS),),
                    duration_s=duration_s,
                    seed=seed,
                    name=f"nimbus, {category} traffic, PIE with {target:g} BDP",
                )
                for target in _TARGETS_BDP
            ]
    return tuple(scenarios)


def _measure(run: Run) -> Rows:
    link = run.scenario.path.bottlenecks[0]
    assert link.queue_packets is not None
    target_ms = dict(link.qdisc_options).get("target_ms")
    return [
        {
            "queue": link.qdisc,
            "rtt_ms": run.scenario.path.rtt_ms,
            "buffer_bdp": round(link.queue_packets / run.scenario.path.bdp_packets(), 2)
            if target_ms is None
            else float(target_ms) / RTT_MS,
            **judged(run),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    shallow = table["buffer_bdp"] * table["rtt_ms"] <= _SHALLOW_MS
    by = ["queue", "rtt_ms", "buffer_bdp"]
    comparisons = []
    for cross in CATEGORIES:
        is_mix = cross == "mix"
        rows = table[(table["cross"] == cross) & (is_mix | ~shallow)]
        cases, published = (
            ("all queues", at_least(85, _TEXT, text="always 85 or more"))
            if is_mix
            else ("all deeper queues", at_least(98, _TEXT, text="98 or more in all cases but two"))
        )
        worst = worst_case(rows, by)
        queue, rtt_ms, bdp = str(worst.name).split()
        at = f"{queue}, RTT of {rtt_ms} ms, {bdp} BDP"
        description = f"accuracy, {cross}, lowest of {cases} ({at})"
        comparisons.append(compared(description, worst, published))
    for queue, words in (("droptail", "a buffer"), ("pie", "PIE with a target")):
        rows = table[(table["queue"] == queue) & shallow & (table["rtt_ms"] == RTT_MS)]
        inelastic = rows[rows["cross"] == "inelastic"].set_index("seed")
        comparisons.append(
            compared(
                f"accuracy, inelastic, {words} of 0.25 BDP",
                inelastic["accuracy_percent"],
                at_most(50, _TEXT, text="all traffic is classified as elastic"),
            )
        )
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    label = table["queue"] + table["buffer_bdp"].map(" {:g} BDP, ".format)
    label += table["rtt_ms"].map("{:g} ms".format)
    mean = table.assign(case=label).pivot_table("accuracy_percent", "case", "cross", sort=False)
    mean.plot.bar(ax=axes)
    axes.set_xlabel("")
    axes.set_ylabel("accuracy (%)")
    axes.legend(fontsize="small", title=None)
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = Study(
    info=info("nimbus-d1"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
