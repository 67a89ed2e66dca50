# SPDX-License-Identifier: Apache-2.0
"""Time to elect a pulser (Goyal et al. 2022, appendix D.5, Table 5).

Eight NimbusCC flows with Vegas start simultaneously and elect a pulser, for several values of κ.
Runs last 45 s, with 20 seeds for the paper's 20 runs. Choices left open by the paper: a pulser is
elected when the first flow becomes one (a run without any counts with its duration), and the time
with several pulsers is a percentage of the whole 45 s.

The implementation here waits for a whole window of the FFT, 5 s, before flows look for a pulser.
The paper's flows, which have one after 2.7 s with κ = 2, do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import PULSERS
from ccbench.studies.nimbus.testbed import shared
from ccbench.studies.published import percentage, quantity
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.study import Comparison

_CCA = "nimbus_vegas"
_FLOWS = 8
_DURATION_S = 45.0
_SEEDS = 20
_SETTING = "kappa_percent"


#: Table 5: by κ, the time to elect a pulser (s), and the time with several pulsers (%).
_TABLE_5 = {
    0.5: (19.8, 0.0),
    0.75: (15.3, 4.6),
    1.0: (8.0, 9.3),
    1.5: (5.4, 15.4),
    2.0: (2.7, 29.3),
}
_COLUMNS = {"elected_s": "time to elect a pulser (s)", "several_percent": "time with several (%)"}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca=_CCA, count=_FLOWS),
            settings={"elect": 1, _SETTING: round(100 * kappa)},
            duration_s=20.0 if quick else _DURATION_S,
            seed=seed,
            name=f"{_FLOWS} flows that elect a pulser, κ = {kappa:g}",
        )
        for kappa in ((1.0, 2.0) if quick else _TABLE_5)
        for seed in range(1, 2 if quick else _SEEDS + 1)
    )


def _measure(run: Run) -> Rows:
    roles = pd.DataFrame({flow: run.cca_info(flow)["role"] for flow in range(_FLOWS)})
    pulsers = roles.isin(PULSERS).sum(axis=1)
    elected = pulsers[pulsers > 0]
    settings = dict(run.scenario.path.sysctls)
    return [
        {
            "kappa": int(settings[f"net.ipv4.tcp_nimbus_{_SETTING}"]) / 100,
            "seed": run.scenario.seed,
            "elected_s": elected.index[0] if len(elected) else run.scenario.duration_s,
            "several_percent": 100 * float((pulsers > 1).mean()),
            "none_percent": 100 * float((pulsers == 0).mean()),
        }
    ]


def _compare(kappa: float, rows: pd.DataFrame) -> tuple[Comparison, ...]:
    elected_s, several_percent = _TABLE_5[kappa]
    return (
        compared(
            f"κ = {kappa:g}: time to elect a pulser",
            rows["elected_s"],
            quantity(elected_s, "Table 5"),
            unit="s",
        ),
        compared(
            f"κ = {kappa:g}: time with several pulsers",
            rows["several_percent"],
            percentage(several_percent, "Table 5"),
        ),
    )


def _conclude(table: pd.DataFrame) -> Findings:
    mean = table.groupby("kappa")[list(_COLUMNS)].mean()
    figure = Figure(figsize=(8, 4), layout="constrained")
    for i, (axes, column) in enumerate(zip(figure.subplots(1, 2), _COLUMNS, strict=True)):
        axes.plot(mean.index, mean[column], "o-", label="measured")
        axes.plot(list(_TABLE_5), [row[i] for row in _TABLE_5.values()], "s--", label="paper")
        axes.set_xlabel("κ")
        axes.set_ylabel(_COLUMNS[column])
        axes.legend()
    comparisons = tuple(
        comparison
        for kappa in _TABLE_5
        if kappa in mean.index
        for comparison in _compare(kappa, table[table["kappa"] == kappa])
    )
    return Findings(table=table, figure=figure, comparisons=comparisons)


STUDY = Study(
    info=info("nimbus-d5"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
