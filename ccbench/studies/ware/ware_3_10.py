# SPDX-License-Identifier: Apache-2.0
"""The model of BBR's fraction of the link compared with the kernel (Ware 2024, Figure 3.10).

A choice left open by the thesis: it does not state the reference of its percentage error. Here the
reference is the measured fraction, so that 5 % of a fraction of 0.4 are 0.02.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware import converged
from ccbench.studies.ware.testbed import queue_axis, rank_correlation

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_OTHERS = (converged.CUBIC, converged.RENO)

_WHERE = "section 3.5.5"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        scenario for other in _OTHERS for scenario in converged.scenarios(other, quick=quick)
    )


def _measure(run: Run) -> Rows:
    bbr, other = run.scenario.flows
    throughput = run.throughput(1.0)
    late = throughput[throughput.index > run.scenario.duration_s - converged.measured_s(run)]
    mean = late.mean()
    measured = mean.iloc[: bbr.count].sum() / run.scenario.path.bottlenecks[0].mean_mbps
    predicted = converged.model(run).bbr_fraction
    return [
        {
            "other": other.cca,
            "queue_packets": run.scenario.path.bottlenecks[0].queue_packets,
            "bbr_flows": bbr.count,
            "seed": run.scenario.seed,
            "bbr_fraction": measured,
            "model_fraction": predicted,
            "error_percent": 100 * abs(predicted - measured) / measured,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    cubic, reno = (table[table["other"] == other] for other in ("cubic", "reno"))
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="median error against CUBIC",
                measured=Estimate(cubic.groupby("seed")["error_percent"].median()),
                published=percentage(5, _WHERE),
                unit="%",
                note=_as_part_of_link(cubic),
            ),
            Comparison(
                quantity="median error against Reno",
                measured=Estimate(reno.groupby("seed")["error_percent"].median()),
                published=percentage(8, _WHERE),
                unit="%",
                note=_as_part_of_link(reno),
            ),
            Comparison(
                quantity="order of the error against CUBIC by queue length (rank correlation)",
                measured=Estimate(_order(cubic, "queue_packets")),
                published=at_most(0, _WHERE, text="best with large queues"),
            ),
            Comparison(
                quantity="order of the error against CUBIC by number of flows (rank correlation)",
                measured=Estimate(_order(cubic, "bbr_flows")),
                published=at_most(0, _WHERE, text="best with large numbers of flows"),
            ),
            Comparison(
                quantity="order of the error against Reno by queue length (rank correlation)",
                measured=Estimate(_order(reno, "queue_packets")),
                published=at_least(0, _WHERE, text="worse as the queue becomes larger"),
            ),
        ),
    )


def _order(table: pd.DataFrame, by: str) -> pd.Series[float]:
    """Return the rank correlation of the error with a setting for each seed."""
    errors = table.pivot_table("error_percent", index=by, columns="seed", aggfunc="median")
    order: pd.Series[float] = errors.apply(rank_correlation)
    return order


def _as_part_of_link(table: pd.DataFrame) -> str:
    points = 100 * (table["model_fraction"] - table["bbr_fraction"]).abs().median()
    return f"As a part of the link {points:.1f} %."


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    panels = figure.subplots(1, len(_OTHERS), sharey=True)
    for axes, other in zip(panels, _OTHERS, strict=True):
        against = table[table["other"] == other.cca]
        for i, (flows, runs) in enumerate(against.groupby("bbr_flows")):
            mean = runs.groupby("queue_packets")[["bbr_fraction", "model_fraction"]].mean()
            colour = f"C{i}"
            axes.plot(mean.index, mean["model_fraction"], "--", color=colour, linewidth=0.8)
            axes.plot(mean.index, mean["bbr_fraction"], "o", color=colour, label=f"{flows} bbr")
        queue_axis(axes, table["queue_packets"])
        axes.set_title(f"against 1 {other.cca} (dashed: model)", fontsize="medium")
        axes.set_ylim(0, 1.02)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("BBR's fraction of the link")
    panels[0].legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("ware-3.10"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
