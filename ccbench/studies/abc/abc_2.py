# SPDX-License-Identifier: Apache-2.0
"""Feedback from departures and from arrivals (Goyal et al. 2020, Figure 2).

The paper does not name the figure's link. The ratio of the 95th percentiles is averaged over the
eight links of ``abc-1``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import ABC, CELLULAR_S, cellular, measured, router
from ccbench.studies.catalogue import info
from ccbench.studies.published import quantity
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_ENQUEUE = replace(ABC, options=router(feedback="enqueue"))
_QUICK_S = 20.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = _QUICK_S if quick else CELLULAR_S
    return tuple(
        cellular(scheme, name, duration_s=duration_s)
        for name in (CELLULAR_LINKS[:1] if quick else CELLULAR_LINKS)
        for scheme in (ABC, _ENQUEUE)
    )


def _measure(run: Run) -> Rows:
    options = dict(run.scenario.path.bottlenecks[0].qdisc_options)
    return [{"feedback": options.get("feedback", "dequeue"), **measured(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    p95_ms = table.pivot_table("p95_ms", "link", "feedback", sort=False)
    ratio = p95_ms["enqueue"] / p95_ms["dequeue"]
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for i, feedback in enumerate(("dequeue", "enqueue")):
        axes.bar(np.arange(len(p95_ms)) + 0.4 * i, p95_ms[feedback], 0.4, label=feedback)
    axes.set_xticks(np.arange(len(p95_ms)) + 0.2, list(p95_ms.index), rotation=30, ha="right")
    axes.set_ylabel("95th percentile of the delay (ms)")
    axes.legend(title="feedback from")
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="95th percentile of the delay, arrivals ÷ departures, mean of all links",
                measured=float(ratio.mean()),
                published=quantity(2, "caption of Figure 2", text="2×"),
                note=f"{ratio.min():.2f} to {ratio.max():.2f}, by link",
            ),
        ),
    )


STUDY = Study(
    info=info("abc-2"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
