# SPDX-License-Identifier: Apache-2.0
"""NimbusCC and CUBIC against BBR (Goyal et al. 2022, appendix B.2, Figure 21).

Cross traffic is one BBR flow, with buffers of 0.5 to 4 BDP, for two minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, farthest
from ccbench.studies.nimbus.testbed import CCAS, COLOURS, cross_traffic, seeds, shared
from ccbench.studies.published import similar
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_BUFFERS_BDP = (0.5, 1.0, 2.0, 4.0)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        shared(
            Flow(cca=cca),
            *cross_traffic("elastic", cca="bbr"),
            queue_bdp=buffer,
            duration_s=16.0 if quick else 120.0,
            seed=seed,
            name=f"{cca} against BBR, {buffer:g} BDP",
        )
        for cca in CCAS
        if cca in ("nimbus", "cubic")
        for buffer in (_BUFFERS_BDP[::2] if quick else _BUFFERS_BDP)
        for seed in seeds(quick=quick)
    )


def _measure(run: Run) -> Rows:
    room = run.scenario.path.bottlenecks[0].queue_packets or 0
    own, bbr = run.summary()["throughput_mbps"]
    return [
        {
            "cca": run.scenario.flows[0].cca,
            "buffer_bdp": round(room / run.scenario.path.bdp_packets(), 2),
            "seed": run.scenario.seed,
            "mbps": own,
            "bbr_mbps": bbr,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    rates = table.pivot_table("mbps", ["buffer_bdp", "seed"], "cca")
    percent = 100 * rates["nimbus"] / rates["cubic"]
    name, values = farthest({f"{bdp:g} BDP": of for bdp, of in percent.groupby("buffer_bdp")}, 100)
    comparisons = (
        compared(
            f"throughput of NimbusCC ÷ CUBIC's, the buffer with the largest difference ({name})",
            values,
            similar(100, "appendix B.2", text="the same for all buffer sizes"),
        ),
    )
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for cca, rows in table.groupby("cca"):
        mean = rows.groupby("buffer_bdp")["mbps"].mean()
        axes.plot(mean.index, mean, "o-", color=COLOURS[str(cca)], label=cca)
    axes.set_xlabel("buffer (BDP)")
    axes.set_ylabel("throughput against BBR (Mbit/s)")
    axes.legend(fontsize="small")
    return Findings(table=table, figure=figure, comparisons=comparisons)


STUDY = Study(
    info=info("nimbus-21"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
