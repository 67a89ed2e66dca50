# SPDX-License-Identifier: Apache-2.0
"""One BBR flow against sixteen CUBIC flows over time (Ware 2024, Figure 3.5).

Where the thesis leaves room: it does not say how long it ran, or which part of the run its share
is of. Here the share is that of the last third of 20 minutes. What is measured is the throughput
behind the queue: a receiver hands data on in order only, so that every loss, too, would be a dip of
the goodput.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware_testbed import BANDWIDTH_MBPS, COLOURS, competition

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

#: Short enough that one of them lies whole within a ProbeRTT.
_INTERVAL_S = 0.5
#: Below this part of its mean throughput BBR counts as silent.
_SILENT = 0.05
#: How long BBR takes to scale up against one CUBIC flow in this queue.
_FIRST_MINUTES_S = 240
#: Silences that begin closer than this belong to one ProbeRTT.
_APART_S = 5.0

_DIP_NOTE = (
    "Linux counts the 10 s from the end of a ProbeRTT, and one takes about 2 s in this queue: up "
    "to 1.2 s to drain, then a round trip through what CUBIC keeps queued. 'Every ten seconds' "
    "leaves it out."
)

_REST_NOTE = (
    "The model (3.10) has 56 % for them. It has BBR at its in-flight cap whenever it is not in "
    "ProbeRTT. Here it has 83 % of its cap in flight, being paced at its estimate of the rate, and "
    "half of its cap in the 2 s after a ProbeRTT, as it takes more than a round trip to be back."
)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (90.0, (1,)) if quick else (1200.0, (1, 2, 3))
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
    share = float((100 * means["bbr_mbps"] / means.sum(axis=1)).mean())
    dips = [_dips(run) for _, run in late.groupby("seed")]
    gaps_s = np.concatenate([np.diff(times_s) for times_s, _ in dips])
    depths = np.concatenate([depth for _, depth in dips])
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                what="BBR's share",
                ours=share,
                published="35 to 40",
                accepted=(30, 45),
                unit="%",
                note=_share_note(table),
            ),
            Comparison(
                what="what is left for the sixteen CUBIC flows",
                ours=100 - share,
                published="just over half",
                accepted=(50, 60),
                unit="%",
                note=_REST_NOTE,
            ),
            Comparison(
                what="time between two dips of BBR, median",
                ours=float(np.median(gaps_s)),
                published="10",
                accepted=(9.5, 10.5),
                unit="s",
                note=_DIP_NOTE,
            ),
            Comparison(
                what="BBR's throughput in a dip by its mean, median",
                ours=100 * float(np.median(depths)),
                published="almost 0",
                accepted=(0, 5),
                unit="%",
            ),
        ),
    )


def _dips(run: pd.DataFrame) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return when BBR's dips begin in s, and its least throughput in each as a part of its mean."""
    part = (run["bbr_mbps"] / run["bbr_mbps"].mean()).to_numpy()
    time_s = run["time_s"].to_numpy()
    silent = np.flatnonzero(part <= _SILENT)
    first = np.flatnonzero(np.diff(time_s[silent], prepend=-np.inf) > _APART_S)
    least = [part[indices].min() for indices in np.split(silent, first[1:]) if len(indices)]
    return time_s[silent[first]], np.array(least)


def _share_note(table: pd.DataFrame) -> str:
    first = table[table["time_s"] <= _FIRST_MINUTES_S]
    share = 100 * first["bbr_mbps"].sum() / first[["bbr_mbps", "cubic_mbps"]].sum().sum()
    return (
        f"Over the first 4 minutes the share is {share:.0f} %: BBR scales up slowly where a round "
        "trip takes a second, and more slowly against sixteen flows than against one."
    )


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
    about=about("ware-3.5"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
