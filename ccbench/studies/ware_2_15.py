# SPDX-License-Identifier: Apache-2.0
"""What it takes to classify a server (Ware 2024, Figure 2.15 and section 2.5.1).

Each CCA sends as long as a server is asked, in each of the four settings. What leaves the links is
what a server is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.classify.setting import SETTINGS
from ccbench.classify.training import CCAS, VARIATIONS, scenario
from ccbench.classify.web.download import ASKED_S, UTILISATION, utilisation
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

#: What the thesis measured of Gordon, which cwnds are read from, in megabytes.
_GORDON_MB = 456


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        scenario(setting, cca, VARIATIONS[0], seed=seed, duration_s=ASKED_S)
        for setting in SETTINGS
        for cca in (CCAS[:3] if quick else CCAS)
        for seed in ((101,) if quick else (101, 102, 103))
    )


def _measure(run: Run) -> Rows:
    (link,) = run.scenario.bottlenecks
    (setting,) = (
        one
        for one in SETTINGS
        if (one.bandwidth_mbps, one.rtt_ms) == (link.bandwidth_mbps, run.scenario.rtt_ms)
    )
    queue = run.queue_events()
    asked = queue[queue["time_ns"] <= queue["time_ns"].iloc[0] + ASKED_S * 1e9]
    return [
        {
            "cca": run.scenario.flows[0].cca,
            "setting": setting.name,
            "seed": run.scenario.seed,
            "megabytes": asked.loc[asked["event"] == "dequeue", "bytes"].sum() / 1e6,
            "utilisation_percent": 100 * utilisation(queue, setting),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    servers = table.groupby(["cca", "seed"])["megabytes"].sum()
    megabytes = servers.groupby("cca").mean()
    used = table["utilisation_percent"]
    lowest = table.iloc[int(used.argmin())]
    return Findings(
        table=table,
        figure=_figure(megabytes),
        comparisons=(
            Comparison(
                what="mean over CCAs of the data of four traces",
                ours=float(megabytes.mean()),
                published="68",
                accepted=(58, 78),
                unit="MB",
                note=f"The links carry 75 MB in 20 s; here servers are asked for {ASKED_S:g} s, as "
                "handshakes come first.",
            ),
            Comparison(
                what=f"less than Gordon's {_GORDON_MB} MB",
                ours=100 * (1 - float(megabytes.mean()) / _GORDON_MB),
                published="85",
                accepted=(80, 90),
                unit="%",
            ),
            Comparison(
                what="standard deviation between CCAs, of the mean",
                ours=100 * float(megabytes.std() / megabytes.mean()),
                published="independent of the CCA, aside from CDG",
                accepted=(0, 5),
                unit="%",
                note=f"Least: {megabytes.idxmin()}, {megabytes.min():.1f} MB.",
            ),
            Comparison(
                what="lowest utilisation of a trace",
                ours=float(used.min()),
                published="at least 90",
                accepted=(90, 100),
                unit="%",
                note=f"{lowest['cca']} in {lowest['setting']}.",
            ),
            Comparison(
                what=f"traces that use {UTILISATION:.0%} of the link",
                ours=100 * float((used >= 100 * UTILISATION).mean()),
                published="all",
                accepted=(100, 100),
                unit="%",
            ),
        ),
    )


def _figure(megabytes: pd.Series[float]) -> Figure:
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.bar(megabytes.index, megabytes)
    axes.axhline(68, color="0.4", linestyle=":", label="the thesis's mean")
    axes.tick_params(axis="x", rotation=45)
    axes.set_ylabel("data of four traces (MB)")
    axes.legend(fontsize="small")
    axes.grid(axis="y", alpha=0.3)
    return figure


STUDY = Study(
    about=about("ware-2.15"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
