# SPDX-License-Identifier: Apache-2.0
"""RAPID with short queues (not in Konda and Kaur).

One flow on 1 Gbit/s and 60 ms for 10 s, alone and with a constant-rate flow of half the link.
Queues range from one bandwidth-delay product down to 5 packets, with both tolerances for noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.experiment.scenario import Flow, Scenario
from ccbench.studies.catalogue import info
from ccbench.studies.published import unbounded
from ccbench.studies.rapid.links import (
    DEFAULTS,
    EXACT,
    MBPS,
    SMALL_BUFFERS,
    bdp_packets,
    cbr,
    mean_packets,
    network,
    tolerance_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_DURATION_S, _QUICK_S = 10.0, 3.0
_QUICK_MBPS = 50.0
#: Share of the run excluded as the start.
_FROM_PART = 0.2
_ROOMS = (1.0, 0.1, 100, 40, 20, 10, 5)
_QUICK_ROOMS = (1.0, 10)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mbps = _QUICK_MBPS if quick else MBPS
    return tuple(
        network(
            Flow(cca="rapid"),
            *((cbr(mbps / 2),) if has_cross else ()),
            mbps=mbps,
            queue_packets=round(room * bdp_packets(mbps)) if room <= 1 else round(room),
            duration_s=_QUICK_S if quick else _DURATION_S,
            parameters=parameters,
            sysctls=SMALL_BUFFERS,
        )
        for room in (_QUICK_ROOMS if quick else _ROOMS)
        for has_cross in (False, True)
        for parameters in (DEFAULTS, EXACT)
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    has_cross = len(scenario.flows) > 1
    spare = scenario.path.bottlenecks[0].mean_mbps / (2 if has_cross else 1)
    mbps = run.throughput(0.1).loc[scenario.duration_s * _FROM_PART :].mean()
    summary = run.queue_summary
    assert summary is not None
    arrived = summary.packets("enqueue", 0)
    return [
        {
            "others": "a flow on half of the link" if has_cross else "no other flow",
            "tolerance": tolerance_of(scenario),
            "queue_packets": scenario.path.bottlenecks[0].queue_packets,
            "used_percent": 100 * float(mbps[0]) / spare,
            "dropped_percent": 100 * summary.packets("drop", 0) / arrived,
            "mean_packets": mean_packets(run),
            "queue_ms": run.queueing_delay_ms(),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    comparisons = []
    for (others, tolerance), part in table.groupby(["others", "tolerance"]):
        rows = part.sort_values("queue_packets", ascending=False)
        course = ", ".join(
            f"{row.queue_packets}: {row.used_percent:.1f} % ({row.dropped_percent:.2g} % dropped, "
            f"mean {row.mean_packets:.0f})"
            for row in rows.itertuples()
        )
        enough = rows[rows["used_percent"] >= 0.95 * rows["used_percent"].iloc[0]]
        comparisons.append(
            Comparison(
                quantity=f"{others}, tolerance {tolerance}: shortest queue with 95 % of "
                "the use of the longest",
                measured=float(enough["queue_packets"].min()),
                published=unbounded("not in the paper", "section IV"),
                unit="packets",
                note=course,
            )
        )
    return Findings(table=table, figure=_figure(table), comparisons=tuple(comparisons))


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for (others, tolerance), part in table.groupby(["others", "tolerance"]):
        rows = part.sort_values("queue_packets")
        label = f"{others}, tolerance {tolerance}"
        axes.plot(rows["queue_packets"], rows["used_percent"], "o-", label=label)
    axes.set_xscale("log")
    axes.set_xlabel("room of the queue (packets)")
    axes.set_ylabel("used of the spare bandwidth (%)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


STUDY = Study(
    info=info("rapid-buffers"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
