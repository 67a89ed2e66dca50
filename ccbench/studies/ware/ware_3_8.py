# SPDX-License-Identifier: Apache-2.0
"""RTT estimate and in-flight cap of competing BBR flows (Ware 2024, Figure 3.8).

Samples do not contain BBR's own RTT estimate, so another one is measured. TCP keeps the smallest
RTT of the last ``tcp_min_rtt_wlen`` seconds, 300 by default, which includes the empty queue of the
first packets. With 11 s it reaches back to the last ProbeRTT and no further, like BBR's own
estimate, which is at most 10 s and a ProbeRTT old.

An estimate counts as inflated from a quarter of the growth per flow in (3.6).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.models.bbr import BbrModel, inflight_cap_packets
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import COLOURS, RTT_MS, SEEDS, competition

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_BANDWIDTH_MBPS = 15.0
_QUEUE_BDP = 64
_MEMORY = (("net.ipv4.tcp_min_rtt_wlen", "11"),)
#: Start of the measurement in seconds, after startup and several ProbeRTTs.
_FROM_S = 60.0
#: Growth of the estimate per flow in (3.6): the time that four packets take on the link.
_STEP_MS = 4 * 1500 * 8 / _BANDWIDTH_MBPS / 1e3
_WHERE = "section 3.5.4"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (80.0, SEEDS[:1]) if quick else (240.0, SEEDS)
    return tuple(
        replace(
            competition(
                {"bbr": flows},
                queue_bdp=_QUEUE_BDP,
                duration_s=duration_s,
                seed=seed,
                bandwidth_mbps=_BANDWIDTH_MBPS,
            ),
            path=replace(
                competition(
                    {"bbr": flows},
                    queue_bdp=_QUEUE_BDP,
                    duration_s=duration_s,
                    seed=seed,
                    bandwidth_mbps=_BANDWIDTH_MBPS,
                ).path,
                sysctls=_MEMORY,
            ),
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
        queue_packets=run.scenario.path.bottlenecks[0].queue_packets,
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
    of_seed = pd.DataFrame([_summary(rows) for _, rows in table.groupby("seed")])
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="RTT estimate of one flow ÷ the base RTT",
                measured=Estimate(of_seed["alone_percent"]),
                published=similar(100, "section 3.5.3", text="measures the baseline RTT"),
                unit="%",
                note="It has the link's time for two packets, which one ACK answers.",
            ),
            Comparison(
                quantity="fewest flows whose estimate is inflated",
                measured=Estimate(of_seed["fewest_inflated"]),
                published=exactly(13, _WHERE, text="from 13 on"),
                unit="flows",
            ),
            Comparison(
                quantity="from that number on, variance of the estimate that a line explains",
                measured=Estimate(of_seed["linear_percent"]),
                published=similar(100, _WHERE, text="increases linearly"),
                unit="%",
            ),
            Comparison(
                quantity="from that number on, growth of the estimate with each flow ÷ that of "
                "(3.6)",
                measured=Estimate(of_seed["growth_percent"]),
                published=similar(100, _WHERE, text="similar to the prediction"),
                unit="%",
            ),
            Comparison(
                quantity="in-flight cap ÷ (2 × RTT estimate × link rate), most flows",
                measured=Estimate(of_seed["cap"]),
                published=unbounded("the estimate corresponds to the cap", _WHERE),
            ),
        ),
    )


def _summary(rows: pd.DataFrame) -> dict[str, float]:
    """Return the compared quantities of one seed."""
    by_flows = rows.set_index("bbr_flows").sort_index()
    rtt_est_ms, last = by_flows["rtt_est_ms"], by_flows.iloc[-1]
    inflated = rtt_est_ms[rtt_est_ms > rtt_est_ms.iloc[0] + _STEP_MS / 4]
    growth_ms, correlation = math.nan, math.nan
    if len(inflated) > 1:
        growth_ms = float(np.polyfit(inflated.index, inflated, 1)[0])
        correlation = float(np.corrcoef(inflated.index, inflated)[0, 1])
    return {
        "alone_percent": 100 * float(rtt_est_ms.iloc[0]) / RTT_MS,
        "fewest_inflated": float(inflated.index[0]) if len(inflated) else math.nan,
        "linear_percent": 100 * correlation**2,
        "growth_percent": 100 * growth_ms / _STEP_MS,
        "cap": float(last["cwnd_packets"] / last["cap_of_rtt_est_packets"]),
    }


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
    cap.plot(mean.index, mean["inflight_packets"], "x-", color="C1", label="in flight")
    cap.set_ylabel("sum over the flows (packets)")
    for axes in (rtt, cap):
        axes.set_xlabel("BBR flows")
        axes.set_xticks(range(0, 21, 4))
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-3.8"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
