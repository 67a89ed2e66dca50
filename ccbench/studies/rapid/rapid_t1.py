# SPDX-License-Identifier: Apache-2.0
"""Acquisition of 1 Gbit/s of new spare bandwidth (Konda and Kaur, Table I).

Section II.A describes "a single transfer" that acquires "an additional spare capacity of 1 Gbps
that suddenly becomes available", without its previous state. 7433 round trips correspond to growth
by one packet per round trip to 7212 packets, the bandwidth-delay product. NewReno therefore starts
with a minimal window and outside slow start, which would take 13 round trips. Both hold if the
transfer has shared the link with a load that took nearly all of it, and that load ends. Here the
load is a constant-rate flow of 999 Mbit/s for 20 s; an initial flow fills the queue.

The variant is a new transfer on an empty link, in slow start. As ns-2 has no handshake, round trips
count from the first data packet.

A choice left open by the paper: the bandwidth is acquired at the beginning of the first round trip
with a throughput of 95 %.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import quantity, unbounded
from ccbench.studies.rapid.links import (
    MBPS,
    NEWRENO,
    RTT_MS,
    cbr,
    long_transfer,
    network,
    over_rtts,
    scheme_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_WHERE = "Table I"
_PUBLISHED_RTTS = {"NewReno": 7433, "HighSpeed": 666, "FAST": 70, "RAPID": 4}

_RELEASE_S = 20.0
_LOAD = 0.999
#: Flow that fills the queue of one bandwidth-delay product before the transfer starts.
_FILL, _FILL_S = 0.2, 0.5
_ACQUIRED = 0.95
_AFTER_S = {"reno": 520.0, "highspeed": 80.0, "fast": 20.0, "rapid": 20.0}
_NEW_S = 5.0
_QUICK_MBPS = 20.0
_QUICK_RELEASE_S, _QUICK_AFTER_S = 5.0, 12.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps, release_s = (_QUICK_MBPS, _QUICK_RELEASE_S) if quick else (MBPS, _RELEASE_S)
    return tuple(
        network(
            long_transfer(cca, start_s=1),
            cbr(_LOAD * mbps, stop_s=release_s),
            cbr(_FILL * mbps, stop_s=_FILL_S),
            duration_s=release_s + (_QUICK_AFTER_S if quick else after_s),
            mbps=mbps,
            sysctls=NEWRENO if cca == "reno" else {},
        )
        for cca, after_s in _AFTER_S.items()
    ) + tuple(
        network(
            long_transfer(cca),
            duration_s=1 if quick else _NEW_S,
            mbps=mbps,
            sysctls=NEWRENO if cca == "reno" else {},
        )
        for cca in _AFTER_S
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    spare_mbps = scenario.path.bottlenecks[0].mean_mbps
    loads = [flow for flow in scenario.flows if flow.is_udp]
    release_s = loads[0].stop_s or 0.0 if loads else RTT_MS / 1e3
    mbps = over_rtts(run).loc[release_s + RTT_MS / 1e3 - 1e-6 :]
    since = (mbps.index.to_numpy() - release_s) * 1e3 / RTT_MS - 1
    acquired = since[mbps.to_numpy() >= _ACQUIRED * spare_mbps]
    # Thin out the time series on a logarithmic scale.
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
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            *(
                Comparison(
                    quantity=f"{scheme}: time to acquire 1 Gbit/s",
                    measured=float(first[scheme, "load ends"]),
                    published=quantity(rtts, _WHERE, text=f"~ {rtts}"),
                    unit="RTT",
                )
                for scheme, rtts in _PUBLISHED_RTTS.items()
            ),
            *(
                Comparison(
                    quantity=f"{scheme}: time to acquire 1 Gbit/s, a new transfer in its slow "
                    "start",
                    measured=float(first[scheme, "new"]),
                    published=unbounded("variant", _WHERE),
                    unit="RTT",
                )
                for scheme in _PUBLISHED_RTTS
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
    axes.set_xlabel("round trips since the bandwidth became available")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


STUDY = Study(
    info=info("rapid-t1"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
