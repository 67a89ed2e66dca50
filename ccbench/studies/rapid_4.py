# SPDX-License-Identifier: Apache-2.0
"""A mix of TCP transfers with and without a RAPID flow (Konda and Kaur, Figure 4).

Transfers load a link of 120 Mbit/s with 90 Mbit/s; how long each takes is compared between the two
runs. The same transfers start at the same times in both.

Where the paper leaves room: Tmix replays a recorded link, which the paper does not name. Here
transfers start as a Poisson process; sizes are those of SURGE (Barford and Crovella, "Generating
representative web workloads", 1998): 93 % lognormal, 7 % Pareto, up to 100 MB; round-trip times are
20 to 100 ms, 60 ms on average. TCP is NewReno with selective ACKs. Runs take 10 minutes, the second
half of which counts, instead of 40.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import ks_2samp, wasserstein_distance

from ccbench.random_streams import stream
from ccbench.scenario import Flow, Scenario
from ccbench.studies.catalogue import about
from ccbench.studies.rapid_links import (
    PACKET_BYTES,
    RTT_MS,
    bdp_packets,
    mean_packets,
    network,
    quantile_packets,
)
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

_MBPS, _LOAD_MBPS = 120.0, 90.0
_DURATION_S, _QUICK_S = 600.0, 20.0
_SEED = 1
_EXTRA_RTTS_MS = (0.0, 20.0, 40.0, 60.0, 80.0)
_LEAST_RTT_MS = RTT_MS - 40.0

#: Sizes in bytes: the body's mean and deviation of the logarithm, and its part; the tail.
_BODY, _BODY_PART = (9.357, 1.318), 0.93
_TAIL_LEAST, _TAIL_POWER = 133e3, 1.1
_MOST_BYTES = 100e6


def _sizes(count: int, random: np.random.Generator) -> np.ndarray:
    body = random.lognormal(*_BODY, count)
    tail = _TAIL_LEAST * (1 + random.pareto(_TAIL_POWER, count))
    sizes = np.where(random.random(count) < _BODY_PART, body, tail)
    return np.clip(np.round(sizes), 1, _MOST_BYTES)


@cache
def _transfers(duration_s: float) -> tuple[Flow, ...]:
    """Return transfers that offer the load, a group for each round-trip time."""
    packets_of = PACKET_BYTES / (PACKET_BYTES - 52)
    # Sizes vary so much that a mean of theirs is not the load of one draw: sizes are drawn until
    # there are enough bytes.
    wanted = _LOAD_MBPS * 1e6 / 8 * duration_s / packets_of
    sizes = _sizes(int(wanted / 1e3), stream(_SEED, "transfers", "sizes"))
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), wanted))].astype(int)
    starts = np.sort(stream(_SEED, "transfers", "starts").uniform(0, duration_s, len(sizes)))
    group = stream(_SEED, "transfers", "groups").integers(len(_EXTRA_RTTS_MS), size=len(sizes))
    return tuple(
        Flow(
            kind="bytes",
            cca="reno",
            extra_rtt_ms=extra_ms,
            arrivals=tuple(
                zip(starts[group == i].tolist(), sizes[group == i].tolist(), strict=True)
            ),
        )
        for i, extra_ms in enumerate(_EXTRA_RTTS_MS)
    )


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = _QUICK_S if quick else _DURATION_S
    rapid = Flow(cca="rapid", extra_rtt_ms=RTT_MS - _LEAST_RTT_MS)
    return tuple(
        network(
            *_transfers(duration_s),
            *others,
            mbps=_MBPS,
            queue_packets=bdp_packets(_MBPS),
            duration_s=duration_s,
            rtt_ms=_LEAST_RTT_MS,
            sample_interval_ms=1000,
        )
        for others in ((), (rapid,))
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    from_s = scenario.duration_s / 2
    table = scenario.flow_table()
    done = run.completions
    rapid = table.index[table["cca"] == "rapid"]
    counted = (table["kind"] == "bytes") & (done["start_ns"] >= from_s * 1e9)
    finished = counted & (done["end_ns"] >= 0)
    response_s = (done["end_ns"] - done["start_ns"])[finished] / 1e9
    p50, p90, p99 = quantile_packets(run, 0.5, 0.9, 0.99)
    common = {
        "rapid": bool(len(rapid)),
        "tcp_mbps": _carried_mbps(run, table.index[table["kind"] == "bytes"], from_s),
        "rapid_mbps": _carried_mbps(run, rapid, from_s),
        "mean_packets": mean_packets(run),
        "p50_packets": p50,
        "p90_packets": p90,
        "p99_packets": p99,
        "wait_ms": run.queueing_delay_ms(),
        "drops": int(run.summary()["drops"].sum()),
        "unfinished": int(counted.sum() - finished.sum()),
    }
    return [
        {**common, "flow": flow, "size_bytes": int(size), "response_s": float(taken)}
        for flow, size, taken in zip(
            response_s.index, table["size_bytes"][response_s.index], response_s, strict=True
        )
    ]


def _carried_mbps(run: Run, flows: pd.Index[int], from_s: float) -> float:
    """Return what some of many flows got together, without a column for each."""
    samples = run.flows[run.flows["flow"].isin(flows)]
    total, before = (
        part.groupby("flow")["throughput_bytes"].last().sum()
        for part in (samples, samples[samples["time_ns"] <= from_s * 1e9])
    )
    return float(total - before) * 8e-6 / (run.scenario.duration_s - from_s)


def _conclude(table: pd.DataFrame) -> Findings:
    first = table.groupby("rapid").first()
    alone, beside = (table[table["rapid"] == rapid] for rapid in (False, True))
    both = alone.merge(beside, on="flow", suffixes=("", "_beside"))
    distance = ks_2samp(alone["response_s"], beside["response_s"])
    logs = [np.log10(part["response_s"]) for part in (alone, beside)]
    shift = 100 * (10 ** wasserstein_distance(*logs) - 1)
    parts = (0.1, 0.5, 0.9, 0.99)
    ratios = beside["response_s"].quantile(parts) / alone["response_s"].quantile(parts)
    paired = both["response_s_beside"] / both["response_s"]
    used = first["tcp_mbps"][True] + first["rapid_mbps"][True]
    left = _MBPS - first["tcp_mbps"][True]
    queue_ms = first["mean_packets"] * PACKET_BYTES * 8 / (_MBPS * 1e3)
    more_wait_ms = float(first["wait_ms"][True] - first["wait_ms"][False])
    room = bdp_packets(_MBPS)
    queues = "; ".join(
        f"{what} median {first['p50_packets'][rapid]}, 90th percentile "
        f"{first['p90_packets'][rapid]}, 99th {first['p99_packets'][rapid]} of {room}, "
        f"{first['drops'][rapid]} dropped, {first['unfinished'][rapid]} unfinished"
        for rapid, what in ((False, "without"), (True, "with"))
    )
    return Findings(
        table=table,
        figure=_figure(alone, beside),
        comparisons=(
            Comparison(
                what="distance of the distributions of response times (Kolmogorov-Smirnov)",
                ours=float(distance.statistic),
                published="visually indistinguishable",
                accepted=(0, 0.05),
                note=f"{len(alone)} and {len(beside)} transfers, p = {distance.pvalue:.2g}",
            ),
            Comparison(
                what="mean shift of their logarithms (Wasserstein), as a change",
                ours=float(shift),
                published="visually indistinguishable",
                accepted=(0, 5),
                unit="%",
                note="10th, 50th, 90th and 99th percentile change by "
                + ", ".join(f"{100 * ratio - 100:+.1f}" for ratio in ratios)
                + f" %; a transfer's own time by {100 * paired.median() - 100:+.1f} % (median)",
            ),
            Comparison(
                what="use of the link with RAPID",
                ours=100 * float(used / _MBPS),
                published="nearly 100",
                accepted=(95, 100.5),
                unit="%",
            ),
            Comparison(
                what="RAPID's use of what is left",
                ours=100 * float(first["rapid_mbps"][True] / left),
                published="nearly 100",
                accepted=(90, 101),
                unit="%",
                note=f"{first['rapid_mbps'][True]:.1f} of {left:.1f} Mbit/s; transfers have "
                f"{first['tcp_mbps'][True]:.1f}, without it {first['tcp_mbps'][False]:.1f}",
            ),
            Comparison(
                what="mean queue with RAPID more than without, as its time on the link",
                ours=float(queue_ms[True] - queue_ms[False]),
                published="no significant additional queueing",
                accepted=(-5, 5),
                unit="ms",
                note=f"a packet waits {more_wait_ms:.1f} ms more on average; {queues}",
            ),
        ),
    )


def _figure(alone: pd.DataFrame, beside: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for part, label, style in ((alone, "without RAPID", "-"), (beside, "with RAPID", "--")):
        times = np.sort(part["response_s"])
        axes.plot(times, 1 - np.arange(len(times)) / len(times), style, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("response time (s)")
    axes.set_ylabel("part of the transfers that take longer")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


STUDY = Study(
    about=about("rapid-4"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
