# SPDX-License-Identifier: Apache-2.0
"""Absolute and relative harm compared with Jain's index (Ware 2024, Figures 5.1 and 5.2).

Choices left open by the thesis: it does not name the networks; here they are links of 10, 50 and
100 Mbit/s, round-trip times of 20 and 100 ms, and queues of 0.5, 2 and 8 BDP, with five seeds each.
Its "high" index is here at least 0.95, and its index of 0.8 is within 0.05 of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.path import typical_path
from ccbench.harm import long_flows
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, fraction, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.harm import EXPERIMENT, measured

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: Minimum of Jain's index for flows to count as sharing equally.
_EQUAL = 0.95
#: Jain's index of both examples of Figure 5.1, and the number of their BBR flows.
_ALIKE, _ALIKE_FLOWS = fraction(0.8, "Figure 5.1"), 3
_WHERE = "section 5.3.1"


def _scenarios(*, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
    return tuple(
        long_flows(
            alpha="bbr",
            beta="cubic",
            alpha_flows=alpha_flows,
            path=typical_path(bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms, queue_bdp=queue_bdp),
            duration_s=40 if quick else 180,
            seed=seed,
        ).scenarios
        for bandwidth_mbps in ((10,) if quick else (10, 50, 100))
        for rtt_ms in ((20,) if quick else (20, 100))
        for queue_bdp in ((0.5, 8) if quick else (0.5, 2, 8))
        for alpha_flows in ((1, 3) if quick else (1, 2, 3, 4, 5))
        for seed in ((1,) if quick else (1, 2, 3, 4, 5))
    )


def _measure(solo: Run, competing: Run) -> Rows:
    return [measured(solo, competing)]


def _conclude(table: pd.DataFrame) -> Findings:
    pairs = table.sort_values(EXPERIMENT, ignore_index=True)
    equal = pairs[pairs["jain"] >= _EQUAL]
    most = int(pairs["alpha_flows"].max())
    alike = _alike(pairs)
    return Findings(
        table=pairs,
        figure=_figure(pairs),
        comparisons=(
            Comparison(
                quantity=f"smallest relative harm against {_ALIKE_FLOWS} BBR, Jain's index about "
                "0.8",
                measured=100 * float(alike.min()),
                published=at_most(0, _WHERE, text="below 0 in one of two examples"),
                unit="%",
                note="Of means over seeds.",
            ),
            Comparison(
                quantity=f"largest relative harm against {_ALIKE_FLOWS} BBR, Jain's index about "
                "0.8",
                measured=100 * float(alike.max()),
                published=at_least(0, _WHERE, text="above 0 in the other"),
                unit="%",
            ),
            Comparison(
                quantity=f"mean relative harm where Jain's index is {_EQUAL:g} or more",
                measured=Estimate(100 * equal.groupby("seed")["relative_harm"].mean()),
                published=similar(0, _WHERE, text="centred at 0"),
                unit="%",
            ),
            Comparison(
                quantity=f"absolute harm from {most} BBR flows minus that from 1, mean",
                measured=Estimate(_growth(pairs, "absolute_harm", most)),
                published=at_least(0, _WHERE, text="gets worse with the number of flows"),
                unit="%",
            ),
            Comparison(
                quantity=f"relative harm from {most} BBR flows minus that from 1, mean",
                measured=Estimate(_growth(pairs, "relative_harm", most)),
                published=unbounded("worst settings do not depend on the number", _WHERE),
                unit="%",
            ),
        ),
    )


def _alike(pairs: pd.DataFrame) -> pd.Series[float]:
    """Return the relative harms in the networks with about the index of Figure 5.1."""
    network = ["bandwidth_mbps", "rtt_ms", "queue_packets"]
    several = pairs[pairs["alpha_flows"] == _ALIKE_FLOWS]
    means = several.groupby(network)[["jain", "relative_harm"]].mean()
    return means.loc[means["jain"].between(_ALIKE.low, _ALIKE.high), "relative_harm"]


def _growth(pairs: pd.DataFrame, column: str, most: int) -> pd.Series[float]:
    """Return the increase of a harm from one flow to the most flows, in percent, per seed."""
    means = pairs.groupby(["alpha_flows", "seed"])[column].mean()
    growth: pd.Series[float] = 100 * (means[most] - means[1])
    return growth


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
    axes.legend(fontsize="small", title="against 1 CUBIC", title_fontsize="small")
    return figure


STUDY = Study(
    info=info("ware-5.2"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
