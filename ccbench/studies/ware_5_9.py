# SPDX-License-Identifier: Apache-2.0
"""The convergence detector and its rivals against labelled runs (Ware 2024, Figure 5.9).

The thesis labelled 100 experiments by hand, and does not name them. Here a rule labels 72
(:mod:`ccbench.harm.convergence.labels`), among them 10 in which a competitor arrives after 130 of
180 s, so that there is something not to converge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from matplotlib.figure import Figure

from ccbench.harm.convergence.evaluation import METHODS, evaluate, summarise
from ccbench.harm.convergence.labels import LATEST_S, labelled_run, labelled_scenarios
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_OURS = "Algorithm 1"
#: A method that says of every flow that it has converged.
_ALWAYS = "skip 1 min"
#: The methods of Figure 5.9, and of the rivals those that make something of their own.
_DRAWN = (_OURS, "skip 20 s", "skip 1 min", "Vivace, 25 % for 5 s", "Axiomatizing, alpha 0.4")
#: Smaller differences than this percentage are drawn as it.
_SMALLEST_PERCENT = 0.01


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    scenarios = labelled_scenarios()
    if not quick:
        return scenarios
    return tuple(s for s in scenarios if s.bottlenecks[0].mean_mbps <= 10)[:4]  # noqa: PLR2004


def _measure(run: Run) -> Rows:
    start_s = max(flow.start_s for flow in run.scenario.flows)
    table = evaluate(labelled_run(run))
    table.insert(0, "scenario", run.scenario.name)
    table.insert(1, "last_start_s", start_s)
    return cast("Rows", table.to_dict("records"))


def _conclude(table: pd.DataFrame) -> Findings:
    summary = summarise(table)
    in_time = summarise(table[table["last_start_s"] <= LATEST_S])
    near = summary["within_10"]
    return Findings(
        table=table,
        figure=_figure(table, summary),
        comparisons=(
            Comparison(
                what="flows whose mean is within 10 % of that after the label",
                ours=float(near[_OURS]),
                published="over 80",
                accepted=(80, 100),
                unit="%",
            ),
            Comparison(
                what="the same, less those for ignoring 20 s",
                ours=float(near[_OURS] - near["skip 20 s"]),
                published="above 0",
                accepted=(0, 100),
                unit="%",
                note="The thesis calls the detector's fit the tightest of the three.",
            ),
            Comparison(
                what="the same, less those for ignoring a minute",
                ours=float(near[_OURS] - near["skip 1 min"]),
                published="above 0",
                accepted=(0, 100),
                unit="%",
                note="The thesis calls ignoring a minute very close.",
            ),
            Comparison(
                what="agreement on which flows have converged, where all start by 120 s",
                ours=float(in_time["agreement"][_OURS]),
                published="over 90",
                accepted=(90, 100),
                unit="%",
                note=f"To say yes of every flow agrees in {in_time['agreement'][_ALWAYS]:.0f} %.",
            ),
            Comparison(
                what="agreement on which flows have converged, all runs",
                ours=float(summary["agreement"][_OURS]),
                published="over 90",
                accepted=(90, 100),
                unit="%",
                note=(
                    f"To say yes of every flow agrees in {summary['agreement'][_ALWAYS]:.0f} %. "
                    "Algorithm 1 takes a competitor that arrives at 130 s for settled: all windows "
                    "that hold its arrival have much the same deviation."
                ),
            ),
        ),
    )


def _figure(table: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name in _DRAWN:
        differences = table.loc[table["method"] == name, "label_difference_percent"].dropna()
        ordered = np.sort(differences.to_numpy()).clip(min=_SMALLEST_PERCENT)
        share = np.arange(1, ordered.size + 1) / max(ordered.size, 1)
        left.step(ordered, share, where="post", label=name, linewidth=2 if name == _OURS else 1)
    left.axvline(10, color="0.6", linestyle=":")
    left.set_xscale("log")
    left.set_xlabel("difference from the mean after the label (%)")
    left.set_ylabel("share of flows")
    left.legend(fontsize="small")
    left.grid(alpha=0.3)
    _draw_summary(right, summary)
    return figure


def _draw_summary(axes: Axes, summary: pd.DataFrame) -> None:
    places = np.arange(len(METHODS))
    columns = {"found": "converged, and found", "refused": "not converged, and refused"}
    for offset, (column, label) in zip((-0.2, 0.2), columns.items(), strict=True):
        axes.barh(places + offset, summary[column], height=0.4, label=label)
    axes.set_yticks(places, summary.index)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of flows (%)")
    axes.legend(fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    axes.grid(alpha=0.3)


STUDY = Study(
    about=about("ware-5.9"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
