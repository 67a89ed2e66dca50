# SPDX-License-Identifier: Apache-2.0
"""A link that alternates between 12 and 24 Mbit/s every half second (Goyal et al. 2020, Fig. 19).

The figure shows ABC, RCP and XCPw; the study has XCP, VCP and the schemes of ``abc-1`` besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow, NetworkPath, Scenario
from ccbench.studies.abc.links import (
    ABC,
    COLOURS,
    EXPLICIT,
    RTT_MS,
    SCHEMES,
    course,
    measured,
    two_rates,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_DURATION_S = 30.0
_SHOWN = ("ABC", "RCP", "XCPw")
_CAPTION = "caption of Figure 19"
_SHOWN_S = (10.0, 15.0)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        Scenario(
            flows=(Flow(cca=scheme.cca),),
            path=NetworkPath(bottlenecks=(scheme.bottleneck(two_rates()),), rtt_ms=RTT_MS),
            duration_s=8.0 if quick else _DURATION_S,
            name=f"{scheme.name}, 12 and 24 Mbit/s",
        )
        for scheme in ((ABC, *EXPLICIT[1:3]) if quick else (*SCHEMES, *EXPLICIT))
    )


def _measure(run: Run) -> Rows:
    row = measured(run)
    return [{**row, "course": course(run, 0.1) if row["scheme"] in _SHOWN else None}]


def _conclude(table: pd.DataFrame) -> Findings:
    courses = table.dropna(subset="course").set_index("scheme")["course"]
    table = table.drop(columns="course")
    figure = Figure(figsize=(8, 4), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    for name, whole in courses.items():
        now = whole.loc[_SHOWN_S[0] : _SHOWN_S[1]] if whole.index[-1] > _SHOWN_S[0] else whole
        if name == ABC.name:
            top.fill_between(now.index, now["capacity_mbps"], step="pre", color="0.88")
        top.plot(now.index, now[0], color=COLOURS[str(name)], label=str(name))
        bottom.plot(now.index, now["delay_ms"], color=COLOURS[str(name)])
    top.set_ylabel("Mbit/s")
    top.legend()
    bottom.set_ylabel("delay (ms)")
    bottom.set_xlabel("time (s)")
    used = table.set_index("scheme")["utilisation_percent"]
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="ABC's utilisation",
                measured=float(used[ABC.name]),
                published=percentage(100, _CAPTION, text="close to 100"),
                unit="%",
            ),
            Comparison(
                quantity="XCPw's utilisation",
                measured=float(used["XCPw"]),
                published=percentage(100, _CAPTION, text="close to 100"),
                unit="%",
            ),
            Comparison(
                quantity="the lower of both minus RCP's utilisation",
                measured=float(min(used[ABC.name], used["XCPw"]) - used["RCP"]),
                published=at_least(0, _CAPTION, text="RCP: under-utilization"),
                unit="points",
            ),
        ),
    )


STUDY = Study(
    info=info("abc-19"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
