# SPDX-License-Identifier: Apache-2.0
"""BBR and ABC on a cellular link over time (Goyal et al. 2020, Figure 14, appendix A).

The link is that of Figure 1, which the paper does not name; as in ``abc-1``, it is the first of
the eight. A sender overshoots in an interval of half a second if more of its bytes arrive at the
queue than the link can carry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.run import packets
from ccbench.studies.abc.links import ABC, CELLULAR_S, SCHEMES, cellular, course, measured
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_BBR = next(scheme for scheme in SCHEMES if scheme.name == "BBR")
_WHERE = "appendix A"
_INTERVAL_S = 0.5
_QUICK_S = 14.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = _QUICK_S if quick else CELLULAR_S
    return tuple(
        cellular(scheme, CELLULAR_LINKS[0], duration_s=duration_s) for scheme in (_BBR, ABC)
    )


def _measure(run: Run) -> Rows:
    now = course(run, _INTERVAL_S)
    arrived = packets.delivered(run)
    edges = [0.0, *now.index]
    bits = np.histogram(arrived["arrival_s"], edges, weights=8e-6 * arrived["bytes"])[0]
    same = measured(run)
    columns = ("scheme", "p95_ms", "utilisation_percent")
    return [
        {
            **{column: same[column] for column in columns},
            "time_s": time_s,
            "capacity_mbps": row.capacity_mbps,
            "arriving_mbps": arriving / _INTERVAL_S,
            "throughput_mbps": throughput,
            "delay_ms": row.delay_ms,
        }
        for time_s, row, throughput, arriving in zip(
            now.index, now.itertuples(), now[0], bits, strict=True
        )
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    over = table["arriving_mbps"] > table["capacity_mbps"]
    overshoots = 100 * over.groupby(table["scheme"]).mean()
    p95_ms = table.groupby("scheme")["p95_ms"].first()
    bbr, abc = _BBR.name, ABC.name
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="intervals in which BBR exceeds the capacity, minus those of ABC",
                measured=float(overshoots[bbr] - overshoots[abc]),
                published=at_least(0, _WHERE, text="frequently overshoots the link capacity"),
                unit="points",
                note=f"BBR: {overshoots[bbr]:.0f} %, ABC: {overshoots[abc]:.0f} %.",
            ),
            Comparison(
                quantity="95th percentile of BBR's delay ÷ ABC's",
                measured=float(p95_ms[bbr] / p95_ms[abc]),
                published=at_least(1, _WHERE, text="excessive queuing"),
                note=f"BBR: {p95_ms[bbr]:.0f} ms, ABC: {p95_ms[abc]:.0f} ms.",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 5), layout="constrained")
    panels = figure.subplots(4, 1, sharex=True, height_ratios=(2, 1, 2, 1))
    delays = panels[1::2]
    for name, top, bottom in zip((_BBR.name, ABC.name), panels[::2], delays, strict=True):
        rows = table[table["scheme"] == name]
        top.fill_between(rows["time_s"], rows["capacity_mbps"], color="0.85", step="pre")
        top.plot(rows["time_s"], rows["throughput_mbps"], color="#0072b2", linewidth=1)
        top.set_ylabel(f"{name}\nMbit/s")
        bottom.plot(rows["time_s"], rows["delay_ms"], color="#d55e00", linewidth=1)
        bottom.set_ylabel("delay (ms)")
        bottom.set_ylim(0, 1.05 * table["delay_ms"].max())
    panels[-1].set_xlabel("time (s)")
    return figure


STUDY = Study(
    info=info("abc-14"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
