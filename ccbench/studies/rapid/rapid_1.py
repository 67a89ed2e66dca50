# SPDX-License-Identifier: Apache-2.0
"""Varying spare bandwidth (Konda and Kaur, Figure 1).

One long transfer starts at 1 s, and four constant-rate flows of 200 Mbit/s are active from 50 to
400 s, 100 to 150 s, 250 to 350 s, and 460 to 462 s.

Choices left open by the paper: a transfer has adapted to a change when its throughput over one
round trip is within 10 % of the new bandwidth. The time to re-acquire bandwidth is the longest
period with a throughput below nine tenths of the spare bandwidth, from the first change on. NewReno
has no selective ACKs; the fourth case is Reno with them.

Figure 1(c) has FAST with "exactly 10,000 buffers", "around 15%" of the bandwidth-delay product. In
a network of 1 Gbit/s, 60 ms and 1040 bytes, they are 139 %: here, the short queue is 15 %.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, between, quantity, unbounded
from ccbench.studies.rapid.links import (
    FAST_SHORT,
    FAST_SHORT_BDP,
    MBPS,
    NEWRENO,
    RTT_MS,
    bdp_packets,
    cbr,
    long_transfer,
    network,
    over_rtts,
    scheme_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["scenarios"]

#: Start and end of each constant-rate flow in seconds.
SCHEDULE_S = ((50.0, 400.0), (100.0, 150.0), (250.0, 350.0), (460.0, 462.0))
DURATION_S = 600.0
CBR_SHARE = 0.2
_WHERE = "section IV.A"
_HIGHSPEED_RTTS = 700
#: "Several hundred seconds" are at least 200.
_SEVERAL_RTTS = round(200e3 / RTT_MS)
_START_S = 1.0
_NEAR = 0.1
_QUICK_MBPS = 25.0
_QUICK_PART = 0.025


def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the runs, which rapid-2 uses as well."""
    mbps, part = (_QUICK_MBPS, _QUICK_PART) if quick else (MBPS, 1.0)
    loads = [cbr(CBR_SHARE * mbps, start * part, stop * part) for start, stop in SCHEDULE_S]
    short_packets = round(FAST_SHORT_BDP * bdp_packets(mbps))
    cases: tuple[tuple[str, dict[str, str], int | None], ...] = (
        ("rapid", {}, None),
        ("reno", NEWRENO, None),
        ("highspeed", {}, None),
        ("fast", {}, None),
        ("fast", {}, short_packets),
        ("reno", {}, None),
    )
    return tuple(
        network(
            long_transfer(cca, start_s=_START_S * part),
            *loads,
            duration_s=DURATION_S * part,
            mbps=mbps,
            queue_packets=queue_packets,
            sysctls=sysctls,
        )
        for cca, sysctls, queue_packets in cases
    )


def _spare(run: Run, time_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the bandwidth not used by the constant-rate flows at the given times."""
    scenario = run.scenario
    loads = [flow for flow in scenario.flows if flow.is_udp]
    spare = np.full(time_s.shape, scenario.path.bottlenecks[0].mean_mbps)
    for flow in loads:
        active = (flow.start_s < time_s) & (time_s <= (flow.stop_s or math.inf))
        spare[active] -= flow.rate_mbps or 0.0
    return spare


def _measure(run: Run) -> Rows:
    mbps = over_rtts(run)
    time_s = mbps.index.to_numpy()
    spare = _spare(run, time_s)
    scheme = scheme_of(run.scenario)
    edges = sorted(
        {edge for flow in run.scenario.flows[1:] for edge in (flow.start_s, flow.stop_s or 0.0)}
    )
    below = (mbps.to_numpy() < (1 - _NEAR) * spare) & (time_s > edges[0])
    ends = time_s[1:][np.diff(below.astype(int)) != 0]
    without = np.diff(np.r_[ends, time_s[-1:]] if len(ends) % 2 else ends)[::2]
    used = 100 * run.throughput(0.1)[0].sum() / (spare.mean() * 10 * run.scenario.duration_s)
    every = max(1, len(time_s) // 1200)
    rows: Rows = [
        {
            "scheme": scheme,
            "kind": "course",
            "time_s": float(time_s[i]),
            "mbps": float(mbps.iloc[i]),
            "spare_mbps": float(spare[i]),
            "rtts": math.nan,
            "used_percent": used,
            "longest_without_rtts": float(max(without, default=0)) * 1e3 / RTT_MS,
        }
        for i in range(0, len(time_s), every)
    ]
    for edge, until in zip(edges, [*edges[1:], run.scenario.duration_s], strict=True):
        after = (time_s > edge) & (time_s <= until)
        near = abs(mbps.to_numpy() - spare) <= _NEAR * spare
        reached = time_s[after & near]
        rows.append(
            {
                "scheme": scheme,
                "kind": "change",
                "time_s": edge,
                "mbps": float(mbps.to_numpy()[after].mean()),
                "spare_mbps": float(spare[after][0]),
                # The next change comes first if the bandwidth is never reached.
                "rtts": float((reached[0] if len(reached) else until) - edge) * 1e3 / RTT_MS,
                "used_percent": used,
                "longest_without_rtts": rows[0]["longest_without_rtts"],
            }
        )
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    changes = table[table["kind"] == "change"]
    longest = changes.groupby("scheme")["longest_without_rtts"].first()
    used = table.groupby("scheme")["used_percent"].first()
    rapid = changes[changes["scheme"] == "RAPID"]["rtts"]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="NewReno: longest time to re-acquire the bandwidth",
                measured=float(longest["NewReno"]),
                published=at_least(7000, _WHERE, text="more than 7000"),
                unit="RTT",
                note=f"with selective ACKs {longest['Reno, SACK']:.0f}",
            ),
            Comparison(
                quantity="HighSpeed: longest time to re-acquire the bandwidth",
                measured=float(longest["HighSpeed"]),
                published=quantity(_HIGHSPEED_RTTS, _WHERE, text="up to 700"),
                unit="RTT",
            ),
            Comparison(
                quantity="FAST: longest time to re-acquire the bandwidth",
                measured=float(longest["FAST"]),
                published=at_most(_HIGHSPEED_RTTS, _WHERE, text="much better than HighSpeed's 700"),
                unit="RTT",
            ),
            Comparison(
                quantity="FAST, queue of 15 % of a BDP: longest time without the bandwidth",
                measured=float(longest[FAST_SHORT]),
                published=at_least(_SEVERAL_RTTS, _WHERE, text="several hundred seconds"),
                unit="RTT",
            ),
            Comparison(
                quantity="RAPID: longest time to follow a change",
                measured=float(rapid.max()),
                published=between(1, 2, "abstract", text="within 1-2"),
                unit="RTT",
                note=f"mean {rapid.mean():.1f}",
            ),
            Comparison(
                quantity="RAPID: share of the spare bandwidth used",
                measured=float(used["RAPID"]),
                published=unbounded("not stated", _WHERE),
                unit="%",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    courses = table[table["kind"] == "course"]
    schemes = courses["scheme"].unique()
    figure = Figure(figsize=(9, 2 * len(schemes)), layout="constrained")
    axes = figure.subplots(len(schemes), sharex=True, sharey=True)
    for ax, scheme in zip(axes, schemes, strict=True):
        part = courses[courses["scheme"] == scheme]
        ax.plot(part["time_s"], part["spare_mbps"], ":", color="0.5", label="spare")
        ax.plot(part["time_s"], part["mbps"], linewidth=0.8, label=scheme)
        ax.set_ylabel("Mbit/s")
        ax.legend(loc="lower left", fontsize="small")
        ax.grid(alpha=0.3)
    axes[-1].set_xlabel("time (s)")
    return figure


STUDY = Study(
    info=info("rapid-1"),
    scenarios=scenarios,
    measure=_measure,
    conclude=_conclude,
)
