# SPDX-License-Identifier: Apache-2.0
"""Elasticity of PCC-Vivace by the frequency of pulses (Goyal et al. 2022, Figure 22).

NimbusCC competes with PCC-Vivace. The elasticity η counts from 10 s on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import SETTLED_S, verdicts
from ccbench.studies.nimbus.testbed import seeds, shared
from ccbench.studies.published import at_least, at_most
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: Pulses in 5 s by frequency in Hz.
_PULSES = {5: 25, 2: 10}
_FREQUENCY = {pulses: hz for hz, pulses in _PULSES.items()}
_SETTING = "net.ipv4.tcp_nimbus_pulses"
_THRESHOLD = 2.0
_MAJORITY = 50.0
_PERCENT = (*range(1, 100, 2),)
_WHERE = "appendix B.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca="nimbus"),
            Flow(cca="vivace"),
            settings={"pulses": pulses},
            duration_s=16.0 if quick else 60.0,
            seed=seed,
            name=f"pulses of {hz} Hz",
        )
        for hz, pulses in _PULSES.items()
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    eta = verdicts(run).loc[SETTLED_S:]["elasticity"].dropna()
    above = 100 * float((eta >= _THRESHOLD).mean())
    return [
        {
            "hz": _FREQUENCY[int(dict(run.scenario.path.sysctls)[_SETTING])],
            "seed": run.scenario.seed,
            "above_percent": above,
            "percent": percent,
            "eta": float(eta.quantile(percent / 100)),
        }
        for percent in _PERCENT
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    above = table.groupby(["hz", "seed"])["above_percent"].first()
    bounds = {
        5: at_most(_MAJORITY, _WHERE, text="below the threshold most of the time"),
        2: at_least(_MAJORITY, _WHERE, text="classified as elastic"),
    }
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=tuple(
            compared(
                f"η above the threshold, pulses of {hz} Hz", above[hz], bound, unit="% of the time"
            )
            for hz, bound in bounds.items()
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    for (hz, style), (_, rows) in zip(((2, "--"), (5, "-")), table.groupby("hz"), strict=True):
        eta = rows.groupby("percent")["eta"].mean()
        axes.plot(eta, np.asarray(eta.index) / 100, style, label=f"{hz} Hz")
    axes.axvline(_THRESHOLD, color="0.6", linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel("elasticity η")
    axes.set_ylabel("share of the time")
    axes.legend()
    return figure


STUDY = Study(
    info=info("nimbus-22"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
