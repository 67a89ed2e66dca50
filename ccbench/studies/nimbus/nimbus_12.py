# SPDX-License-Identifier: Apache-2.0
"""The detectors of Nimbus and Copa (Goyal et al. 2022, Figure 12).

Cross traffic is constant or Poisson traffic of 30 to 90 % of the link, or a NewReno flow with an
RTT of 1 to 4 times the sender's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, worst_case
from ccbench.studies.nimbus.measures import judged
from ccbench.studies.nimbus.testbed import (
    CCAS,
    COLOURS,
    LINK_MBPS,
    RTT_MS,
    cross_traffic,
    seeds,
    shared,
)
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_SHARES = (0.3, 0.5, 0.7, 0.8, 0.85, 0.9)
_RTTS = (1, 1.5, 2, 3, 4)
_HIGH = 80.0
_TEXT = "section 7.2"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    cross: list[tuple[str, tuple[Flow, ...]]] = [
        (f"{kind} of {share:.0%}", (Flow(kind=kind, rate_mbps=share * LINK_MBPS),))
        for kind in ("cbr", "poisson")
        for share in ((0.5, 0.9) if quick else _SHARES)
    ]
    cross += [
        (f"reno, {factor:g} times the RTT", cross_traffic("elastic", rtt_ms=factor * RTT_MS))
        for factor in ((1, 4) if quick else _RTTS)
    ]
    return tuple(
        shared(
            Flow(cca=cca),
            *flows,
            duration_s=16.0 if quick else 120.0,
            seed=seed,
            name=f"{cca}, {words}",
        )
        for cca in CCAS
        if cca in ("nimbus", "copa")
        for words, flows in cross
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    cross = run.scenario.flows[1]
    rate = cross.rate_mbps or 0.0
    return [
        {
            **judged(run),
            "traffic": cross.cca or cross.kind,
            "percent_of_link": 100 * rate / LINK_MBPS,
            "times_rtt": 1 + cross.extra_rtt_ms / RTT_MS,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    inelastic, elastic = (table[table["cross"] == cross] for cross in ("inelastic", "elastic"))
    worst = worst_case(inelastic[inelastic["cca"] == "nimbus"], ["traffic", "percent_of_link"])
    high, low = (
        inelastic[selected].pivot_table("accuracy_percent", "seed", "cca")
        for selected in (inelastic["percent_of_link"] > _HIGH, inelastic["percent_of_link"] < _HIGH)
    )
    near, far = (
        elastic[elastic["times_rtt"] == times].pivot_table("accuracy_percent", "seed", "cca")
        for times in (min(_RTTS), max(_RTTS))
    )
    comparisons = (
        compared(
            f"accuracy, inelastic traffic, NimbusCC, lowest of all ({worst.name} %)",
            worst,
            unbounded("high in all cases", _TEXT),
        ),
        compared(
            "accuracy, inelastic traffic above 80 % of the link, NimbusCC minus Copa",
            high["nimbus"] - high["copa"],
            at_least(0, "caption of Figure 12", text="more accurate"),
        ),
        compared(
            "accuracy, Copa, inelastic traffic above 80 % of the link minus that below",
            high["copa"] - low["copa"],
            at_most(0, _TEXT, text="drops sharply"),
        ),
        compared(
            "accuracy, NewReno of 4 times the RTT, NimbusCC minus Copa",
            far["nimbus"] - far["copa"],
            at_least(0, _TEXT, text="much higher"),
        ),
        compared(
            "accuracy, Copa, NewReno of 4 times the RTT minus that of the same RTT",
            far["copa"] - near["copa"],
            at_most(0, _TEXT, text="degrades"),
        ),
    )
    return Findings(table=table, figure=_figure(inelastic, elastic), comparisons=comparisons)


def _figure(inelastic: pd.DataFrame, elastic: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    styles = {"cbr": "-", "poisson": "--"}
    for (cca, traffic), rows in inelastic.groupby(["cca", "traffic"]):
        mean = rows.groupby("percent_of_link")["accuracy_percent"].mean()
        colour = COLOURS[str(cca)]
        left.plot(mean.index, mean, styles[str(traffic)], color=colour, label=f"{cca}, {traffic}")
    for name, rows in elastic.groupby("cca"):
        mean = rows.groupby("times_rtt")["accuracy_percent"].mean()
        right.plot(mean.index, mean, color=COLOURS[str(name)], label=name)
    left.set_xlabel("inelastic traffic (% of the link)")
    right.set_xlabel("RTT of NewReno ÷ the sender's")
    left.set_ylabel("accuracy (%)")
    left.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("nimbus-12"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
