# SPDX-License-Identifier: Apache-2.0
"""BBR with in-flight caps of 2 and 4 BDP against CUBIC, 32 BDP (Ware 2024, Figure 3.7).

The model of section 3.5.3 says that BBR has half of a deep queue with two BDPs, and at most three
quarters with four. Runs last 20 minutes, as the share converges within some five; the measurement
is that of the second half.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, percentage
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import SEEDS, competition

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_PARAMETER = "tcp_bbr_capped.cap_percent"
_CAPS_BDP = (2, 4)
_QUEUE_BDP = 32
_INTERVAL_S = 10.0
_WHERE = "section 3.5.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (60.0, SEEDS[:1]) if quick else (1200.0, SEEDS)
    return tuple(_capped(cap_bdp, duration_s, seed) for cap_bdp in _CAPS_BDP for seed in seeds)


def _capped(cap_bdp: int, duration_s: float, seed: int) -> Scenario:
    scenario = competition(
        {"bbr_capped": 1, "cubic": 1}, queue_bdp=_QUEUE_BDP, duration_s=duration_s, seed=seed
    )
    return replace(
        scenario,
        path=replace(scenario.path, module_parameters=((_PARAMETER, str(100 * cap_bdp)),)),
        name=f"cap of {cap_bdp} BDP, {scenario.name}",
    )


def _measure(run: Run) -> Rows:
    cap = dict(run.scenario.path.module_parameters)[_PARAMETER]
    throughput = run.throughput(_INTERVAL_S)
    return [
        {
            "cap_bdp": int(cap) // 100,
            "seed": run.scenario.seed,
            "time_s": time_s,
            "bbr_percent": 100 * bbr / (bbr + cubic),
        }
        for time_s, bbr, cubic in zip(throughput.index, throughput[0], throughput[1], strict=True)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    late = table[table["time_s"] > table["time_s"].max() / 2]
    share = late.pivot_table("bbr_percent", index="seed", columns="cap_bdp")
    low, high = _CAPS_BDP
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="BBR's share with a cap of 2 BDP",
                measured=Estimate(share[low]),
                published=percentage(50, _WHERE, text="about half"),
                unit="%",
            ),
            Comparison(
                quantity="BBR's share with a cap of 4 BDP",
                measured=Estimate(share[high]),
                published=at_most(75, _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="BBR's share with a cap of 4 BDP minus that with 2 BDP",
                measured=Estimate(share[high] - share[low]),
                published=at_least(0, "section 3.5.2", text="BBR increases its share"),
                unit="points",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for i, cap_bdp in enumerate(_CAPS_BDP):
        rows = table[table["cap_bdp"] == cap_bdp]
        mean = rows.groupby("time_s")["bbr_percent"].mean()
        axes.plot(mean.index, mean, color=f"C{i}", label=f"cap of {cap_bdp} BDP")
        axes.axhline(100 * (1 - 1 / cap_bdp), color=f"C{i}", linestyle="--", linewidth=1)
    axes.set_ylim(0, 100)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("BBR's share (%), model dashed")
    axes.legend()
    return figure


STUDY = Study(
    info=info("ware-3.7"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
