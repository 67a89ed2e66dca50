# SPDX-License-Identifier: Apache-2.0
"""A heavy-tailed mix of CUBIC, NewReno and BBR flows (Goyal et al. 2022, appendix B.1, Figure 20).

The experiment of ``nimbus-8`` with each of the three CCAs on a third of the connections. As flows
choose connections at random, each CCA has the same probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import delays_ms
from ccbench.studies.nimbus.nimbus_8 import deviations_mbps, mixed, profile_difference, profiles
from ccbench.studies.nimbus.testbed import CCAS, COLOURS, seeds
from ccbench.studies.published import at_least, at_most, similar
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_OTHERS = ("cubic", "reno", "bbr")
_TEXT = "appendix B.1"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 20.0 if quick else 360.0
    return tuple(
        mixed(cca, seed, duration_s, others=_OTHERS) for cca in CCAS for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    cca, seed = run.scenario.flows[0].cca, run.scenario.seed
    rtt_ms = float(delays_ms(run).median()) + run.scenario.path.rtt_ms
    return [
        {"cca": cca, "seed": seed, "time_s": time_s, "value": float(value), "rtt_ms": rtt_ms}
        for time_s, value in deviations_mbps(run).items()
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    profile = profiles(table)
    rtt_ms = table.pivot_table("rtt_ms", "seed", "cca", sort=False)
    lowest = profile["10th"]
    comparisons = (
        *(
            compared(
                f"10th percentile of the deviation from the fair share, {cca} minus CUBIC",
                lowest[cca] - lowest["cubic"],
                at_most(0, _TEXT, text="loses throughput"),
                unit="Mbit/s",
            )
            for cca in ("copa", "vegas")
        ),
        compared(
            "median RTT, CUBIC minus NimbusCC",
            rtt_ms["cubic"] - rtt_ms["nimbus"],
            at_least(0, _TEXT, text="lower delays"),
            unit="ms",
        ),
        profile_difference(profile, similar(0, _TEXT)),
    )
    renamed = table.rename(columns={"value": "deviation_mbps", "rtt_ms": "median_rtt_ms"})
    figure = _figure(rtt_ms, profile)
    return Findings(table=renamed, figure=figure, comparisons=comparisons)


def _figure(rtt_ms: pd.DataFrame, profile: dict[str, pd.DataFrame]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ccas = list(rtt_ms.columns)
    colours = [COLOURS[str(cca)] for cca in ccas]
    left.bar(ccas, rtt_ms.mean(), color=colours)
    left.set_ylabel("median RTT (ms)")
    mean = {name: of_seeds[ccas].mean() for name, of_seeds in profile.items()}
    middle = np.arange(len(ccas))
    right.vlines(middle, mean["10th"], mean["90th"], color="0.5")
    right.bar(middle, mean["75th"] - mean["25th"], bottom=mean["25th"], color=colours)
    right.set_xticks(middle, ccas)
    right.set_ylabel("off the fair share, 10th to 90th percentile (Mbit/s)")
    return figure


STUDY = Study(
    info=info("nimbus-20"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
