# SPDX-License-Identifier: Apache-2.0
"""Wide but stable swings, and flows that do not settle (Ware 2024, Figures 5.5 and 5.6).

One CUBIC flow and one BBR flow swing by half of the link throughout their run. Rules that wait for
a fixed point should not consider them converged, and Algorithm 1 should. Eight CUBIC flows at a
short queue are the thesis's example of the opposite.

Choices left open by the thesis: a flow's distance from the mean of all later values is defined for
every second, and the flows "hover around" some of them. Here it is the median over the seconds up
to 120, which have at least a minute of later values. The thesis shows one run of each; here there
are ten, with typical noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.convergence import Convergence
from ccbench.convergence.rivals import (
    distance_from_later_mean,
    near_fair_share,
    near_fixed_point,
)
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, exactly, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import COLOURS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_SWINGING, _UNSETTLED = "Figure 5.5", "Figure 5.6"
_LAST_S = 120.0
_WHERE = "section 5.3.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (90.0, (1,)) if quick else (180.0, tuple(range(1, 11)))
    swinging = (
        Scenario(
            flows=(Flow(cca="cubic"), Flow(cca="bbr")),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=100, queue_packets=256),),
                rtt_ms=10,
                noise=typical(rtt_ms=10),
            ),
            duration_s=duration_s,
            seed=seed,
            queue_log=False,
            name=f"{_SWINGING}: 1 cubic, 1 bbr, seed {seed}",
        )
        for seed in seeds
    )
    unsettled = (
        Scenario(
            flows=(Flow(cca="cubic", count=8),),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=50, queue_packets=32),),
                rtt_ms=20,
                noise=typical(rtt_ms=20),
            ),
            duration_s=duration_s,
            seed=seed,
            queue_log=False,
            name=f"{_UNSETTLED}: 8 cubic, seed {seed}",
        )
        for seed in seeds
    )
    return (*swinging, *unsettled)


def _measure(run: Run) -> Rows:
    throughput = run.throughput(interval_s=1.0)
    distance = distance_from_later_mean(throughput)
    converged_s = Convergence.of(throughput).times_s
    fixed_s, fair_s = near_fixed_point(throughput, alpha=0.9), near_fair_share(throughput)
    table = run.scenario.flow_table()
    return [
        {
            "figure": _SWINGING if len(table) == 2 else _UNSETTLED,  # noqa: PLR2004 - of two flows
            "seed": run.scenario.seed,
            "flow": flow,
            "cca": table["cca"][flow],
            "time_s": time_s,
            "throughput_mbps": throughput[flow][time_s],
            "distance_percent": 100 * distance[flow].get(time_s, float("nan")),
            "converged_s": converged_s[flow],
            "alpha_converged_s": fixed_s[flow],
            "vivace_converged_s": fair_s[flow],
        }
        for flow in throughput.columns
        for time_s in throughput.index
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    swinging = table[table["figure"] == _SWINGING]
    early = swinging[swinging["time_s"] <= _LAST_S]
    distance = early.pivot_table("distance_percent", "seed", "cca", aggfunc="median")
    flows = table.groupby(["figure", "seed", "flow"]).first()
    times = ["converged_s", "alpha_converged_s", "vivace_converged_s"]
    converged = flows[times].notna().groupby(["figure", "seed"]).sum()
    two, eight = converged.loc[_SWINGING], converged.loc[_UNSETTLED]
    return Findings(
        table=table,
        figure=_figure(swinging[swinging["seed"] == swinging["seed"].min()]),
        comparisons=(
            Comparison(
                quantity="BBR's deviation from its later mean, median",
                measured=Estimate(distance["bbr"]),
                published=percentage(40, _WHERE, text="around 40"),
                unit="%",
            ),
            Comparison(
                quantity="CUBIC's deviation from its later mean, median",
                measured=Estimate(distance["cubic"]),
                published=percentage(60, _WHERE, text="around 60"),
                unit="%",
            ),
            Comparison(
                quantity="flows, of two, that have converged by Axiomatizing's rule, alpha 0.9",
                measured=Estimate(two["alpha_converged_s"]),
                published=exactly(0, _WHERE, text="none: it breaks down"),
            ),
            Comparison(
                quantity="flows, of two, that have converged by PCC Vivace's rule",
                measured=Estimate(two["vivace_converged_s"]),
                published=exactly(0, _WHERE, text="none: it breaks down"),
            ),
            Comparison(
                quantity="flows, of two, that have converged by Algorithm 1",
                measured=Estimate(two["converged_s"]),
                published=exactly(2, _WHERE, text="both: consistent swings have converged"),
            ),
            Comparison(
                quantity="Figure 5.6: flows, of 8 cubic, that have not converged by Algorithm 1",
                measured=Estimate(8 - eight["converged_s"]),
                published=at_least(1, "caption of Figure 5.6", text="no convergence"),
                note="One flow suffices for an experiment not to converge.",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    for cca, flow in table.groupby("cca"):
        panels[0].plot(flow["time_s"], flow["throughput_mbps"], color=COLOURS[str(cca)], label=cca)
        early = flow[flow["time_s"] <= _LAST_S]
        panels[1].plot(early["time_s"], early["distance_percent"], color=COLOURS[str(cca)])
    panels[0].set_ylabel("throughput (Mbit/s)")
    panels[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    panels[1].set_ylabel("deviation from its later mean (%)")
    for axes in panels:
        axes.set_xlabel("time (s)")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-5.5"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
