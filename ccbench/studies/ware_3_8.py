# SPDX-License-Identifier: Apache-2.0
"""RTT estimate and in-flight cap of BBR flows among themselves (Ware 2024, Figure 3.8).

How the RTT estimate is measured: BBR keeps its own, which no sample has. TCP keeps another, the
smallest RTT of the last ``tcp_min_rtt_wlen`` seconds, 300 by default, so that it remembers the
empty queue of the first packets. Set to 11 s, it reaches back to the last ProbeRTT and no further,
as BBR's own does, whose estimate is at most 10 s and a ProbeRTT old.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.models.bbr import BbrModel, inflight_cap_packets
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware_testbed import COLOURS, RTT_MS, competition

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_BANDWIDTH_MBPS = 15.0
_QUEUE_BDP = 64
_MEMORY = (("net.ipv4.tcp_min_rtt_wlen", "11"),)
#: Startup is over, and several ProbeRTTs have passed.
_FROM_S = 60.0
#: What one more flow adds in (3.6): the time that the link takes for its four packets.
_STEP_MS = 4 * 1500 * 8 / _BANDWIDTH_MBPS / 1e3

_PACING_NOTE = (
    "(3.6) has all 4 N packets in flight while the RTT is measured. BBR also paces, at its "
    "estimate of its share: after an ACK for two packets the next two leave one after the other. "
    "With 20 flows, 64 to 67 of 80 packets are in flight where the queue is shortest, and BBR "
    "takes the shortest RTT: 3.3 packets a flow, which exceed the pipe with 16 flows, not 13."
)
_ALLOWANCE_NOTE = (
    "Of the 15 packets that each of 20 flows may have in flight, 7 are twice the product of its "
    "estimates. 5 are room for three bursts of segmentation offload, and rounding up to an even "
    "number. The rest is what ACKs have lately brought at once, which Linux adds since 5.1. Few "
    "flows with many packets each hardly notice."
)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (80.0, (1,)) if quick else (240.0, (1, 2, 3))
    return tuple(
        replace(
            competition(
                {"bbr": flows},
                queue_bdp=_QUEUE_BDP,
                duration_s=duration_s,
                seed=seed,
                bandwidth_mbps=_BANDWIDTH_MBPS,
            ),
            sysctls=_MEMORY,
        )
        for flows in ((1, 17, 18, 20) if quick else range(1, 21))
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    flows = run.scenario.flow_count
    samples = run.flows[run.flows["time_ns"] > _FROM_S * 1e9]
    cruising = samples[samples["cwnd_packets"] > 4]  # noqa: PLR2004 - not in ProbeRTT
    cap = cruising.groupby("flow")["cwnd_packets"].median().sum()
    rtt_est_ms = float(samples["min_rtt_us"].median()) / 1e3
    model = BbrModel(
        bandwidth_mbps=_BANDWIDTH_MBPS,
        rtt_ms=RTT_MS,
        queue_packets=run.scenario.bottlenecks[0].queue_packets,
        bbr_flows=flows,
    )
    return [
        {
            "bbr_flows": flows,
            "seed": run.scenario.seed,
            "rtt_est_ms": rtt_est_ms,
            "model_rtt_est_ms": model.rtt_est_alone_ms,
            "cwnd_packets": float(cap),
            "inflight_packets": float(cruising.groupby("flow")["inflight_packets"].median().sum()),
            "cap_of_rtt_est_packets": inflight_cap_packets(
                btlbw_est_mbps=_BANDWIDTH_MBPS, rtt_est_ms=rtt_est_ms
            ),
            "model_cap_packets": inflight_cap_packets(
                btlbw_est_mbps=_BANDWIDTH_MBPS, rtt_est_ms=model.rtt_est_alone_ms
            ),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    mean = table.groupby("bbr_flows").mean()
    rtt_est_ms = mean["rtt_est_ms"]
    inflated = rtt_est_ms[rtt_est_ms > rtt_est_ms.iloc[0] + _STEP_MS / 4]
    first = float(inflated.index[0]) if len(inflated) else math.nan
    growth_ms, linearity = math.nan, math.nan
    if len(inflated) > 1:
        growth_ms = float(np.polyfit(inflated.index, inflated, 1)[0])
        linearity = round(float(np.corrcoef(inflated.index, inflated)[0, 1]), 12)
    last = mean.iloc[-1]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                what="RTT estimate of one flow",
                ours=float(rtt_est_ms.iloc[0]),
                published="40",
                accepted=(40, 42),
                unit="ms",
                note="The base RTT and the link's time for two packets, which one ACK answers.",
            ),
            Comparison(
                what="fewest flows whose estimate is inflated",
                ours=first,
                published="13",
                accepted=(12, 14),
                unit="flows",
                note=f"Inflated by at least {_STEP_MS / 4:.1f} ms, a quarter of what (3.6) adds "
                f"for each flow. {_PACING_NOTE}",
            ),
            Comparison(
                what="from there on, correlation of estimate and flows",
                ours=linearity,
                published="linear",
                accepted=(0.95, 1),
            ),
            Comparison(
                what="from there on, growth of the estimate with each flow",
                ours=growth_ms,
                published=f"{_STEP_MS:g} (3.6)",
                accepted=(0.8 * _STEP_MS, 1.2 * _STEP_MS),
                unit="ms",
                note="The same: a flow adds about 3 packets in flight, not 4.",
            ),
            Comparison(
                what="in-flight cap by 2 x RTT estimate x link rate, most flows",
                ours=float(last["cwnd_packets"] / last["cap_of_rtt_est_packets"]),
                published="1 (3.1)",
                accepted=(0.9, 1.1),
                note=_ALLOWANCE_NOTE,
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    mean = table.groupby("bbr_flows").mean()
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    rtt, cap = figure.subplots(1, 2)
    rtt.plot(mean.index, mean["model_rtt_est_ms"], "k--", label="model (3.6)")
    rtt.plot(mean.index, mean["rtt_est_ms"], "o-", color=COLOURS["bbr"], label="measured, median")
    rtt.set_ylabel("RTT estimate (ms)")
    cap.plot(mean.index, mean["model_cap_packets"], "k--", label="model (3.6) in (3.1)")
    cap.plot(mean.index, mean["cap_of_rtt_est_packets"], "k:", label="measured estimate in (3.1)")
    cap.plot(mean.index, mean["cwnd_packets"], "o-", color=COLOURS["bbr"], label="window")
    cap.plot(mean.index, mean["inflight_packets"], "x-", color="tab:orange", label="in flight")
    cap.set_ylabel("sum over the flows (packets)")
    for axes in (rtt, cap):
        axes.set_xlabel("BBR flows")
        axes.set_xticks(range(0, 21, 4))
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    about=about("ware-3.8"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
