# SPDX-License-Identifier: Apache-2.0
"""BBR against CUBIC and against Reno over queue lengths (Ware 2024, Figure 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import (
    BANDWIDTH_MBPS,
    COLOURS,
    SEEDS,
    competition,
    is_bbr,
    queue_axis,
    queue_packets,
    rank_correlation,
)

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_OTHERS = ("cubic", "reno")
_WHERE = "section 3.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (60.0, SEEDS[:1]) if quick else (240.0, SEEDS[:5])
    queues_bdp = (1, 8, 64) if quick else (1, 2, 4, 8, 16, 32, 64)
    return tuple(
        competition({"bbr": 1, other: 1}, queue_bdp=queue_bdp, duration_s=duration_s, seed=seed)
        for other in _OTHERS
        for queue_bdp in queues_bdp
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    goodput, is_bbr_flow = run.summary()["goodput_mbps"], is_bbr(run)
    bbr_mbps, other_mbps = goodput[is_bbr_flow].sum(), goodput[~is_bbr_flow].sum()
    return [
        {
            "other": run.scenario.flows[1].cca,
            "queue_packets": run.scenario.path.bottlenecks[0].queue_packets,
            "seed": run.scenario.seed,
            "bbr_mbps": bbr_mbps,
            "other_mbps": other_mbps,
            "bbr_percent": 100 * bbr_mbps / (bbr_mbps + other_mbps),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    against = {
        other: rows.pivot_table("bbr_percent", index="queue_packets", columns="seed")
        for other, rows in table.groupby("other")
    }
    cubic, reno = against["cubic"], against["reno"]
    longest = cubic.index[-1]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="BBR's share against Reno, median of the queues up to 32 BDP",
                measured=Estimate(reno[reno.index <= queue_packets(32)].median()),
                published=percentage(40, _WHERE, text="around 40"),
                unit="%",
            ),
            Comparison(
                quantity="order of BBR's share against CUBIC by queue length (rank correlation)",
                measured=Estimate(cubic.apply(rank_correlation)),
                published=at_most(0, _WHERE, text="correlated; generous in long queues"),
            ),
            Comparison(
                quantity="BBR's share against CUBIC, longest queue",
                measured=Estimate(cubic.loc[longest]),
                published=at_most(50, _WHERE, text="generous"),
                unit="%",
            ),
            Comparison(
                quantity="BBR's share against CUBIC minus that against Reno, longest queue",
                measured=Estimate(cubic.loc[longest] - reno.loc[longest]),
                published=at_most(0, _WHERE, text="generous especially to CUBIC"),
                unit="points",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(_OTHERS), sharey=True)
    for axes, other in zip(panels, _OTHERS, strict=True):
        runs = table[table["other"] == other].groupby("queue_packets")
        for column, cca in (("bbr_mbps", "bbr"), ("other_mbps", other)):
            mean = runs[column].mean()
            spread = (mean - runs[column].min(), runs[column].max() - mean)
            axes.errorbar(
                mean.index, mean, yerr=spread, marker="o", capsize=3, color=COLOURS[cca], label=cca
            )
        queue_axis(axes, table["queue_packets"])
        axes.set_title(f"1 bbr against 1 {other}", fontsize="medium")
        axes.set_ylim(0, BANDWIDTH_MBPS)
        axes.legend()
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("mean goodput (Mbit/s)")
    return figure


STUDY = Study(
    info=info("ware-3.2"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
