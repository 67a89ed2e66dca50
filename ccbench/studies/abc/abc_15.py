# SPDX-License-Identifier: Apache-2.0
"""The effect of eta on utilisation and delay (Goyal et al. 2020, appendix B, Figure 15).

The link is that of Figure 1; the text does not state the values of eta. "Increasing eta increases"
both, so the smallest change from one value to the next is compared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import ABC, CELLULAR_S, cellular, measured, router
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_ETAS = (0.8, 0.85, 0.9, 0.95, 0.98, 1.0)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 20.0 if quick else CELLULAR_S
    return tuple(
        cellular(replace(ABC, options=router(eta=eta)), CELLULAR_LINKS[0], duration_s=duration_s)
        for eta in (_ETAS[::4] if quick else _ETAS)
    )


def _measure(run: Run) -> Rows:
    return [{"eta": dict(run.scenario.path.bottlenecks[0].qdisc_options)["eta"], **measured(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    by_eta = table.set_index("eta")
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(by_eta["p95_ms"], by_eta["utilisation_percent"], "o-")
    for eta, row in by_eta.iterrows():
        at = row["p95_ms"], row["utilisation_percent"]
        axes.annotate(f"{eta:g}", at, textcoords="offset points", xytext=(4, -10))
    axes.set_xlabel("95th percentile of the delay (ms)")
    axes.set_ylabel("utilisation (%)")
    axes.grid(alpha=0.3)
    return Findings(
        table=table,
        figure=figure,
        comparisons=tuple(
            Comparison(
                quantity=f"{words}: smallest change from one eta to the next",
                measured=float(by_eta[column].sort_index().diff().min()),
                published=at_least(0, "appendix B", text="increases"),
                unit=unit,
            )
            for column, words, unit in (
                ("utilisation_percent", "utilisation", "points"),
                ("p95_ms", "95th percentile of the delay", "ms"),
            )
        ),
    )


STUDY = Study(
    info=info("abc-15"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
