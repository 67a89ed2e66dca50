# SPDX-License-Identifier: Apache-2.0
"""A heavy-tailed mix of CUBIC, NewReno and BBR flows (Goyal et al. 2022, appendix B.1, Figure 20).

The experiment of ``nimbus-8``, in which each flow of the mix is one of the three at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.studies.catalogue import about
from ccbench.studies.nimbus_8 import deviations_mbps, mixed
from ccbench.studies.nimbus_comparisons import compared
from ccbench.studies.nimbus_measures import delays_ms
from ccbench.studies.nimbus_testbed import CCAS, COLOURS, seeds
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_OTHERS = ("cubic", "reno", "bbr")


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 20.0 if quick else 360.0
    return tuple(
        mixed(cca, seed, duration_s, others=_OTHERS) for cca in CCAS for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    off = deviations_mbps(run)
    return [
        {
            "cca": run.scenario.flows[0].cca,
            "seed": run.scenario.seed,
            "median_rtt_ms": float(delays_ms(run).median()) + run.scenario.rtt_ms,
            **{f"deviation_p{p}_mbps": float(off.quantile(p / 100)) for p in (10, 25, 50, 75, 90)},
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    rtt = table.pivot_table("median_rtt_ms", "seed", "cca")
    low = table.pivot_table("deviation_p10_mbps", "seed", "cca")
    comparisons = [
        compared(
            f"10th percentile of the deviation from fair share, {cca} less cubic",
            low[cca] - low["cubic"],
            published="loses throughput",
            accepted=(-96, -3),
            unit="Mbit/s",
        )
        for cca in ("copa", "vegas")
    ]
    if "nimbus" in rtt:
        comparisons += [
            compared(
                "median RTT, cubic less nimbus",
                rtt["cubic"] - rtt["nimbus"],
                published="lower delays",
                accepted=(10, 110),
                unit="ms",
            ),
            compared(
                "10th percentile of the deviation from fair share, nimbus less cubic",
                low["nimbus"] - low["cubic"],
                published="similar",
                accepted=(-8, 20),
                unit="Mbit/s",
            ),
        ]
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    mean = table.groupby("cca", sort=False).mean()
    colours = [COLOURS[str(cca)] for cca in mean.index]
    left.bar(mean.index, mean["median_rtt_ms"], color=colours)
    left.set_ylabel("median RTT (ms)")
    middle = np.arange(len(mean))
    right.vlines(middle, mean["deviation_p10_mbps"], mean["deviation_p90_mbps"], color="0.5")
    right.bar(
        middle,
        mean["deviation_p75_mbps"] - mean["deviation_p25_mbps"],
        bottom=mean["deviation_p25_mbps"],
        color=colours,
    )
    right.set_xticks(middle, mean.index)
    right.set_ylabel("off the fair share, 10th to 90th percentile (Mbit/s)")
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = Study(
    about=about("nimbus-20"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
