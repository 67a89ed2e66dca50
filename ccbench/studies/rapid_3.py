# SPDX-License-Identifier: Apache-2.0
"""One loss in a million packets (Konda and Kaur, Figure 3).

One long transfer on 1 Gbit/s for 600 s. The paper drops every millionth packet, this loses each
with that probability.

Where the paper leaves room: a transfer suffers from a loss for as many round trips as its
throughput over one is less than 95 % of the link, within 100 of the loss's repair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.scenario import Flow, Scenario
from ccbench.studies.catalogue import about
from ccbench.studies.rapid_links import (
    MBPS,
    RTT_MS,
    mean_packets,
    network,
    over_rtts,
    quantile_packets,
    scheme_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

_CCAS = ("rapid", "highspeed")
_LOSS = 1e-6
_DURATION_S = 600.0
#: Rate, loss and length of the quick version.
_QUICK = (25.0, 4e-4, 20.0)
#: Slow start, and the losses that end it, are not what is looked at.
_FROM_PART = 0.05
_ENOUGH = 0.95
_WITHIN_RTTS = 100
#: The paper's figure shows 40 s, in which there were 4 to 5 losses.
_SHOWN_S = 40.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps, loss, duration_s = _QUICK if quick else (MBPS, _LOSS, _DURATION_S)
    return tuple(
        network(Flow(cca=cca), mbps=mbps, loss=loss, duration_s=duration_s) for cca in _CCAS
    )


def _measure(run: Run) -> Rows:
    link = run.scenario.bottlenecks[0]
    from_s = _FROM_PART * run.scenario.duration_s
    mbps = over_rtts(run)
    mbps = mbps.loc[from_s:]
    samples = run.flows[run.flows["flow"] == 0]
    repaired = samples["time_ns"].to_numpy()[1:][np.diff(samples["retransmits"]) > 0] / 1e9
    repaired = repaired[repaired > from_s]
    step_rtts = float(np.diff(mbps.index[:2])[0]) * 1e3 / RTT_MS
    p99 = quantile_packets(run, 0.99)[0]
    common = {
        "scheme": scheme_of(run.scenario),
        "mean_mbps": float(mbps.mean()),
        "link_mbps": link.mean_mbps,
        "mean_packets": mean_packets(run),
        "p99_packets": p99,
        "room_packets": link.queue_packets,
        "duration_s": run.scenario.duration_s * (1 - _FROM_PART),
    }
    rows: Rows = []
    for time_s in repaired:
        # What was lost has not arrived a round trip before it is repaired.
        part = mbps.loc[time_s - RTT_MS / 1e3 : time_s + _WITHIN_RTTS * RTT_MS / 1e3]
        suffered = float((part < _ENOUGH * link.mean_mbps).sum()) * step_rtts
        least = float(part.min()) if len(part) else float("nan")
        rows.append({**common, "kind": "loss", "time_s": time_s, "mbps": least, "rtts": suffered})
    shown = mbps.iloc[: round(_SHOWN_S * 1e3 / RTT_MS / step_rtts)]
    rows += [
        {**common, "kind": "course", "time_s": time_s, "mbps": rate, "rtts": float("nan")}
        for time_s, rate in shown.iloc[::2].items()
    ]
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    losses = table[table["kind"] == "loss"].groupby("scheme")
    first = table.groupby("scheme").first()
    rate = losses.size() / first["duration_s"] * _SHOWN_S
    suffered = losses["rtts"].agg(["mean", "max"])
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                what="losses of RAPID in 40 s",
                ours=float(rate["RAPID"]),
                published="4 to 5",
                accepted=(3, 6),
                note="each packet is lost with that probability here",
            ),
            Comparison(
                what="RAPID: round trips below 95 % after a loss, longest",
                ours=float(suffered["max"]["RAPID"]),
                published="a few",
                accepted=(0, 5),
                note=f"mean {suffered['mean']['RAPID']:.2f}",
            ),
            Comparison(
                what="RAPID: mean throughput",
                ours=100 * float(first["mean_mbps"]["RAPID"] / first["link_mbps"]["RAPID"]),
                published="all of it but for these",
                accepted=(98, 100.5),
                unit="%",
            ),
            Comparison(
                what="RAPID: mean queue by its room",
                ours=100 * float(first["mean_packets"]["RAPID"] / first["room_packets"]["RAPID"]),
                published="negligible",
                accepted=(0, 5),
                unit="%",
                note=f"99th percentile {first['p99_packets']['RAPID']} of "
                f"{first['room_packets']['RAPID']}",
            ),
            Comparison(
                what="HighSpeed: round trips below 95 % after a loss, mean",
                ours=float(suffered["mean"]["HighSpeed"]),
                published="few, but for one loss",
                accepted=(0, 5),
                note=f"longest {suffered['max']['HighSpeed']:.1f}",
            ),
            Comparison(
                what="HighSpeed: mean queue by its room",
                ours=100
                * float(first["mean_packets"]["HighSpeed"] / first["room_packets"]["HighSpeed"]),
                published="very large",
                accepted=(20, 100),
                unit="%",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    courses = table[table["kind"] == "course"]
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for scheme, part in courses.groupby("scheme"):
        axes.plot(part["time_s"], part["mbps"], linewidth=0.8, label=scheme)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("throughput over a round trip (Mbit/s)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


STUDY = Study(
    about=about("rapid-3"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
