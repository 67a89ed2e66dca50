# SPDX-License-Identifier: Apache-2.0
"""ABC over a wireless link with an ABC router and a wired drop-tail link (Figure 4).

Reproduces Goyal et al. 2020. The wireless link's rate changes every 5 s, so that the bottleneck
moves between the links. The round-trip time is 100 ms (section 7.6). Choices left open by the
paper: the rates; the wired link has 12 Mbit/s, as in Figure 10, comes second, and has a queue of
one bandwidth-delay product (100 packets). The first second of each step, ten round trips, is
excluded.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING

from ccbench.studies.abc.two_links import WIRED_MBPS, draw_courses, measure_steps, path
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_STEP_S = 5.0
_SETTLED_S = 1.0
#: The wireless link's rates in Mbit/s; half of them are above the wired link's.
_RATES_MBPS = (16, 9, 5, 14, 20, 6, 18, 8, 15, 4)
_STEPS = 20


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    steps = 2 if quick else _STEPS
    return (path(tuple(islice(cycle(_RATES_MBPS), steps)), _STEP_S),)


def _measure(run: Run) -> Rows:
    steps = round(run.scenario.duration_s / _STEP_S)
    shares = (WIRED_MBPS,) * steps
    return measure_steps(run, step_s=_STEP_S, settled_s=_SETTLED_S, shares=shares)


def _conclude(table: pd.DataFrame) -> Findings:
    first_course = table["course"].iloc[0]
    table = table.drop(columns="course")
    wireless = table[table["wireless_is_bottleneck"]]
    wired = table[~table["wireless_is_bottleneck"]]
    return Findings(
        table=table,
        figure=draw_courses(table, first_course),
        comparisons=(
            Comparison(
                quantity="throughput of the ideal, mean of all steps",
                measured=float(table["percent_of_ideal"].mean()),
                published=similar(100, "section 4.1", text="quickly and accurately"),
                unit="%",
                note="lowest of a step: "
                f"{wireless['percent_of_ideal'].min():.0f} where the wireless link is the "
                f"bottleneck, {wired['percent_of_ideal'].min():.0f} where the wired one is",
            ),
            Comparison(
                quantity="95th percentile of the delay where the wireless link is, median of the "
                "steps",
                measured=float(wireless["p95_ms"].median()),
                published=unbounded("low", "section 4.1"),
                unit="ms",
            ),
            Comparison(
                quantity="mean delay with the wired link as bottleneck minus that with the "
                "wireless one",
                measured=float(wired["mean_ms"].mean() - wireless["mean_ms"].mean()),
                published=at_least(0, "section 4.1", text="low, whereas standard Cubic behaviour"),
                unit="ms",
            ),
        ),
    )


STUDY = Study(
    info=info("abc-4"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
