# SPDX-License-Identifier: Apache-2.0
"""An ABC flow with 200 application-limited flows (Goyal et al. 2020, Figure 20).

The 200 flows offer 1 Mbit/s in total: each sends a packet every 2.3 s, in turn. "A cellular link"
is taken to be Figure 1's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
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
    series = course(run)
    flows = [column for column in series if isinstance(column, int)]
    series = series[["capacity_mbps", "delay_ms"]].assign(mbps=series[flows].sum(axis=1))
    delivered = packets.delivered(run)
    own_ms = delivered.loc[delivered["flow"] == 0, "queueing_ms"].quantile(0.95)
    return [
        {
            "others": len(flows) - 1,
            "seed": run.scenario.seed,
            **measured(run),
            "backlogged_p95_ms": own_ms,
            "course": series,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    firsts = table.groupby("others").first()
    figure = Figure(figsize=(8, 4), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    for i, (others, series) in enumerate(firsts["course"].items()):
        if i == 0:
            top.fill_between(series.index, series["capacity_mbps"], step="pre", color="0.88")
        top.plot(series.index, series["mbps"], label=f"{others} others", linewidth=1)
        bottom.plot(series.index, series["delay_ms"], linewidth=1)
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
                quantity=what,
                measured=Estimate(beside[column]),
                published=unbounded(text, where),
                unit=unit,
                note=f"the flow alone: {firsts[column][0]:.3g}",
            )
            for what, column, text, unit in (
                ("utilisation of all flows", "utilisation_percent", "high", "%"),
                ("95th percentile of all packets' delay", "p95_ms", "low", "ms"),
                (
                    "95th percentile of the backlogged flow's delay",
                    "backlogged_p95_ms",
                    "low",
                    "ms",
                ),
            )
        ),
    )


STUDY = Study(
    info=info("abc-20"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
