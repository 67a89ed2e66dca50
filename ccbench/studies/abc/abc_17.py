# SPDX-License-Identifier: Apache-2.0
"""Utilisation and mean delay on eight cellular links (Goyal et al. 2020, Figure 17, appendix E).

The runs are those of ``abc-1``. Utilisation and mean delay are averaged over the eight links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import (
    ABC,
    CELLULAR_S,
    CODEL,
    COLOURS,
    FOR_CELLULAR,
    RTT_MS,
    SCHEMES,
    cellular,
    measured,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, between, quantity, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_CAPTION = "caption of Figure 17"
_COPA = "Copa"
#: Schemes with slightly more throughput and much more delay.
_FULL = ("BBR", "PCC", "Cubic")
_QUICK_S = 14.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, traces = (_QUICK_S, CELLULAR_LINKS[:1]) if quick else (CELLULAR_S, CELLULAR_LINKS)
    return tuple(
        cellular(scheme, name, duration_s=duration_s)
        for scheme in (*SCHEMES, *FOR_CELLULAR)
        for name in traces
    )


def _measure(run: Run) -> Rows:
    return [measured(run)]


def _conclude(table: pd.DataFrame) -> Findings:
    columns = ["utilisation_percent", "mean_ms"]
    means = table.groupby("scheme", sort=False)[columns].mean()
    with_rtt = means["mean_ms"] + RTT_MS
    with_rtt /= float(with_rtt[ABC.name])
    used, mean_ms = (means[column] / float(means[column][ABC.name]) for column in columns)
    comparisons = []
    for name in _FULL:
        comparisons += [
            Comparison(
                quantity=f"{name}: mean delay above ABC's",
                measured=100 * float(mean_ms[name] - 1),
                published=between(70, 240, _CAPTION, text="70-240"),
                unit="%",
                note=f"{100 * (with_rtt[name] - 1):.0f} % with the base RTT in the delay.",
            ),
            Comparison(
                quantity=f"{name}: utilisation above ABC's",
                measured=100 * float(used[name] - 1),
                published=at_least(0, _CAPTION, text="slightly higher"),
                unit="%",
            ),
        ]
    for name in (_COPA, CODEL.name):
        comparisons += [
            Comparison(
                quantity=f"ABC's utilisation above that of {name}",
                measured=100 * float(1 / used[name] - 1),
                published=quantity(50, _CAPTION),
                unit="%",
            ),
            Comparison(
                quantity=f"ABC's mean delay relative to that of {name}",
                measured=100 * float(1 / mean_ms[name]),
                published=similar(100, _CAPTION),
                unit="%",
                note=f"{100 / with_rtt[name]:.0f} % with the base RTT in the delay.",
            ),
        ]
    return Findings(table=table, figure=_figure(means), comparisons=tuple(comparisons))


def _figure(means: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    colours = [COLOURS[str(name)] for name in means.index]
    labels = ("utilisation (%)", "mean delay (ms)")
    for axes, column, label in zip(panels, means.columns, labels, strict=True):
        axes.barh(means.index, means[column], color=colours)
        axes.set_xlabel(label)
        axes.grid(axis="x", alpha=0.3)
    panels[0].invert_yaxis()
    return figure


STUDY = Study(
    info=info("abc-17"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
