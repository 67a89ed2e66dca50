# SPDX-License-Identifier: Apache-2.0
"""Traces of BBR and CUBIC by queue length, 5 Mbit/s and 275 ms (Ware 2024, Figure 2.6).

Three traces of 60 s for each queue. A cycle of CUBIC is a drop that is not within a round trip of
another one.

A choice left open by the text: the queues, of which it names that of about 1 BDP, 128 packets. Here
they are the powers of two from a quarter to four times as many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.classify.setting import Setting
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.samples import Samples, draw_trace

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_MBPS, _RTT_MS = 5, 275
_BDP = 128
_QUEUES = (32, 64, _BDP, 256, 512)
_WHERE = "section 2.3.3.2"
_CCAS = ("bbr", "cubic")

_SAMPLES = Samples(
    settings=tuple(
        Setting(bandwidth_mbps=_MBPS, rtt_ms=_RTT_MS, queue_packets=queue) for queue in _QUEUES
    ),
    ccas=_CCAS,
    duration_s=60.0,
    quick_ccas=_CCAS,
    quick_count=1,
)


def _measure(run: Run) -> Rows:
    (row,) = _SAMPLES.measure(run)
    (link,) = run.scenario.path.bottlenecks
    drops_s = run.queue.loc[run.queue["event"] == "drop", "time_ns"].to_numpy() / 1e9
    apart = np.diff(drops_s, prepend=-np.inf) > run.scenario.path.rtt_ms / 1e3
    return [
        {
            **row,
            "seed": run.scenario.seed,
            "queue_packets": link.queue_packets,
            "cycles": int(apart.sum()),
            "mean_percent": 100 * float(row["trace"].mean()) / (link.queue_packets or 1),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    rows = table.assign(sample=table.groupby(["cca", "queue_packets"]).cumcount())
    longest = int(rows["queue_packets"].max())
    usual = min(_BDP, longest)

    def change(cca: str, column: str) -> Estimate:
        own = rows[rows["cca"] == cca].pivot_table(column, "sample", "queue_packets")
        return Estimate(own[longest] - own[usual])

    means = rows.groupby(["cca", "queue_packets"])[["cycles", "mean_percent"]].mean()
    return Findings(
        table=rows.drop(columns=["trace", "sample"]),
        figure=_figure(rows),
        comparisons=(
            Comparison(
                quantity=f"CUBIC's cycles in 60 s, {longest} minus {usual} packets",
                measured=change("cubic", "cycles"),
                published=at_most(0, _WHERE, text="not enough cycles if too large"),
                note=_words(means, "cubic", "cycles"),
            ),
            Comparison(
                quantity=f"part of the queue that BBR uses, {longest} minus {usual} packets",
                measured=change("bbr", "mean_percent"),
                published=at_most(0, _WHERE, text="very little of the queue if too large"),
                unit="points",
                note=_words(means, "bbr", "mean_percent"),
            ),
        ),
    )


def _words(means: pd.DataFrame, cca: str, column: str) -> str:
    of_cca = means.xs(cca)[column]
    each = (f"{queue}: {value:.1f}" for queue, value in of_cca.items())
    return ", ".join(each) + "."


def _figure(rows: pd.DataFrame) -> Figure:
    queues = sorted(set(rows["queue_packets"]))
    figure = Figure(figsize=(7, 1.3 * len(queues) + 0.8), layout="constrained")
    panels = figure.subplots(len(queues), len(_CCAS), sharex=True, sharey="row", squeeze=False)
    for line, queue in zip(panels, queues, strict=True):
        for axes, cca in zip(line, _CCAS, strict=True):
            own = rows[(rows["queue_packets"] == queue) & (rows["cca"] == cca)]
            draw_trace(axes, f"{cca}, {queue} packets", own["trace"].iloc[0])
    figure.supxlabel("time (s)", fontsize="small")
    figure.supylabel("packets in the queue", fontsize="small")
    return figure


STUDY = Study(
    info=info("ware-2.6"),
    scenarios=_SAMPLES.scenarios,
    measure=_measure,
    conclude=_conclude,
)
