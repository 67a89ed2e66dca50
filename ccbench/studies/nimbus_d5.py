# SPDX-License-Identifier: Apache-2.0
"""How long it takes to elect a pulser (Goyal et al. 2022, appendix D.5, Table 5).

Eight NimbusCC flows with Vegas start at once and elect a pulser, 45 s. Where the paper leaves room:
a pulser is elected when there is the first one, and several are there at the times at which two
flows or more are pulsers, of all 45 s. κ is 1, as in the rest of the paper; the module has no other
value. 20 seeds, as it has 20 runs; a run without any pulser counts with its length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from ccbench.scenario import Flow
from ccbench.studies.catalogue import about
from ccbench.studies.nimbus_testbed import compared, shared
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.run import Run
    from ccbench.scenario import Scenario

_CCA = "nimbus_vegas"
_FLOWS = 8
_DURATION_S = 45.0
_SEEDS = 20


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca=_CCA, count=_FLOWS),
            settings={"elect": 1},
            duration_s=20.0 if quick else _DURATION_S,
            seed=seed,
            name=f"{_FLOWS} flows that elect a pulser",
        )
        for seed in range(1, 2 if quick else _SEEDS + 1)
    )


def _measure(run: Run) -> Rows:
    roles = pd.DataFrame({flow: run.cca_info(flow)["role"] for flow in range(_FLOWS)})
    pulsers = (roles > 0).sum(axis=1)
    elected = pulsers[pulsers > 0]
    return [
        {
            "seed": run.scenario.seed,
            "elected_s": elected.index[0] if len(elected) else run.scenario.duration_s,
            "several_percent": 100 * float((pulsers > 1).mean()),
            "none_percent": 100 * float((pulsers == 0).mean()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    comparisons = (
        compared(
            "time to elect a pulser",
            table["elected_s"],
            published="8.0",
            accepted=(4, 12),
            unit="s",
        ),
        compared(
            "time with several pulsers",
            table["several_percent"],
            published="9.3",
            accepted=(0, 20),
        ),
    )
    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(table["elected_s"])
    left.set_xlabel("time to elect a pulser (s)")
    left.set_ylabel("runs")
    right.hist(table["several_percent"])
    right.set_xlabel("time with several pulsers (%)")
    return Findings(table=table, figure=figure, comparisons=comparisons)


STUDY = Study(
    about=about("nimbus-d5"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
