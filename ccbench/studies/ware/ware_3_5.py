# SPDX-License-Identifier: Apache-2.0
"""One BBR flow against sixteen CUBIC flows over time (Ware 2024, Figure 3.5).

Choices left open by the thesis: it states neither the duration of the run nor the part of it that
its share refers to. Here the share is that of the last third of 20 minutes. Throughput is measured
after the queue: a receiver delivers data in order only, so that every loss would be a dip in
goodput. A dip begins where BBR falls below half of its mean, and its depth is its lowest half
second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import percentage, quantity, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import BANDWIDTH_MBPS, COLOURS, SEEDS, competition

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: Interval short enough that one lies entirely within a ProbeRTT.
_INTERVAL_S = 0.5
#: Threshold of a dip as a share of BBR's mean throughput.
_LOW = 0.5
#: Minimum time between the starts of two dips in seconds.
_APART_S = 5.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (90.0, SEEDS[:1]) if quick else (1200.0, SEEDS)
    return tuple(
        competition({"bbr": 1, "cubic": 16}, queue_bdp=32, duration_s=duration_s, seed=seed)
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    throughput = run.throughput(_INTERVAL_S)
    return [
        {"seed": run.scenario.seed, "time_s": time_s, "bbr_mbps": bbr, "cubic_mbps": cubic}
        for time_s, bbr, cubic in zip(
            throughput.index, throughput[0], throughput.drop(columns=0).sum(axis=1), strict=True
        )
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    late = table[table["time_s"] > 2 / 3 * table["time_s"].max()]
    means = late.groupby("seed")[["bbr_mbps", "cubic_mbps"]].mean()
    dips = pd.DataFrame([_dips(run) for _, run in late.groupby("seed")])
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="share of the sixteen CUBIC flows",
                measured=Estimate(100 * means["cubic_mbps"] / means.sum(axis=1)),
                published=percentage(50, "section 3.3", text="just over half"),
                unit="%",
            ),
            Comparison(
                quantity="time between two dips of BBR, median",
                measured=Estimate(dips["apart_s"]),
                published=quantity(10, "section 3.4", text="ten-second intervals"),
                unit="s",
            ),
            Comparison(
                quantity="BBR's throughput in a dip ÷ its mean, median",
                measured=Estimate(100 * dips["depth"]),
                published=similar(0, "section 3.4", text="almost zero"),
                unit="%",
            ),
        ),
    )


def _dips(run: pd.DataFrame) -> dict[str, float]:
    """Return the median time between dips, and their median depth relative to the mean."""
    part = (run["bbr_mbps"] / run["bbr_mbps"].mean()).to_numpy()
    time_s = run["time_s"].to_numpy()
    low = np.flatnonzero(part <= _LOW)
    first = np.flatnonzero(np.diff(time_s[low], prepend=-np.inf) > _APART_S)
    depths = [part[indices].min() for indices in np.split(low, first[1:]) if len(indices)]
    apart_s = np.diff(time_s[low[first]])
    return {
        "apart_s": float(np.median(apart_s)) if len(apart_s) else np.nan,
        "depth": float(np.median(depths)) if depths else np.nan,
    }


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 6), layout="constrained")
    whole, detail = figure.subplots(2, 1)
    run = table[table["seed"] == table["seed"].min()].set_index("time_s")
    slow = run.groupby(np.ceil(run.index / 10) * 10).mean()
    for axes, data in ((whole, slow), (detail, run[run.index > run.index[-1] - 60])):
        axes.plot(data.index, data["bbr_mbps"], color=COLOURS["bbr"], label="1 bbr")
        axes.plot(data.index, data["cubic_mbps"], color=COLOURS["cubic"], label="16 cubic (sum)")
        axes.set_ylim(0, 1.05 * BANDWIDTH_MBPS)
        axes.set_ylabel("throughput (Mbit/s)")
        axes.grid(alpha=0.3)
    whole.set_title("means of 10 s", fontsize="medium")
    detail.set_title(f"the last minute, means of {_INTERVAL_S} s", fontsize="medium")
    detail.set_xlabel("time (s)")
    whole.legend()
    return figure


STUDY = Study(
    info=info("ware-3.5"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
