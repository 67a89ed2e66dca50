# SPDX-License-Identifier: Apache-2.0
"""The detection threshold with a heavy-tailed mix (Goyal et al. 2022, appendix D.2, Figure 25).

The experiment of ``nimbus-8`` with thresholds from 1 to 6. A choice left open by the paper:
deviations from the fair share are over 5 s, as in its Figure 8.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import delays_ms
from ccbench.studies.nimbus.nimbus_8 import deviations_mbps, mixed
from ccbench.studies.nimbus.testbed import seeds
from ccbench.studies.published import at_least, at_most
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_THRESHOLDS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SETTING = "threshold_percent"
_TEXT = "appendix D.2"
#: The module's default, with the same runs as ``nimbus-8``.
_DEFAULT = 2.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        replace(
            scenario := mixed(
                "nimbus",
                seed,
                20.0 if quick else 360.0,
                settings={} if threshold == _DEFAULT else {_SETTING: round(100 * threshold)},
            ),
            name=f"{scenario.name}, threshold {threshold:g}",
        )
        for threshold in (_THRESHOLDS[::5] if quick else _THRESHOLDS)
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    configured = dict(run.scenario.path.sysctls).get(f"net.ipv4.tcp_nimbus_{_SETTING}")
    off = deviations_mbps(run)
    mode = run.cca_info(0)["mode"]
    return [
        {
            "threshold": _DEFAULT if configured is None else float(configured) / 100,
            "seed": run.scenario.seed,
            "delay_percent": 100 * float((mode == "delay").mean()),
            "median_rtt_ms": float(delays_ms(run).median()) + run.scenario.path.rtt_ms,
            "deviation_p10_mbps": float(off.quantile(0.1)),
            "deviation_median_mbps": float(off.median()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    low, high = (
        table[table["threshold"] == at].set_index("seed") for at in (min(_THRESHOLDS), 6.0)
    )
    comparisons = (
        compared(
            "time in delay-control mode, threshold 6 minus threshold 1",
            high["delay_percent"] - low["delay_percent"],
            at_least(0, _TEXT, text="a higher fraction"),
        ),
        compared(
            "median RTT, threshold 6 minus threshold 1",
            high["median_rtt_ms"] - low["median_rtt_ms"],
            at_most(0, _TEXT, text="lower"),
            unit="ms",
        ),
        compared(
            "10th percentile of the deviation from fair share, threshold 6 minus threshold 1",
            high["deviation_p10_mbps"] - low["deviation_p10_mbps"],
            at_most(0, "caption of Figure 25", text="loses throughput"),
            unit="Mbit/s",
        ),
    )
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    mean = table.groupby("threshold").mean()
    left.plot(mean.index, mean["median_rtt_ms"], "o-")
    left.set_ylabel("median RTT (ms)")
    for column in ("deviation_p10_mbps", "deviation_median_mbps"):
        right.plot(mean.index, mean[column], "o-", label=column)
    right.set_ylabel("off the fair share (Mbit/s)")
    right.legend(fontsize="small")
    for axes in (left, right):
        axes.set_xlabel("threshold of η")
    return Findings(table=table, figure=figure, comparisons=comparisons)


STUDY = Study(
    info=info("nimbus-d2"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
