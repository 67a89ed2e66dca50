# SPDX-License-Identifier: Apache-2.0
"""Elasticity by the elastic share of the cross traffic (Goyal et al. 2022, Figure 5).

Cross traffic is one CUBIC flow and Poisson traffic. The Poisson rate is such that CUBIC has the
stated share of the cross traffic if the sender and CUBIC have equal throughput. The paper does not
describe the sender. Here it is NimbusCC; a second sender, UDP traffic that pulses at its fair share
and does not react, shows the detector without congestion control, and is not compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.elasticity.detector import THRESHOLD
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus import testbed
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import SETTLED_S, verdicts
from ccbench.studies.nimbus.testbed import LINK_MBPS, pulser, seeds, shared
from ccbench.studies.published import percentage, quantity, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.published import Published

_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_PULSES = "pulses"
_DURATION_S = 60.0

#: Published statements on the median η by elastic share, and on the time above the threshold.
_MEDIANS = {
    0.0: ("inelastic traffic", quantity(1, "section 3.4")),
    1.0: ("elastic traffic", quantity(10, "section 3.4")),
}
_QUARTER = 0.25
_CORRECT = percentage(75, "section 3.4")


def poisson_mbps(part: float) -> float:
    """Return the Poisson rate with which CUBIC is this share of the cross traffic.

    Examples
    --------
    >>> rate = poisson_mbps(0.25)
    >>> share = (96 - rate) / 2
    >>> share / (share + rate)
    0.25
    """
    return LINK_MBPS * (1 - part) / (1 + part) if part else LINK_MBPS / 2


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 16.0 if quick else _DURATION_S
    scenarios = []
    for sender in (_PULSES, *(cca for cca in testbed.CCAS if cca == "nimbus")):
        for part in (0.0, 1.0) if quick else _PARTS:
            rate = poisson_mbps(part)
            share = (LINK_MBPS - rate) / (2 if part else 1)
            cross = [Flow(kind="poisson", rate_mbps=rate)] if rate else []
            cross += [Flow(cca="cubic")] if part else []
            own = pulser(share, duration_s) if sender == _PULSES else (Flow(cca=sender),)
            scenarios += [
                shared(
                    *own,
                    *cross,
                    duration_s=duration_s,
                    seed=seed,
                    name=f"{sender}, {part:.0%} elastic",
                )
                for seed in seeds(quick=quick)
            ]
    return tuple(scenarios)


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    kinds = [flow.kind for flow in scenario.flows]
    own = sum(kind == "cbr" for kind in kinds) or 1
    poisson = next((f.rate_mbps for f in scenario.flows if f.kind == "poisson"), 0.0)
    is_mixed = any(flow.cca == "cubic" for flow in scenario.flows)
    part = next(p for p in _PARTS if is_mixed == bool(p) and poisson_mbps(p) == poisson)
    observed = verdicts(run, flows=range(own)).loc[SETTLED_S:]
    return [
        {
            "sender": scenario.flows[0].cca or _PULSES,
            "elastic_part": part,
            "seed": scenario.seed,
            "time_s": time_s,
            "elasticity": row.elasticity,
            "elastic_share": row.elastic_share,
        }
        for time_s, row in zip(observed.index, observed.itertuples(), strict=True)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    comparisons = []
    for sender in table["sender"].unique():
        rows = table[table["sender"] == sender]
        of_run = rows.groupby(["elastic_part", "seed"])["elasticity"]
        median = of_run.median()
        above = (
            100
            * rows.assign(above=rows["elasticity"] >= THRESHOLD)
            .groupby(["elastic_part", "seed"])["above"]
            .mean()
        )
        comparisons += [
            compared(
                f"{sender}: median η, {words}",
                median[part],
                _statement(sender, published),
                unit="",
            )
            for part, (words, published) in _MEDIANS.items()
        ]
        if _QUARTER in above.index.unique("elastic_part"):
            comparisons.append(
                compared(
                    f"{sender}: a quarter elastic, called elastic",
                    above[_QUARTER],
                    _statement(sender, _CORRECT),
                    unit="% of the time",
                )
            )
    return Findings(table=table, figure=_figure(table), comparisons=tuple(comparisons))


def _statement(sender: str, published: Published) -> Published:
    """Return the statement if it applies to this sender."""
    return published if sender != _PULSES else unbounded("variant", published.where)


def _figure(table: pd.DataFrame) -> Figure:
    senders = table["sender"].unique()
    figure = Figure(figsize=(5 * len(senders), 4), layout="constrained")
    grid = figure.subplots(1, len(senders), sharey=True, squeeze=False)[0]
    for sender, axes in zip(senders, grid, strict=True):
        for part, rows in table[table["sender"] == sender].groupby("elastic_part"):
            eta = np.sort(rows["elasticity"])
            axes.plot(eta, np.arange(1, len(eta) + 1) / len(eta), label=f"{part:.0%} elastic")
        axes.axvline(THRESHOLD, color="0.6", linestyle="--")
        axes.set_xscale("log")
        axes.set_xlabel("elasticity η")
        axes.set_title(str(sender), fontsize="small")
        axes.legend(fontsize="small")
    grid[0].set_ylabel("share of the windows")
    return figure


STUDY = Study(
    info=info("nimbus-5"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
