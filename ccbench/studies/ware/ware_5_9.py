# SPDX-License-Identifier: Apache-2.0
"""The convergence detector and its alternatives compared on labelled runs (Ware 2024, Figure 5.9).

The thesis labelled 100 experiments by hand, and does not name them. Here a rule labels 144
(:mod:`ccbench.convergence.labels`): half of the labelled set, every pair of CCAs in every
other network, with typical noise and four seeds. In some of them a competitor arrives after 130 of
180 s, so that the set includes runs without convergence; the thesis does not mention such
experiments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.convergence.evaluation import METHODS, evaluate, summarise
from ccbench.convergence.labels import LATEST_S, NETWORKS, labelled_run, labelled_scenarios
from ccbench.experiment.noise import typical
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import SEEDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_ALGORITHM_1 = "Algorithm 1"
#: A method that considers every flow converged.
_ALWAYS = "skip 1 min"
_SEEDS = SEEDS[:4]
_WHERE = "section 5.3.3.2"
#: The methods of Figure 5.9, and the alternatives that make a decision of their own.
_DRAWN = (
    _ALGORITHM_1,
    "skip 20 s",
    "skip 1 min",
    "Vivace, 25 % for 5 s",
    "Axiomatizing, alpha 0.4",
)
#: Minimum percentage drawn for a difference.
_SMALLEST_PERCENT = 0.01


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    # Alternate networks between pairs, so that every network occurs.
    half = [s for i, s in enumerate(labelled_scenarios()) if (i + i // len(NETWORKS)) % 2 == 0]
    if quick:
        half = [s for s in half if s.path.bottlenecks[0].mean_mbps <= 10][:4]  # noqa: PLR2004
    return tuple(
        replace(
            scenario,
            seed=seed,
            path=replace(scenario.path, noise=typical(rtt_ms=scenario.path.rtt_ms)),
        )
        for scenario in half
        for seed in (_SEEDS[:1] if quick else _SEEDS)
    )


def _measure(run: Run) -> Rows:
    start_s = max(flow.start_s for flow in run.scenario.flows)
    table = evaluate(labelled_run(run))
    table.insert(0, "scenario", run.scenario.name)
    table.insert(1, "seed", run.scenario.seed)
    table.insert(2, "last_start_s", start_s)
    return cast("Rows", table.to_dict("records"))


def _conclude(table: pd.DataFrame) -> Findings:
    near = _of_seeds(table, "within_10")
    others = near[["skip 20 s", "skip 1 min"]].max(axis=1)
    agree = _of_seeds(table, "agreement")
    in_time = _of_seeds(table[table["last_start_s"] <= LATEST_S], "agreement")
    return Findings(
        table=table,
        figure=_figure(table, summarise(table)),
        comparisons=(
            Comparison(
                quantity="flows whose mean after the returned time is within 10 % of the mean "
                "after the label",
                measured=Estimate(near[_ALGORITHM_1]),
                published=at_least(80, _WHERE, text="over 80"),
                unit="%",
            ),
            Comparison(
                quantity="those flows minus the share if the first 20 s or the first minute are "
                "ignored instead, whichever is larger",
                measured=Estimate(near[_ALGORITHM_1] - others),
                published=at_least(0, _WHERE, text="the tightest fit"),
                unit="points",
            ),
            Comparison(
                quantity=f"agreement on which flows converged, where all start by {LATEST_S:g} s",
                measured=Estimate(in_time[_ALGORITHM_1]),
                published=at_least(90, _WHERE, text="over 90"),
                unit="%",
                note=_always(in_time),
            ),
            Comparison(
                quantity="agreement on which flows converged, all runs",
                measured=Estimate(agree[_ALGORITHM_1]),
                published=unbounded("variant", _WHERE),
                unit="%",
                note=_always(agree),
            ),
        ),
    )


def _of_seeds(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a column of the summary with one row per seed and one column per method."""
    return pd.DataFrame({seed: summarise(rows)[column] for seed, rows in table.groupby("seed")}).T


def _always(agreement: pd.DataFrame) -> str:
    return f"To say yes of every flow agrees in {agreement[_ALWAYS].mean():.0f} %."


def _figure(table: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name in _DRAWN:
        differences = table.loc[table["method"] == name, "label_difference_percent"].dropna()
        ordered = np.sort(differences.to_numpy()).clip(min=_SMALLEST_PERCENT)
        share = np.arange(1, ordered.size + 1) / max(ordered.size, 1)
        left.step(
            ordered, share, where="post", label=name, linewidth=2 if name == _ALGORITHM_1 else 1
        )
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
    info=info("ware-5.9"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
