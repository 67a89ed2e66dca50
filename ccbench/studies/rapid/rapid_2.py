# SPDX-License-Identifier: Apache-2.0
"""Queues with varying spare bandwidth (Konda and Kaur, Figure 2).

The runs are those of Figure 1. The text states queue lengths only for FAST, and says that
loss-based transfers lose packets when the bandwidth decreases. FAST's "more than 10,000" packets do
not fit into a queue of one bandwidth-delay product, 7212 packets on the stated path; the text calls
10,000 packets 15 % of that product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.rapid.links import FAST_SHORT, mean_packets, quantile_packets, scheme_of
from ccbench.studies.rapid.rapid_1 import scenarios
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_WHERE = "section IV.A"
_PARTS = (*(percent / 100 for percent in range(1, 100)), 0.995, 0.999, 1.0)


def _measure(run: Run) -> Rows:
    room = run.scenario.path.bottlenecks[0].queue_packets
    mean = mean_packets(run)
    first_change_s = min(flow.start_s for flow in run.scenario.flows if flow.is_udp)
    drops = run.samples("drops")[0].loc[first_change_s:]
    lost = int(drops.iloc[-1] - drops.iloc[0])
    return [
        {
            "scheme": scheme_of(run.scenario),
            "part": part,
            "packets": packets,
            "mean_packets": mean,
            "room_packets": room,
            "lost_after_first_change": lost,
        }
        for part, packets in zip(_PARTS, quantile_packets(run, *_PARTS), strict=True)
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    by_part = table.assign(share=100 * table["packets"] / table["room_packets"]).pivot_table(
        "share", "part", "scheme"
    )
    first = table.groupby("scheme")[["mean_packets", "room_packets"]].first()
    lost = table.groupby("scheme")["lost_after_first_change"].first()
    longest = table.groupby("scheme")["packets"].max()

    def queue(scheme: str, part: float, words: str, where: str) -> Comparison:
        mean, room = first.loc[scheme]
        return Comparison(
            quantity=f"{scheme}: {100 * part:.0f}th percentile of the queue, relative to its "
            "capacity",
            measured=float(by_part[scheme][part]),
            published=unbounded(words, where),
            unit="%",
            note=f"mean {mean:.0f} of {room:.0f} packets",
        )

    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            *(
                Comparison(
                    quantity=f"{scheme}: packets lost from the first change on",
                    measured=float(lost[scheme]),
                    published=at_least(2, _WHERE, text="multiple"),
                )
                for scheme in ("HighSpeed", "NewReno", FAST_SHORT)
            ),
            Comparison(
                quantity="FAST: packets lost from the first change on",
                measured=float(lost["FAST"]),
                published=at_most(1, _WHERE, text="not multiple"),
            ),
            Comparison(
                quantity="FAST: mean queue relative to HighSpeed's",
                measured=100
                * float(first["mean_packets"]["FAST"])
                / float(first["mean_packets"]["HighSpeed"]),
                published=at_most(100, _WHERE, text="smaller but significant"),
                unit="%",
            ),
            Comparison(
                quantity="FAST: longest queue (packets)",
                measured=float(longest["FAST"]),
                published=at_least(10_000, _WHERE, text="more than 10,000"),
                note="its room is {:.0f} packets".format(first["room_packets"]["FAST"]),
            ),
            queue("RAPID", 0.5, "fairly small", "abstract"),
            queue("RAPID", 0.99, "fairly small", "abstract"),
            *(
                queue(scheme, 0.9, "persistent queueing", _WHERE)
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
    info=info("rapid-2"),
    scenarios=scenarios,
    measure=_measure,
    conclude=_conclude,
)
