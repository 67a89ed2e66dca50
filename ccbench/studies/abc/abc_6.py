# SPDX-License-Identifier: Apache-2.0
"""Prediction of a Wi-Fi link's rate at several sending rates (Goyal et al. 2020, Figure 6).

A sender of constant rate does not fill the link, so that most batches are not full. The estimate of
section 5.1, after each block ACK, is averaged over 30 s and compared with the link's rate for a
backlogged sender. It is at most twice the current rate ("prediction rate caps").

Choices left open by the paper: its three links are here those of MCS 1, 4 and 7
(:mod:`ccbench.studies.abc.wifi`), and nine rates are multiples of a tenth of the link's rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.studies.abc.links import QUEUE_PACKETS
from ccbench.studies.abc.wifi import MCS_MBPS, RTT_MS, wifi
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_MCS = (1, 4, 7)
_TENTHS = tuple(range(1, 10))
_AVERAGED_S = 30.0
#: The start of a run is not averaged: the window of the estimate is not full.
_START_S = 1.0
#: The cap of an estimate relative to the current rate.
_CAP = 2
_WITHIN_PERCENT = 5
_HALF = 50
_STYLES = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"))


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    averaged_s = 1.0 if quick else _AVERAGED_S
    return tuple(
        Scenario(
            flows=(Flow(kind="cbr", rate_mbps=round(tenths / 10 * link.mean_mbps, 3)),),
            path=NetworkPath(
                bottlenecks=(Bottleneck(wifi=link, queue_packets=QUEUE_PACKETS),), rtt_ms=RTT_MS
            ),
            duration_s=_START_S + averaged_s,
            queue_log=False,
            name=f"{tenths / 10:.0%} of a link of {link.mean_mbps:.1f} Mbit/s",
        )
        for link in (wifi([MCS_MBPS[index]]) for index in _MCS)
        for tenths in (_TENTHS[::4] if quick else _TENTHS)
    )


def _measure(run: Run) -> Rows:
    (link,) = run.scenario.path.bottlenecks
    assert link.wifi is not None
    batches = run.batches[run.batches["acked_ns"] > _START_S * 1e9]
    return [
        {
            "bitrate_mbps": link.wifi.bitrates_mbps[0],
            "link_mbps": link.wifi.mean_mbps,
            "sent_mbps": run.scenario.flows[0].rate_mbps,
            "predicted_mbps": float(batches["estimate_bps"].mean()) / 1e6,
            "frames": float(batches["frames"].mean()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    expected = table["link_mbps"].clip(upper=_CAP * table["sent_mbps"])
    table = table.assign(error_percent=100 * (table["predicted_mbps"] / expected - 1))
    error = table["error_percent"].abs()
    farthest = table.iloc[int(error.to_numpy().argmax())]
    uncapped = error[_CAP * table["sent_mbps"] > table["link_mbps"]]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="sending rates with an error of at most 5 %, given the cap",
                measured=100 * float((error <= _WITHIN_PERCENT).mean()),
                published=at_least(_HALF, "caption of Figure 6", text="most"),
                unit="%",
                note=f"Largest error: {farthest.error_percent:+.1f} % at "
                f"{farthest.sent_mbps:.1f} of {farthest.link_mbps:.1f} Mbit/s.",
            ),
            Comparison(
                quantity="largest error where the cap is above the link's rate",
                measured=float(uncapped.max()),
                published=similar(0, "section 5.1", text="within 5 %"),
                unit="%",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for (colour, marker), (bitrate, rows) in zip(
        _STYLES, table.groupby("bitrate_mbps"), strict=True
    ):
        axes.axhline(rows["link_mbps"].iloc[0], color=colour, linestyle=":")
        axes.plot(
            rows["sent_mbps"],
            rows["predicted_mbps"],
            marker=marker,
            color=colour,
            label=f"bitrate {bitrate:g} Mbit/s",
        )
    highest = table["link_mbps"].max() / _CAP
    axes.plot([0, highest], [0, _CAP * highest], "--", color="0.5", label="twice the sending rate")
    axes.set_xlabel("sending rate (Mbit/s)")
    axes.set_ylabel("predicted rate (Mbit/s)")
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("abc-6"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
