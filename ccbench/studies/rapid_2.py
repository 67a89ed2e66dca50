# SPDX-License-Identifier: Apache-2.0
"""Queues where bandwidth comes and goes (Konda and Kaur, Figure 2).

The runs are those of Figure 1. The text gives no numbers but FAST's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.studies.catalogue import about
from ccbench.studies.rapid_1 import scenarios
from ccbench.studies.rapid_links import mean_packets, quantile_packets, scheme_of
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

_PARTS = (*(percent / 100 for percent in range(1, 100)), 0.995, 0.999, 1.0)


def _measure(run: Run) -> Rows:
    room = run.scenario.bottlenecks[0].queue_packets
    mean = mean_packets(run)
    drops = int(run.summary()["drops"].sum())
    return [
        {
            "scheme": scheme_of(run.scenario),
            "part": part,
            "packets": packets,
            "mean_packets": mean,
            "room_packets": room,
            "drops": drops,
        }
        for part, packets in zip(_PARTS, quantile_packets(run, *_PARTS), strict=True)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    by_part = table.assign(share=100 * table["packets"] / table["room_packets"]).pivot_table(
        "share", "part", "scheme"
    )
    first = table.groupby("scheme")[["mean_packets", "drops", "room_packets"]].first()

    def note(scheme: str) -> str:
        mean, drops, room = (first[name][scheme] for name in first)
        return f"mean {mean:.0f} of {room:.0f} packets, {drops:.0f} dropped"

    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                what="RAPID: 99th percentile of the queue by its room",
                ours=float(by_part["RAPID"][0.99]),
                published="fairly small",
                accepted=(0, 20),
                unit="%",
                note=note("RAPID"),
            ),
            Comparison(
                what="RAPID: median of the queue by its room",
                ours=float(by_part["RAPID"][0.5]),
                published="fairly small",
                accepted=(0, 10),
                unit="%",
                note="with the tolerance for noise that is the default more: rapid-buffers",
            ),
            *(
                Comparison(
                    what=f"{scheme}: 90th percentile of the queue by its room",
                    ours=float(by_part[scheme][0.9]),
                    published="persistent queueing",
                    accepted=(20, 100),
                    unit="%",
                    note=note(scheme),
                )
                for scheme in ("HighSpeed", "NewReno", "Reno, SACK")
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for scheme, part in table.groupby("scheme"):
        axes.plot(part["packets"] + 1, part["part"], label=scheme)
    axes.set_xscale("log")
    axes.set_xlabel("packets waiting, and one")
    axes.set_ylabel("part of the time")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


STUDY = Study(
    about=about("rapid-2"),
    scenarios=scenarios,
    measure=_measure,
    conclude=_conclude,
)
