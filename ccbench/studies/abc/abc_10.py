# SPDX-License-Identifier: Apache-2.0
"""ABC over a wireless and a wired link with on-off CUBIC traffic (Goyal et al. 2020, Figure 10).

Without CUBIC the wireless link is always the bottleneck. With CUBIC, ABC's fair share of the wired
link is 6 Mbit/s, and the bottleneck is the link that allows the lower rate. Choices left open by
the paper: the wireless link's rates change every 10 s and stay below 12 Mbit/s; CUBIC alternates
between 30 s off and 30 s on; all else is as in the study of Figure 4. The first second of each step
is excluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.experiment.scenario import Flow
from ccbench.studies.abc.two_links import WIRED_MBPS, draw_courses, measure_steps, path
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_STEP_S = 10.0
_SETTLED_S = 1.0
_PHASE_STEPS = 3
_SEEDS = (1, 2, 3, 4, 5)
#: Three steps without CUBIC and three with it, twice.
_RATES_MBPS = (9, 4, 10, 5, 9, 3, 8, 10, 4, 10, 4, 9)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    step_s = 1.0 if quick else _STEP_S
    phase_s = _PHASE_STEPS * step_s
    cross = Flow(
        cca="cubic",
        kind="onoff",
        start_s=phase_s,
        on_s=phase_s,
        off_s=phase_s,
        first_bottleneck=1,
    )
    seeds = _SEEDS[:1] if quick else _SEEDS
    return tuple(path(_RATES_MBPS, step_s, cross, seed=seed) for seed in seeds)


def _measure(run: Run) -> Rows:
    step_s = run.scenario.duration_s / len(_RATES_MBPS)
    shares = [WIRED_MBPS / (2 if i // _PHASE_STEPS % 2 else 1) for i in range(len(_RATES_MBPS))]
    settled_s = min(_SETTLED_S, step_s / 2)
    return measure_steps(run, step_s=step_s, settled_s=settled_s, shares=shares)


def _conclude(table: pd.DataFrame) -> Findings:
    first_course = table["course"].iloc[0]
    table = table.drop(columns="course")
    without_cubic = table[table["share_mbps"] == WIRED_MBPS]
    with_cubic = table[table["share_mbps"] != WIRED_MBPS]
    slow = with_cubic[with_cubic["wireless_is_bottleneck"]]
    shared = with_cubic[~with_cubic["wireless_is_bottleneck"]]
    first = table[table["seed"] == table["seed"].iloc[0]]
    return Findings(
        table=table,
        figure=draw_courses(first, first_course),
        comparisons=(
            *(
                Comparison(
                    quantity=f"throughput of the ideal {words}, mean",
                    measured=Estimate(rows.groupby("seed")["percent_of_ideal"].mean()),
                    published=similar(100, "section 7.4", text="closely"),
                    unit="%",
                    note=_by_step(rows),
                )
                for words, rows in (
                    ("without CUBIC", without_cubic),
                    ("with CUBIC, wireless link the slower", slow),
                    ("with CUBIC, wired link the slower", shared),
                )
            ),
            Comparison(
                quantity="95th percentile of the delay without CUBIC, median of the steps",
                measured=Estimate(without_cubic.groupby("seed")["p95_ms"].median()),
                published=unbounded("low", "section 7.4"),
                unit="ms",
            ),
            Comparison(
                quantity="mean delay with CUBIC minus that without it",
                measured=Estimate(
                    tuple(
                        with_cubic.groupby("seed")["mean_ms"].mean()
                        - without_cubic.groupby("seed")["mean_ms"].mean()
                    )
                ),
                published=at_least(
                    0, "caption of Figure 10", text="lower in the absence of cross traffic"
                ),
                unit="ms",
            ),
        ),
    )


def _by_step(rows: pd.DataFrame) -> str:
    percent = rows.groupby("begin_s")["percent_of_ideal"].mean()
    return "by step: " + ", ".join(f"{percentage:.0f}" for percentage in percent)


STUDY = Study(
    info=info("abc-10"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
