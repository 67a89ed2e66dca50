# SPDX-License-Identifier: Apache-2.0
"""Acquiring 1 Gbit/s that suddenly becomes available (Konda and Kaur, Table I).

The paper does not say from which state. 7433 round trips are what one packet more in each needs to
7212 packets, the bandwidth-delay product: NewReno starts with next to no window, and not in slow
start, which would take 13. Both are so where a transfer has shared the link with a load that took
nearly all of it, and that load ends: here a constant flow of 999 Mbit/s, for 20 s, before which
another one has filled the queue.

A new transfer on an empty link, which is in its slow start, is the other case. As ns-2 has no
handshake, round trips count from the first packet of data on.

Where the paper leaves room: the bandwidth is acquired when a round trip begins whose throughput is
95 % of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.scenario import Flow, Scenario
from ccbench.studies.catalogue import about
from ccbench.studies.rapid_links import (
    MBPS,
    NEWRENO,
    RTT_MS,
    cbr,
    network,
    over_rtts,
    scheme_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

_RELEASE_S = 20.0
_LOAD = 0.999
#: Fills a queue of one bandwidth-delay product before the transfer starts.
_FILL, _FILL_S = 0.2, 0.5
_ACQUIRED = 0.95
_AFTER_S = {"reno": 520.0, "highspeed": 80.0, "rapid": 20.0}
_NEW_S = 5.0
_QUICK_MBPS = 20.0
_QUICK_RELEASE_S, _QUICK_AFTER_S = 5.0, 12.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps, release_s = (_QUICK_MBPS, _QUICK_RELEASE_S) if quick else (MBPS, _RELEASE_S)
    return tuple(
        network(
            Flow(cca=cca, start_s=1),
            cbr(_LOAD * mbps, stop_s=release_s),
            cbr(_FILL * mbps, stop_s=_FILL_S),
            duration_s=release_s + (_QUICK_AFTER_S if quick else after_s),
            mbps=mbps,
            sysctls=NEWRENO if cca == "reno" else {},
        )
        for cca, after_s in _AFTER_S.items()
    ) + tuple(
        network(
            Flow(cca=cca),
            duration_s=1 if quick else _NEW_S,
            mbps=mbps,
            sysctls=NEWRENO if cca == "reno" else {},
        )
        for cca in _AFTER_S
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    spare_mbps = scenario.bottlenecks[0].mean_mbps
    loads = [flow for flow in scenario.flows if flow.is_udp]
    release_s = loads[0].stop_s or 0.0 if loads else RTT_MS / 1e3
    mbps = over_rtts(run).loc[release_s + RTT_MS / 1e3 - 1e-6 :]
    since = (mbps.index.to_numpy() - release_s) * 1e3 / RTT_MS - 1
    acquired = since[mbps.to_numpy() >= _ACQUIRED * spare_mbps]
    # The whole course would be long; what is drawn is the first time that each rate is reached.
    points = np.unique(np.geomspace(1, max(since.max(), 2), 60).astype(int))
    return [
        {
            "scheme": scheme_of(scenario),
            "case": "load ends" if loads else "new",
            "rtts": int(point),
            "mbps": float(np.interp(point, since, mbps.to_numpy())),
            "acquired_rtts": float(acquired[0]) if len(acquired) else math.nan,
        }
        for point in points
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    first = table.groupby(["scheme", "case"])["acquired_rtts"].first()
    new = {scheme: float(first[scheme, "new"]) for scheme in first.index.unique("scheme")}
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                what="NewReno, round trips",
                ours=float(first["NewReno", "load ends"]),
                published="about 7433",
                accepted=(6700, 8200),
                note=f"one packet more in each; a new transfer takes {new['NewReno']:.1f}",
            ),
            Comparison(
                what="HighSpeed, round trips",
                ours=float(first["HighSpeed", "load ends"]),
                published="about 666",
                accepted=(600, 733),
                note="Linux grows once for each ACK, and has one for every two packets; RFC 3649's "
                "rule takes 674 with one for each, and 1346 then; a new transfer takes "
                f"{new['HighSpeed']:.1f}",
            ),
            Comparison(
                what="RAPID, a new transfer, round trips",
                ours=new["RAPID"],
                published="about 4",
                accepted=(3, 5),
                note="three streams of slow start, whose rates are a factor of 2 apart, and a "
                "fourth that finds the rate",
            ),
            Comparison(
                what="RAPID, one that had next to nothing, round trips",
                ours=float(first["RAPID", "load ends"]),
                published="about 4",
                accepted=(3, 5),
                note="a stream reaches 2.1 times its mean rate, and takes longer than a round "
                "trip at less than 3 Mbit/s",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for (scheme, case), part in table.groupby(["scheme", "case"]):
        style = "-" if case == "load ends" else ":"
        axes.plot(part["rtts"], part["mbps"], style, label=f"{scheme}, {case}")
    axes.set_xscale("log")
    axes.set_xlabel("round trips since the bandwidth is there")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


STUDY = Study(
    about=about("rapid-t1"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
