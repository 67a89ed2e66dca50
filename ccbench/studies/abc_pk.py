# SPDX-License-Identifier: Apache-2.0
"""ABC that knows the link's future, PK-ABC (Goyal et al. 2020, section 7.6).

The router takes the rate of the link one round trip from now for that of now. "The same setup as
Figure 7(b)" is Verizon's link up, here the short one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.studies.abc_links import (
    ABC,
    CELLULAR_S,
    PAPER,
    RTT_MS,
    TRACES,
    cellular,
    course,
    measured,
    router,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_PK = replace(ABC, options=router(lookahead_ms=RTT_MS))
_NAMES = {False: "ABC", True: "PK-ABC"}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 14.0 if quick else CELLULAR_S
    return tuple(cellular(scheme, TRACES[1], duration_s=duration_s) for scheme in (ABC, _PK))


def _measure(run: Run) -> Rows:
    knows = "lookahead_ms" in dict(run.scenario.bottlenecks[0].qdisc_options)
    return [{**measured(run), "scheme": _NAMES[knows], "course": course(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    rows = table.set_index("scheme")
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    for name, now in rows["course"].items():
        axes.plot(now.index, now["delay_ms"], label=str(name), linewidth=0.9)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("delay (ms)")
    axes.legend()
    p95_ms, used = rows["p95_ms"], rows["utilisation_percent"]
    return Findings(
        table=table.drop(columns="course"),
        figure=figure,
        comparisons=(
            Comparison(
                what="ABC: 95th percentile of the delay",
                ours=float(p95_ms["ABC"]),
                published="97",
                accepted=(97 / 1.25, 97 * 1.25),
                unit="ms",
            ),
            Comparison(
                what="PK-ABC: the same",
                ours=float(p95_ms["PK-ABC"]),
                published="28",
                accepted=(28 / 1.25, 28 * 1.25),
                unit="ms",
            ),
            Comparison(
                what="the same, PK-ABC by ABC",
                ours=float(p95_ms["PK-ABC"] / p95_ms["ABC"]),
                published="0.29",
                accepted=(0.19, 0.39),
            ),
            Comparison(
                what="ABC: utilisation",
                ours=float(used["ABC"]),
                published="about 90",
                accepted=(85, 95),
                unit="%",
            ),
            Comparison(
                what="utilisation, PK-ABC less ABC",
                ours=float(used["PK-ABC"] - used["ABC"]),
                published="similar",
                accepted=(-5, 5),
                unit="points",
            ),
        ),
    )


STUDY = Study(
    name="abc-pk",
    title="ABC that knows the link's future",
    source=f"{PAPER}, section 7.6",
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
