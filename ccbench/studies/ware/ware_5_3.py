# SPDX-License-Identifier: Apache-2.0
"""BBR against CUBIC, 100 Mbit/s, 100 ms, over queue lengths (Ware 2024, Figures 5.3 and 5.4).

Both measures cover whole runs: the thesis explains an index by the first 150 s of its run, and only
discusses convergence after this example.

A choice left open by the thesis: it names queues of 2048 and 4096 packets only; here they are the
powers of two from 64 to 4096. It also has BBRv3, which Linux lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.base.estimate import Estimate
from ccbench.harm import long_flows
from ccbench.studies.catalogue import info
from ccbench.studies.published import fraction, unbounded
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.harm import harms, measure, scenarios_of
from ccbench.studies.ware.testbed import COLOURS, SEEDS, queue_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.experiment.scenario import Scenario

#: The queue of Figure 5.4.
_LONG_QUEUE = 4096


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return scenarios_of(
        long_flows(
            alpha="bbr",
            beta="cubic",
            bandwidth_mbps=100,
            rtt_ms=100,
            queue_packets=packets,
            duration_s=40 if quick else 300,
            seed=seed,
        )
        for packets in ((256, 4096) if quick else (64, 128, 256, 512, 1024, 2048, 4096))
        for seed in (SEEDS[:1] if quick else SEEDS)
    )


def _conclude(table: pd.DataFrame) -> Findings:
    pairs = harms(table, whole=True)
    long = pairs[pairs["queue_packets"] == _LONG_QUEUE]
    settled = harms(table[table["queue_packets"] == _LONG_QUEUE])
    return Findings(
        table=pairs,
        figure=_figure(pairs, table),
        comparisons=(
            Comparison(
                quantity=f"Jain's index, {_LONG_QUEUE} packets",
                measured=Estimate(long["jain"]),
                published=fraction(0.988, "caption of Figure 5.4"),
            ),
            Comparison(
                quantity=f"relative harm, {_LONG_QUEUE} packets",
                measured=Estimate(long["relative_harm"]),
                published=fraction(-0.060, "caption of Figure 5.4", text="-0.060"),
            ),
            Comparison(
                quantity="the same, from convergence on",
                measured=Estimate(settled["relative_harm"]),
                published=unbounded("variant", "caption of Figure 5.4"),
            ),
        ),
    )


def _figure(pairs: pd.DataFrame, table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplot_mosaic([["jain", "relative_harm"], ["long", "long"]])
    for column, label in (("jain", "Jain's index"), ("relative_harm", "relative harm")):
        axes = panels[column]
        means = pairs.groupby("queue_packets")[column].mean()
        axes.plot(pairs["queue_packets"], pairs[column], "o", color="0.6", ms=4)
        axes.plot(means.index, means, color="tab:purple")
        queue_axis(axes, pairs["queue_packets"])
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    _draw_long_queue(panels["long"], table)
    return figure


def _draw_long_queue(axes: Axes, table: pd.DataFrame) -> None:
    """Draw throughput over time as in Figure 5.4."""
    run = table[
        (table["queue_packets"] == _LONG_QUEUE) & (table["alpha_flows"] == 1) & (table["seed"] == 1)
    ]
    for is_beta, rows in run.groupby("is_beta"):
        cca = "cubic" if is_beta else "bbr"
        axes.plot(rows["time_s"], rows["mbps"], color=COLOURS[cca], label=cca, linewidth=1)
    axes.set_title(f"{_LONG_QUEUE} packets", fontsize="medium")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_xlim(0, np.nanmax(run["time_s"]))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


STUDY = Study(
    info=info("ware-5.3"),
    scenarios=_scenarios,
    measure=measure,
    conclude=_conclude,
)
