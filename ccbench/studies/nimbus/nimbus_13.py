# SPDX-License-Identifier: Apache-2.0
"""NimbusCC with a wrong link rate (Goyal et al. 2022, Figure 13).

The given rate is up to 50 % too low or too high. The status quo is CUBIC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, farthest, worst_case
from ccbench.studies.nimbus.measures import judged
from ccbench.studies.nimbus.testbed import LINK_MBPS, cross_traffic, seeds, shared
from ccbench.studies.published import at_least, at_most, similar
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_ERRORS_PERCENT = (-50.0, -25.0, -12.5, 0.0, 12.5, 25.0, 50.0)
_STATUS_QUO = "cubic"
_SETTING = "net.ipv4.tcp_nimbus_link_kbps"
_LARGE = 12.5
_TEXT = "section 7.3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 16.0 if quick else 120.0
    scenarios = []
    for category in ("elastic", "inelastic"):
        for seed in seeds(quick=quick):
            scenarios.append(
                shared(
                    Flow(cca=_STATUS_QUO),
                    *cross_traffic(category),
                    duration_s=duration_s,
                    seed=seed,
                    name=f"{_STATUS_QUO}, {category} traffic",
                )
            )
            scenarios += [
                shared(
                    Flow(cca="nimbus"),
                    *cross_traffic(category),
                    settings={"link_kbps": round(LINK_MBPS * (1e3 + 10 * error))},
                    duration_s=duration_s,
                    seed=seed,
                    name=f"nimbus, {category} traffic, rate off by {error:+g} %",
                )
                for error in (_ERRORS_PERCENT[::3] if quick else _ERRORS_PERCENT)
            ]
    return tuple(scenarios)


def _measure(run: Run) -> Rows:
    given_kbps = dict(run.scenario.path.sysctls).get(_SETTING)
    error = 0.0 if given_kbps is None else 100 * (float(given_kbps) / LINK_MBPS / 1e3 - 1)
    return [{"error_percent": round(error, 3), **judged(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    key = ["cross", "seed"]
    usual = table[table["cca"] == _STATUS_QUO].set_index(key)["mbps"].rename("usual_mbps")
    nimbus = table[table["cca"] == "nimbus"].join(usual, on=key)
    nimbus = nimbus.assign(percent=100 * nimbus["mbps"] / nimbus["usual_mbps"])
    elastic, inelastic = (nimbus[nimbus["cross"] == cross] for cross in ("elastic", "inelastic"))
    worst = worst_case(elastic, ["error_percent"])
    wrong = inelastic[inelastic["error_percent"].abs() > _LARGE]
    case, percent = farthest(
        {
            f"{cross}, error {error:g} %": rows.set_index("seed")["percent"]
            for (cross, error), rows in nimbus.groupby(["cross", "error_percent"])
        },
        100,
    )
    comparisons = [
        compared(
            f"accuracy, elastic traffic, lowest of all errors ({worst.name} %)",
            worst,
            at_least(95, _TEXT, text="over 95 in all the cases"),
        ),
        compared(
            "accuracy, inelastic traffic, errors above 12.5 %",
            wrong.groupby("seed")["accuracy_percent"].mean(),
            at_most(50, _TEXT, text="classified as elastic"),
        ),
        compared(
            f"throughput ÷ CUBIC's, the case that differs most ({case})",
            percent,
            similar(100, _TEXT, text="similar in all the scenarios"),
        ),
    ]
    figure = Figure(figsize=(10, 3.5), layout="constrained")
    for axes, (column, label) in zip(
        figure.subplots(1, 3),
        (
            ("accuracy_percent", "accuracy (%)"),
            ("mbps", "throughput (Mbit/s)"),
            ("delay_ms", "queueing delay (ms)"),
        ),
        strict=True,
    ):
        mean = nimbus.pivot_table(column, "error_percent", "cross")
        mean.plot(ax=axes, marker="o")
        axes.set_xlabel("error of the rate (%)")
        axes.set_ylabel(label)
        axes.legend(fontsize="small", title=None)
    return Findings(table=table, figure=figure, comparisons=tuple(comparisons))


STUDY = Study(
    info=info("nimbus-13"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
