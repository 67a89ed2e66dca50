# SPDX-License-Identifier: Apache-2.0
"""An ABC flow beside 200 whose applications send little (Goyal et al. 2020, Figure 20).

The 200 offer 1 Mbit/s together: each a packet every 2.3 s, in turn. "A cellular link" is Figure 1's
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.base.estimate import Estimate
from ccbench.experiment.scenario import MSS_BYTES, Flow
from ccbench.run import packets
from ccbench.studies.abc.links import ABC, CELLULAR_S, cellular, course, measured
from ccbench.studies.catalogue import info
from ccbench.studies.published import unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_OTHERS = 200
_OFFERED_MBPS = 1.0
_SEEDS = (1, 2, 3)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 14.0 if quick else CELLULAR_S
    each_mbps = _OFFERED_MBPS / _OTHERS
    between_s = 8e-6 * MSS_BYTES / _OFFERED_MBPS
    others = tuple(
        Flow(cca=ABC.cca, kind="rate", rate_mbps=each_mbps, start_s=i * between_s)
        for i in range(_OTHERS)
    )
    return (
        cellular(ABC, CELLULAR_LINKS[0], duration_s=duration_s),
        *(
            cellular(ABC, CELLULAR_LINKS[0], others=others, duration_s=duration_s, seed=seed)
            for seed in (_SEEDS[:1] if quick else _SEEDS)
        ),
    )


def _measure(run: Run) -> Rows:
    now = course(run)
    flows = [column for column in now if isinstance(column, int)]
    now = now[["capacity_mbps", "delay_ms"]].assign(mbps=now[flows].sum(axis=1))
    came = packets.delivered(run)
    own_ms = came.loc[came["flow"] == 0, "queueing_ms"].quantile(0.95)
    return [
        {
            "others": len(flows) - 1,
            "seed": run.scenario.seed,
            **measured(run),
            "backlogged_p95_ms": own_ms,
            "course": now,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    firsts = table.groupby("others").first()
    figure = Figure(figsize=(8, 4), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    for i, (others, now) in enumerate(firsts["course"].items()):
        if i == 0:
            top.fill_between(now.index, now["capacity_mbps"], step="pre", color="0.88")
        top.plot(now.index, now["mbps"], label=f"{others} others", linewidth=1)
        bottom.plot(now.index, now["delay_ms"], linewidth=1)
    top.set_ylabel("Mbit/s, all flows")
    top.legend(fontsize="small")
    bottom.set_ylabel("delay (ms)")
    bottom.set_xlabel("time (s)")
    beside = table[table["others"] == _OTHERS]
    where = "caption of Figure 20"
    return Findings(
        table=table.drop(columns="course"),
        figure=figure,
        comparisons=tuple(
            Comparison(
                what=what,
                ours=Estimate(beside[column]),
                published=unbounded(text, where),
                unit=unit,
                note=f"the flow alone: {firsts[column][0]:.3g}",
            )
            for what, column, text, unit in (
                ("utilisation of all flows", "utilisation_percent", "high", "%"),
                ("95th percentile of all packets' delay", "p95_ms", "low", "ms"),
                ("the same of the backlogged flow's packets", "backlogged_p95_ms", "low", "ms"),
            )
        ),
    )


STUDY = Study(
    info=info("abc-20"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
