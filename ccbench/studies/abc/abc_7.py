# SPDX-License-Identifier: Apache-2.0
"""ABC and others on Verizon's uplink, downlink and both in series (Goyal et al. 2020, Figure 7).

The paper does not say which of Verizon's links these are; here they are the short ones. The
capacity of both in series is that of the slower link in each second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import (
    CELLULAR_S,
    EXPLICIT,
    FOR_CELLULAR,
    SCHEMES,
    cellular,
    measured,
)
from ccbench.studies.abc.tradeoff import above_frontier, draw_tradeoff, unbeaten
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly
from ccbench.studies.study import Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_DOWN, _UP = CELLULAR_LINKS[:2]
_QUICK_S = 15.0
_NONE = exactly(0, "caption of Figure 7", text="none: outside the Pareto frontier")


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = _QUICK_S if quick else CELLULAR_S
    paths = ((_UP, _DOWN),) if quick else ((_DOWN,), (_UP,), (_UP, _DOWN))
    schemes = SCHEMES if quick else (*SCHEMES, *FOR_CELLULAR, *EXPLICIT[:2])
    return tuple(
        cellular(scheme, *path, duration_s=duration_s) for path in paths for scheme in schemes
    )


def _measure(run: Run) -> Rows:
    return [measured(run)]


def _conclude(table: pd.DataFrame) -> Findings:
    figure = Figure(figsize=(12, 4), layout="constrained")
    paths = list(table.groupby("link", sort=False))
    comparisons = []
    for (link, rows), axes in zip(
        paths, figure.subplots(1, len(paths), squeeze=False)[0], strict=True
    ):
        points = rows.set_index("scheme")
        draw_tradeoff(axes, points)
        axes.set_title(str(link), fontsize="small")
        comparisons += [unbeaten(points, _NONE, f"{link}: "), above_frontier(points, f"{link}: ")]
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = Study(
    info=info("abc-7"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
