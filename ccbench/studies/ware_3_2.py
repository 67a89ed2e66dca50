# SPDX-License-Identifier: Apache-2.0
"""BBR against CUBIC and against Reno over queue lengths (Ware 2024, Figure 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware_testbed import (
    BANDWIDTH_MBPS,
    COLOURS,
    competition,
    is_bbr,
    queue_axis,
    queue_packets,
    rank_correlation,
)

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_OTHERS = ("cubic", "reno")

_SHORT_QUEUES_NOTE = (
    "In queues of 1 and 2 BDP the path holds hardly more than BBR's cap of 2 BDP in flight, so "
    "that the cap does not bind and BBR takes most of the link, as (3.9) says. From 4 BDP on our "
    "shares are between 47 and 37 %."
)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (60.0, (1,)) if quick else (240.0, (1, 2, 3, 4, 5))
    queues_bdp = (1, 8, 64) if quick else (1, 2, 4, 8, 16, 32, 64)
    return tuple(
        competition({"bbr": 1, other: 1}, queue_bdp=queue_bdp, duration_s=duration_s, seed=seed)
        for other in _OTHERS
        for queue_bdp in queues_bdp
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    goodput, mine = run.summary()["goodput_mbps"], is_bbr(run)
    bbr_mbps, other_mbps = goodput[mine].sum(), goodput[~mine].sum()
    return [
        {
            "other": run.scenario.flows[1].cca,
            "queue_packets": run.scenario.bottlenecks[0].queue_packets,
            "seed": run.scenario.seed,
            "bbr_mbps": bbr_mbps,
            "other_mbps": other_mbps,
            "bbr_percent": 100 * bbr_mbps / (bbr_mbps + other_mbps),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    share = table.pivot_table("bbr_percent", index="queue_packets", columns="other")
    longest = share.index[-1]
    up_to_32_bdp = share[share.index <= queue_packets(32)]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                what="BBR's share against Reno, longest queue up to 32 BDP",
                ours=float(up_to_32_bdp["reno"].iloc[-1]),
                published="about 40",
                accepted=(35, 45),
                unit="%",
            ),
            Comparison(
                what="BBR's share against Reno, median of the queues up to 32 BDP",
                ours=float(up_to_32_bdp["reno"].median()),
                published="about 40",
                accepted=(35, 45),
                unit="%",
                note=_SHORT_QUEUES_NOTE,
            ),
            Comparison(
                what="order of BBR's share against CUBIC by queue length (rank correlation)",
                ours=rank_correlation(share["cubic"]),
                published="falls",
                accepted=(-1, -0.9),
            ),
            Comparison(
                what="BBR's share against CUBIC, longest queue",
                ours=float(share["cubic"][longest]),
                published="generous",
                accepted=(0, 50),
                unit="%",
                note="'Generous' is read as less than half of the link.",
            ),
            Comparison(
                what="the same, less its share against Reno",
                ours=float(share["cubic"][longest] - share["reno"][longest]),
                published="below 0",
                accepted=(-100, 0),
                unit="%",
                note="The thesis calls BBR generous 'especially to Cubic'.",
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
    about=about("ware-3.2"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
