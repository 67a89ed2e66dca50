# SPDX-License-Identifier: Apache-2.0
"""One loss in a million packets (Konda and Kaur, Figure 3).

One long transfer on 1 Gbit/s for 600 s; the link drops every millionth packet. The paper's figure
and statements cover the time from 30 to 70 s.

A choice left open by the paper: the effect of a loss is the number of round trips with a throughput
below 95 % of the link, within 100 round trips of the loss's repair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, between, quantity, unbounded
from ccbench.studies.rapid.links import (
    MBPS,
    RTT_MS,
    long_transfer,
    mean_packets,
    network,
    over_rtts,
    quantile_packets,
    scheme_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_WHERE = "section IV.A"
_CCAS = ("rapid", "highspeed", "fast")
_LOSS_EVERY = 1_000_000
_DURATION_S = 600.0
#: Rate in Mbit/s, loss period in packets and duration in seconds of the quick version.
_QUICK = (25.0, 2500, 20.0)
#: The period shown in the paper, as shares of the run.
_FROM_PART, _TO_PART = 30.0 / _DURATION_S, 70.0 / _DURATION_S
_ENOUGH = 0.95
_WITHIN_RTTS = 100
#: FAST's recovery time after a loss in round trips.
_FAST_RTTS = 70


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps, every, duration_s = _QUICK if quick else (MBPS, _LOSS_EVERY, _DURATION_S)
    return tuple(
        network(long_transfer(cca), mbps=mbps, loss_every_packets=every, duration_s=duration_s)
        for cca in _CCAS
    )


def _measure(run: Run) -> Rows:
    link = run.scenario.path.bottlenecks[0]
    from_s, to_s = (part * run.scenario.duration_s for part in (_FROM_PART, _TO_PART))
    mbps = over_rtts(run)
    samples = run.flows[run.flows["flow"] == 0]
    repaired = samples["time_ns"].to_numpy()[1:][np.diff(samples["retransmits"]) > 0] / 1e9
    step_rtts = float(np.diff(mbps.index[:2])[0]) * 1e3 / RTT_MS
    common = {
        "scheme": scheme_of(run.scenario),
        "mean_mbps": float(mbps.loc[from_s:].mean()),
        "link_mbps": link.mean_mbps,
        "mean_packets": mean_packets(run),
        "p99_packets": quantile_packets(run, 0.99)[0],
        "room_packets": link.queue_packets,
    }
    rows: Rows = []
    for time_s in repaired[repaired > from_s]:
        # A lost packet is missing at the receiver a round trip before its repair.
        part = mbps.loc[time_s - RTT_MS / 1e3 : time_s + _WITHIN_RTTS * RTT_MS / 1e3]
        suffered = float((part < _ENOUGH * link.mean_mbps).sum()) * step_rtts
        least = float(part.min()) if len(part) else float("nan")
        kind = "loss" if time_s <= to_s else "later loss"
        rows.append({**common, "kind": kind, "time_s": time_s, "mbps": least, "rtts": suffered})
    rows += [
        {**common, "kind": "course", "time_s": time_s, "mbps": rate, "rtts": float("nan")}
        for time_s, rate in mbps.loc[from_s:to_s].iloc[::2].items()
    ]
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    by_scheme = table.groupby("scheme")
    first = by_scheme.first()
    used = 100 * first["mean_mbps"] / first["link_mbps"]
    queue = 100 * first["mean_packets"] / first["room_packets"]
    shown = {scheme: _rtts(rows, "loss") for scheme, rows in by_scheme}
    whole = {scheme: _rtts(rows, "loss", "later loss") for scheme, rows in by_scheme}
    rapid, highspeed = "RAPID", "HighSpeed"

    def all_of(scheme: str) -> str:
        rtts = whole[scheme]
        return f"{len(rtts)} losses to the end: mean {rtts.mean():.2f}, longest {rtts.max():.1f}"

    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="RAPID: losses from 30 to 70 s",
                measured=float(len(shown[rapid])),
                published=between(4, 5, _WHERE, text="around 4-5"),
                note=f"HighSpeed {len(shown[highspeed])}",
            ),
            Comparison(
                quantity="HighSpeed: time below 95 % of the link after a loss, all but the worst",
                measured=float(shown[highspeed].nlargest(2).min()),
                published=at_most(
                    _FAST_RTTS, _WHERE, text="much better than FAST's 70, but for one loss"
                ),
                unit="RTT",
                note=all_of(highspeed),
            ),
            Comparison(
                quantity="FAST: time below 95 % of the link after a loss",
                measured=float(shown["FAST"].mean()),
                published=quantity(_FAST_RTTS, _WHERE, text="around 70"),
                unit="RTT",
                note=all_of("FAST"),
            ),
            Comparison(
                quantity="HighSpeed's mean queue relative to RAPID's",
                measured=100 * float(queue[highspeed] / queue[rapid]),
                published=at_least(100, _WHERE, text="very large; RAPID's negligible"),
                unit="%",
            ),
            Comparison(
                quantity="RAPID: time below 95 % of the link after a loss, longest",
                measured=float(shown[rapid].max()),
                published=unbounded("a few", _WHERE),
                unit="RTT",
                note=all_of(rapid),
            ),
            Comparison(
                quantity="RAPID: mean throughput, share of the link",
                measured=float(used[rapid]),
                published=unbounded("not stated", _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="RAPID: mean queue, relative to its capacity",
                measured=float(queue[rapid]),
                published=unbounded("negligible", _WHERE),
                unit="%",
                note=f"99th percentile {first['p99_packets'][rapid]} of "
                f"{first['room_packets'][rapid]} packets",
            ),
            Comparison(
                quantity="HighSpeed: mean queue, relative to its capacity",
                measured=float(queue[highspeed]),
                published=unbounded("very large", _WHERE),
                unit="%",
            ),
        ),
    )


def _rtts(rows: pd.DataFrame, *kinds: str) -> pd.Series[float]:
    """Return the duration of each loss's effect in round trips, for these kinds of losses."""
    return rows.loc[rows["kind"].isin(kinds), "rtts"]


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
    info=info("rapid-3"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
