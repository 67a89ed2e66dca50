# SPDX-License-Identifier: Apache-2.0
"""RAPID with ACK compression and noise (not in Konda and Kaur).

One flow alone, and one competing with a constant-rate flow of half the link, at 100 Mbit/s and 1
Gbit/s, 60 ms, a queue of one bandwidth-delay product, for 20 s. ACKs leave the receiver in batches,
are delayed, or have uniform jitter. The study measures RAPID's share of the spare bandwidth from 5
s on, with its default tolerance of 64 for noise and with zero tolerance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.base.figures import Figure
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import Flow, Scenario
from ccbench.studies.catalogue import info
from ccbench.studies.published import unbounded
from ccbench.studies.rapid.links import (
    DEFAULTS,
    EXACT,
    MBPS,
    SMALL_BUFFERS,
    cbr,
    network,
    tolerance_of,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_SPEEDS = (100.0, MBPS)
_QUICK_MBPS = 50.0
_DURATION_S, _QUICK_S = 20.0, 4.0
_FROM_PART = 0.25

_CASES: dict[str, dict[str, Any]] = {
    "each at once": {},
    "delayed": {},
    "every 0.01 ms": {"ack_batch_ms": 0.01},
    "every 0.1 ms": {"ack_batch_ms": 0.1},
    "every 1 ms": {"ack_batch_ms": 1.0},
    "every 4 ms": {"ack_batch_ms": 4.0},
    "jitter 0.01 ms": {"noise": Noise(reverse_jitter_ms=0.01)},
    "jitter 0.1 ms": {"noise": Noise(reverse_jitter_ms=0.1)},
    "jitter 1 ms": {"noise": Noise(reverse_jitter_ms=1.0)},
}
_QUICK_CASES = ("each at once", "every 1 ms")
_DELAYED = "delayed"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        network(
            Flow(cca="rapid", acks="delayed" if case == _DELAYED else "default"),
            *((cbr(mbps / 2),) if has_cross else ()),
            mbps=mbps,
            duration_s=_QUICK_S if quick else _DURATION_S,
            parameters=parameters,
            sysctls=SMALL_BUFFERS,
            name=case,
            **_CASES[case],
        )
        for mbps in ((_QUICK_MBPS,) if quick else _SPEEDS)
        for case in (_QUICK_CASES if quick else _CASES)
        for has_cross in ((True,) if mbps == MBPS else (False, True))
        for parameters in (DEFAULTS, EXACT)
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    has_cross = len(scenario.flows) > 1
    link = scenario.path.bottlenecks[0].mean_mbps
    mbps = run.throughput(0.1).loc[scenario.duration_s * _FROM_PART :].mean()
    return [
        {
            "link_mbps": link,
            "acks": scenario.name,
            "others": "a flow on half of the link" if has_cross else "no other flow",
            "tolerance": tolerance_of(scenario),
            "used_percent": 100 * float(mbps[0]) / (link / (2 if has_cross else 1)),
            "queue_ms": run.queueing_delay_ms(),
            "drops": int(run.summary()["drops"].sum()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    comparisons = []
    for (link, others, tolerance), part in table.groupby(["link_mbps", "others", "tolerance"]):
        course = ", ".join(
            f"{row.acks}: {row.used_percent:.1f} % ({row.queue_ms:.1f} ms, {row.drops} dropped)"
            for row in part.itertuples()
        )
        comparisons.append(
            Comparison(
                quantity=f"{link:g} Mbit/s, {others}, tolerance {tolerance}: least use",
                measured=float(part["used_percent"].min()),
                published=unbounded("not in the paper", "section IV"),
                unit="%",
                note=course,
            )
        )
    return Findings(table=table, figure=_figure(table), comparisons=tuple(comparisons))


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    for (link, others, tolerance), part in table.groupby(["link_mbps", "others", "tolerance"]):
        label = f"{link:g} Mbit/s, {others}, tolerance {tolerance}"
        axes.plot(part["acks"], part["used_percent"], "o-", label=label)
    axes.set_ylabel("used of the spare bandwidth (%)")
    axes.tick_params(axis="x", rotation=30)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("rapid-acks"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
