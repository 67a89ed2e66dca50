# SPDX-License-Identifier: Apache-2.0
"""ABC flows with different round-trip times (Goyal et al. 2020, Figure 12 and Table 1).

Two flows on 24 Mbit/s, one with 20 ms, the other with 20 to 120 ms; and six flows with 20 to 120
ms. Five runs of each, with the typical noise.

Choices left open by the paper: runs last 60 s, as those for its Jain's index; the queue holds 250
packets; the router has the options of the cellular experiments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import Flow, NetworkPath, Scenario
from ccbench.studies.abc.abc_3 import LINK_MBPS
from ccbench.studies.abc.links import ABC
from ccbench.studies.catalogue import info
from ccbench.studies.published import percentage, quantity
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

#: The paper's Table 1: throughput in Mbit/s by round-trip time in ms.
_TABLE = {20: 6.62, 40: 4.94, 60: 4.27, 80: 3.0, 100: 2.75, 120: 2.40}
_RTTS_MS = tuple(_TABLE)
_RUNS = 5
_DURATION_S = 60.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    runs, duration_s = (1, 20.0) if quick else (_RUNS, _DURATION_S)
    others = _RTTS_MS[::5] if quick else _RTTS_MS
    return tuple(
        _competition(rtts_ms, seed, duration_s)
        for rtts_ms in (*((other, _RTTS_MS[0]) for other in others), _RTTS_MS)
        for seed in range(1, runs + 1)
    )


def _competition(rtts_ms: tuple[int, ...], seed: int, duration_s: float) -> Scenario:
    base_ms = _RTTS_MS[0]
    return Scenario(
        flows=tuple(Flow(cca=ABC.cca, extra_rtt_ms=rtt_ms - base_ms) for rtt_ms in rtts_ms),
        path=NetworkPath(
            bottlenecks=(ABC.bottleneck(LINK_MBPS),), rtt_ms=base_ms, noise=typical(rtt_ms=base_ms)
        ),
        duration_s=duration_s,
        seed=seed,
        queue_log=False,
        name=f"ABC flows of {', '.join(map(str, rtts_ms))} ms, seed {seed}",
    )


def _measure(run: Run) -> Rows:
    rtts_ms = (run.scenario.path.rtt_ms + run.scenario.flow_table()["extra_rtt_ms"]).to_numpy()
    mbps = run.summary()["throughput_mbps"].to_numpy()
    return [
        {
            "flows": len(rtts_ms),
            "case_ms": rtts_ms[0],
            "seed": run.scenario.seed,
            "flow": flow,
            "rtt_ms": rtts_ms[flow],
            "mbps": mbps[flow],
        }
        for flow in range(len(rtts_ms))
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    pairs, six = table[table["flows"] == 2], table[table["flows"] == len(_RTTS_MS)]  # noqa: PLR2004
    shorter, longer = (
        pairs[pairs["flow"] == flow].pivot_table("mbps", "case_ms", "seed") for flow in (1, 0)
    )
    ratios = shorter / longer
    ratios.index = ratios.index / _RTTS_MS[0]
    by_rtt = six.pivot_table("mbps", "seed", "rtt_ms")
    return Findings(
        table=table,
        figure=_figure(ratios.mean(axis=1), by_rtt.mean()),
        comparisons=(
            Comparison(
                quantity="two flows: ratio of throughputs over ratio of round-trip times (slope)",
                measured=Estimate(np.polyfit(ratios.index, ratios, 1)[0]),
                published=quantity(1, "section 7.5", text="inversely proportional to the RTT"),
                note=", ".join(f"{x:g}: {y:.2f}" for x, y in ratios.mean(axis=1).items()),
            ),
            *(
                Comparison(
                    quantity=f"six flows: throughput at {rtt_ms} ms",
                    measured=Estimate(by_rtt[rtt_ms]),
                    published=quantity(mbps, "Table 1"),
                    unit="Mbit/s",
                )
                for rtt_ms, mbps in _TABLE.items()
            ),
            Comparison(
                quantity="six flows: throughput at 120 ms ÷ that at 20 ms",
                measured=Estimate(100 * by_rtt[_RTTS_MS[-1]] / by_rtt[_RTTS_MS[0]]),
                published=percentage(35, "section 7.5", text="about 35"),
                unit="%",
            ),
        ),
    )


def _figure(ratio: pd.Series[float], by_rtt: pd.Series[float]) -> Figure:
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(ratio.index, ratio, "o-")
    left.axline((1, 1), slope=1, color="0.6", linestyle="--", linewidth=1)
    left.set_xlabel("ratio of RTTs")
    left.set_ylabel("ratio of throughputs, the shorter RTT's ÷ the other's")
    right.plot(by_rtt.index, by_rtt, "o-", label="measured")
    right.plot(list(_TABLE), list(_TABLE.values()), "x", color="0.4", label="published")
    right.set_xlabel("RTT (ms)")
    right.set_ylabel("throughput (Mbit/s)")
    right.legend()
    for axes in (left, right):
        axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("abc-12"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
