# SPDX-License-Identifier: Apache-2.0
"""Convergence of BBR against CUBIC, and the effect of the measurement interval (Ware, Figure 3.4).

A choice left open by the thesis: it determined convergence by inspection of traces (section 5.2).
Two times are measured here. `converged_s` is that of its own later detector (Algorithm 1,
:func:`ccbench.convergence.converged_at`), which looks for stable swings, not for a stable share: in
short queues, where BBR has its share from the beginning, it returns times of minutes, which vary
with the seed. `settled_s` is the middle of the first 30 s in which BBR's mean is within 10 % of
that of the last quarter of the run; it is missing if there is no such period before that quarter.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.convergence import converged_at
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import (
    BANDWIDTH_MBPS,
    SEEDS,
    competition,
    queue_axis,
    queue_packets,
)

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_INTERVALS_S = (30, 60, 120, 240, 480, 960, 1920)
_SETTLED_WINDOW_S = 30
_SETTLED_WITHIN = 0.1
_WHERE = "section 3.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (240.0, SEEDS[:1]) if quick else (2400.0, SEEDS)
    queues_bdp = (4, 16, 64) if quick else (1, 2, 4, 8, 16, 32, 64)
    return tuple(
        competition({"bbr": 1, "cubic": 1}, queue_bdp=queue_bdp, duration_s=duration_s, seed=seed)
        for queue_bdp in queues_bdp
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    detected_s = converged_at(run.throughput(1.0))
    goodput = run.goodput(1.0)
    last = goodput.iloc[3 * len(goodput) // 4 :].mean()
    intervals_s = [time_s for time_s in _INTERVALS_S if time_s <= run.scenario.duration_s]
    means = {time_s: goodput.loc[:time_s].mean() for time_s in intervals_s}
    return [
        {
            "queue_packets": run.scenario.path.bottlenecks[0].queue_packets,
            "seed": run.scenario.seed,
            "converged_s": math.nan if detected_s is None else detected_s,
            "settled_s": _settled_s(goodput[0]),
            "last_bbr_percent": 100 * last[0] / last.sum(),
            "interval_s": time_s,
            "bbr_mbps": mean[0],
            "cubic_mbps": mean[1],
        }
        for time_s, mean in means.items()
    ]


def _settled_s(goodput: pd.Series[float]) -> float:
    """Return when the mean first approaches that of the last quarter; NaN if never before it."""
    last_quarter = 3 * len(goodput) // 4
    level = goodput.iloc[last_quarter:].mean()
    means = goodput.rolling(_SETTLED_WINDOW_S).mean().iloc[:last_quarter]
    near = means.index[(means - level).abs() <= _SETTLED_WITHIN * level]
    return float(near[0]) - _SETTLED_WINDOW_S / 2 if len(near) else math.nan


def _conclude(table: pd.DataFrame) -> Findings:
    runs = table.groupby(["queue_packets", "seed"]).first()
    share = table.pivot_table("last_bbr_percent", index="queue_packets", columns="seed")
    longest = share.index[-1]
    last = table[table["queue_packets"] == longest]
    means = last.pivot_table("bbr_mbps", index="interval_s", columns="seed")
    return Findings(
        table=table,
        figure=_figure(
            runs.reset_index(),
            table.pivot_table("bbr_mbps", index="queue_packets", columns="interval_s"),
        ),
        comparisons=(
            Comparison(
                quantity="time until BBR has settled, longest queue",
                measured=Estimate(runs.loc[longest, "settled_s"] / 60),
                published=at_least(1, _WHERE, text="on the order of minutes"),
                unit="min",
            ),
            Comparison(
                quantity="BBR's goodput over the longest interval ÷ that over 30 s, longest queue",
                measured=Estimate(means.iloc[-1] / means.loc[30]),
                published=at_least(
                    1, _WHERE, text="depends on the interval, as BBR takes longer to scale up"
                ),
            ),
            Comparison(
                quantity="BBR's share once it has settled, median of the queues up to 32 BDP",
                measured=Estimate(share[share.index <= queue_packets(32)].median()),
                published=percentage(40, _WHERE, text="around 40"),
                unit="%",
                note="Of the last quarter of the run.",
            ),
        ),
    )


def _figure(runs: pd.DataFrame, goodput: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    times, means = figure.subplots(1, 2)
    for column, style, label in (
        ("settled_s", "o-", "within 10 % of its last level"),
        ("converged_s", "s:", "Algorithm 1"),
    ):
        median_s = runs.groupby("queue_packets")[column].median()
        times.plot(median_s.index, median_s, style, label=label)
        times.scatter(runs["queue_packets"], runs[column], s=8, color="0.6")
    queue_axis(times, runs["queue_packets"])
    times.set_ylabel("convergence time (s)")
    times.set_ylim(bottom=0)
    for packets, row in goodput.iterrows():
        means.plot(row.index, row, marker="o", markersize=4, label=f"{packets} packets")
    means.set_xscale("log", base=2)
    means.set_xticks(goodput.columns, [str(interval_s) for interval_s in goodput.columns])
    means.set_xlabel("measurement interval (s)")
    means.set_ylabel("BBR's mean goodput (Mbit/s)")
    means.set_ylim(0, BANDWIDTH_MBPS)
    times.legend(fontsize="small")
    means.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    for axes in (times, means):
        axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-3.4"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
