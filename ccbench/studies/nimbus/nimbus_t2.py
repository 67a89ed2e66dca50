# SPDX-License-Identifier: Apache-2.0
"""NimbusCC's classification of cross traffic (Goyal et al. 2022, Table 2).

One flow competes with NimbusCC. Its class is NimbusCC's verdict for more than half of the time,
from 10 s on. Choices left open by the paper: the application offers a quarter of the link over
CUBIC, the constant stream is half of the link, and the fixed window is half of the BDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import SETTLED_S, verdicts
from ccbench.studies.nimbus.testbed import LINK_MBPS, RTT_MS, seeds, shared
from ccbench.studies.published import at_least, at_most
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_MAJORITY = 50.0
_HALF_BDP = (("tcp_fixed.packets", str(round(LINK_MBPS * 1e3 * RTT_MS / 8 / 1500 / 2))),)
_ELASTIC = ("cubic", "reno", "copa", "vegas", "bbr")
_FIXED = "fixed window"
_OTHERS = {
    **{cca: Flow(cca=cca, label=cca) for cca in _ELASTIC},
    _FIXED: Flow(cca="fixed", label=_FIXED),
    "vivace": Flow(cca="vivace", label="vivace"),
    "application": Flow(kind="rate", rate_mbps=LINK_MBPS / 4, label="application"),
    "constant stream": Flow(kind="cbr", rate_mbps=LINK_MBPS / 2, label="constant stream"),
}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca="nimbus"),
            other,
            duration_s=16.0 if quick else 60.0,
            seed=seed,
            name=f"nimbus against {name}",
            module_parameters=_HALF_BDP if name == _FIXED else (),
        )
        for name, other in _OTHERS.items()
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    observed = verdicts(run).loc[SETTLED_S:]
    own, other = run.summary()["throughput_mbps"]
    return [
        {
            "traffic": run.scenario.flows[1].label,
            "seed": run.scenario.seed,
            "elastic_percent": 100 * float(observed["is_elastic"].mean()),
            "mbps": own,
            "other_mbps": other,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    called = table.set_index(["traffic", "seed"])["elastic_percent"]
    elastic = at_least(_MAJORITY, "Table 2", text="elastic")
    inelastic = at_most(_MAJORITY, "Table 2", text="inelastic")
    comparisons = tuple(
        compared(
            f"called elastic: {name}",
            called[name],
            elastic if name in (*_ELASTIC, _FIXED) else inelastic,
            unit="% of the time",
        )
        for name in _OTHERS
    )
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    mean = called.groupby("traffic", sort=False).mean()
    axes.bar(list(mean.index), mean)
    axes.axhline(_MAJORITY, color="0.6", linestyle="--")
    axes.set_ylabel("called elastic (% of the time)")
    return Findings(table=table, figure=figure, comparisons=comparisons)


STUDY = Study(
    info=info("nimbus-t2"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
