# SPDX-License-Identifier: Apache-2.0
"""Absolute and relative harm beside Jain's index (Ware 2024, Figure 5.2).

Where the thesis leaves room: it does not say which networks these are; here they are links of 10,
50 and 100 Mbit/s, round-trip times of 20, 50 and 100 ms, and queues of 0.5 to 8 BDP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.harm import long_flows
from ccbench.noise import NO_NOISE
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware_harm import harms, measure, scenarios_of

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.scenario import Scenario

#: Jain's index from which on flows count as sharing equally.
_EQUAL = 0.95


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return scenarios_of(
        long_flows(
            noise=NO_NOISE,  # as on its page
            alpha="bbr",
            beta="cubic",
            alpha_flows=alpha_flows,
            bandwidth_mbps=bandwidth_mbps,
            rtt_ms=rtt_ms,
            queue_bdp=queue_bdp,
            duration_s=40 if quick else 180,
        )
        for bandwidth_mbps in ((10,) if quick else (10, 50, 100))
        for rtt_ms in ((20,) if quick else (20, 50, 100))
        for queue_bdp in ((1, 8) if quick else (0.5, 1, 2, 4, 8))
        for alpha_flows in ((1, 3) if quick else (1, 2, 3, 4, 5))
    )


def _conclude(table: pd.DataFrame) -> Findings:
    pairs = harms(table)
    equal = pairs[pairs["jain"] >= _EQUAL]
    most = int(pairs["alpha_flows"].max())
    return Findings(
        table=pairs,
        figure=_figure(pairs),
        comparisons=(
            Comparison(
                what=f"mean relative harm where Jain's index is {_EQUAL:g} or more",
                ours=float(equal["relative_harm"].mean()),
                published="0",
                accepted=(-0.05, 0.05),
            ),
            Comparison(
                what=f"absolute harm beside {most} BBR flows less that beside 1, mean",
                ours=_growth(pairs, "absolute_harm", most),
                published="above 0: it grows with the number of flows",
                accepted=(0.05, 1),
            ),
            Comparison(
                what=f"relative harm beside {most} BBR flows less that beside 1, mean",
                ours=_growth(pairs, "relative_harm", most),
                published="0 or less: not the number of flows makes it large",
                accepted=(-1, 0.05),
            ),
            Comparison(
                what="share of settings with a lower index in which CUBIC has the better of BBR",
                ours=float((pairs.loc[pairs["jain"] < _EQUAL, "relative_harm"] < 0).mean()),
                published="neither 0 nor 1: the index does not tell who takes more",
                accepted=(0.01, 0.99),
            ),
        ),
    )


def _growth(pairs: pd.DataFrame, column: str, most: int) -> float:
    """Return by how much more a harm is with the most flows than with one, on average."""
    means = pairs.groupby("alpha_flows")[column].mean()
    return float(means[most] - means[1])


def _figure(pairs: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, column in zip(
        figure.subplots(1, 2, sharex=True), ("absolute_harm", "relative_harm"), strict=True
    ):
        for flows, rows in pairs.groupby("alpha_flows"):
            axes.plot(rows["jain"], rows[column], "o", ms=4, alpha=0.7, label=f"{flows} BBR")
        axes.axhline(0, color="0.6", linewidth=0.8)
        axes.set_xlabel("Jain's index")
        axes.set_ylabel(column.replace("_", " "))
        axes.grid(alpha=0.3)
    axes.legend(fontsize="small", title="beside 1 CUBIC", title_fontsize="small")
    return figure


STUDY = Study(
    about=about("ware-5.2"),
    scenarios=_scenarios,
    measure=measure,
    conclude=_conclude,
)
