# SPDX-License-Identifier: Apache-2.0
"""Data transferred to classify a server (Ware 2024, Figure 2.15 and section 2.5.1).

Each CCA sends in each of the four settings for as long as a server is queried. Bytes are counted
after the link.

A choice left open by the thesis: its mean is over the 13 CCAs that Gordon supports, of which it
names 11 by leaving out four (section 2.4.1); here it is over those 11.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.classify.implementation import CCAS
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.training import VARIATIONS, scenario
from ccbench.classify.web.client import ASKED_S
from ccbench.classify.web.download import UTILISATION, utilisation
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, quantity, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: CCAs that Gordon does not support.
_NOT_GORDONS = ("cdg", "hybla", "nv", "westwood")


@cache
def _plan(*, quick: bool) -> dict[Scenario, tuple[Setting, int]]:
    """Return the setting and the seed of each scenario; a server has the same seed in all."""
    return {
        scenario(setting, cca, VARIATIONS[0], seed=seed, duration_s=ASKED_S): (setting, seed)
        for setting in SETTINGS
        for cca in (CCAS[:3] if quick else CCAS)
        for seed in ((101,) if quick else (101, 102, 103))
    }


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(_plan(quick=quick))


def _measure(run: Run) -> Rows:
    setting, seed = _plan(quick=False)[run.scenario]
    queue = run.queue_events()
    asked = queue[queue["time_ns"] <= queue["time_ns"].iloc[0] + ASKED_S * 1e9]
    return [
        {
            "cca": run.scenario.flows[0].cca,
            "setting": setting.name,
            "seed": seed,
            "megabytes": asked.loc[asked["event"] == "dequeue", "bytes"].sum() / 1e6,
            "utilisation_percent": 100 * utilisation(queue, setting),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    servers = table.pivot_table("megabytes", index="seed", columns="cca", aggfunc="sum")
    gordons = servers.drop(columns=[cca for cca in _NOT_GORDONS if cca in servers])
    megabytes = servers.mean()
    others = megabytes.drop("cdg", errors="ignore")
    apart = 100 * (others / others.mean() - 1).abs()
    lowest = table.loc[table.groupby("seed")["utilisation_percent"].idxmin()]
    enough = table["utilisation_percent"] >= 100 * UTILISATION
    return Findings(
        table=table,
        figure=_figure(megabytes),
        comparisons=(
            Comparison(
                quantity="data of four traces, mean over CCAs",
                measured=Estimate(gordons.mean(axis=1)),
                published=quantity(68, "section 2.4.2"),
                unit="MB",
                note=f"The links carry 75 MB in 20 s; servers are asked for {ASKED_S:g} s.",
            ),
            Comparison(
                quantity="largest distance of a CCA from the mean, without CDG",
                measured=float(apart.max()),
                published=similar(
                    0, "section 2.4.2", text="independent of the CCA, aside from CDG"
                ),
                unit="%",
                note=f"It is {apart.idxmax()}.",
            ),
            Comparison(
                quantity="lowest utilisation of a trace",
                measured=Estimate(lowest["utilisation_percent"]),
                published=at_least(90, "section 2.5.1"),
                unit="%",
                note=f"{', '.join(dict.fromkeys(lowest['cca']))}.",
            ),
            Comparison(
                quantity=f"traces that use {UTILISATION:.0%} of the link",
                measured=Estimate(100 * enough.groupby(table["seed"]).mean()),
                published=unbounded("valid; not stated how many", "section 2.5.1"),
                unit="%",
            ),
        ),
    )


def _figure(megabytes: pd.Series[float]) -> Figure:
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.bar(megabytes.index, megabytes)
    axes.axhline(68, color="0.4", linestyle=":", label="the thesis's mean")
    axes.tick_params(axis="x", rotation=45)
    axes.set_ylabel("data of four traces (MB)")
    axes.legend(fontsize="small")
    axes.grid(axis="y", alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-2.15"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
