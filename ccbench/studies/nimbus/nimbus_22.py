# SPDX-License-Identifier: Apache-2.0
"""Elasticity of PCC Vivace by pulse frequency (Goyal et al. 2022, appendix B.3, Figure 22).

NimbusCC against one PCC Vivace flow, with pulses of 5 Hz and of 2 Hz. The metric is that of the
sender, sampled from 10 s on.

A choice left open by the paper: its runs' length; here it is two minutes, as in section 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.elasticity.detector import THRESHOLD
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import SETTLED_S, verdicts
from ccbench.studies.nimbus.testbed import cross_traffic, seeds, shared
from ccbench.studies.published import at_least, at_most
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_WHERE = "appendix B.3"
#: Pulses in the five seconds of the FFT, and what the text says of the metric.
_WINDOW_S = 5
_PULSES = {
    25: at_most(50, _WHERE, text="below the threshold most of the time"),
    10: at_least(50, _WHERE, text="correctly classified as elastic"),
}
_STYLES = {5.0: ("#0072b2", "-"), 2.0: ("#d55e00", "--")}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca="nimbus"),
            *cross_traffic("elastic", cca="vivace"),
            duration_s=16.0 if quick else 120.0,
            seed=seed,
            name=f"nimbus with {pulses / _WINDOW_S:g} Hz against vivace",
            settings={"pulses": pulses},
        )
        for pulses in _PULSES
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    settings = dict(run.scenario.path.sysctls)
    pulses = int(settings["net.ipv4.tcp_nimbus_pulses"])
    observed = verdicts(run).loc[SETTLED_S:]
    return [
        {
            "pulse_hz": pulses / _WINDOW_S,
            "seed": run.scenario.seed,
            "time_s": time_s,
            "elasticity": elasticity,
        }
        for time_s, elasticity in observed["elasticity"].items()
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    above = table.assign(above=100.0 * (table["elasticity"] >= THRESHOLD)).pivot_table(
        "above", "seed", "pulse_hz"
    )
    medians = table.groupby("pulse_hz")["elasticity"].median()
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=tuple(
            compared(
                f"pulses of {hz:g} Hz: time with η above the threshold",
                above[hz],
                published,
                note=f"The median of η is {medians[hz]:.2f}.",
            )
            for hz, published in ((pulses / _WINDOW_S, words) for pulses, words in _PULSES.items())
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.subplots()
    for hz, (colour, line) in _STYLES.items():
        eta = np.sort(table.loc[table["pulse_hz"] == hz, "elasticity"])
        share = np.arange(1, len(eta) + 1) / len(eta)
        axes.plot(eta, share, line, color=colour, label=f"{hz:g} Hz")
    axes.axvline(THRESHOLD, color="0.5", linestyle=":", label="threshold")
    axes.set_xscale("log")
    axes.set_xlabel("elasticity η")
    axes.set_ylabel("share of the time")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("nimbus-22"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
