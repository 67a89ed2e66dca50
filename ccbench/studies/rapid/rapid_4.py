# SPDX-License-Identifier: Apache-2.0
"""A mix of TCP transfers with and without a RAPID flow (Konda and Kaur, Figure 4).

Transfers load a link of 120 Mbit/s with 90 Mbit/s for 40 minutes. The study compares the response
times in the second half of two runs, in which the same transfers start at the same times.

Choices left open by the paper: Tmix replays a recorded link, which the paper does not name. Here
transfers start as a Poisson process; sizes are those of web servers (``"web"`` in
:mod:`ccbench.experiment.flow_sizes.named`); round-trip times are 20 to 100 ms, 60 ms on average.
TCP is NewReno with selective ACKs.

Variants: RAPID without the drain of standing queues, which the paper does not have; and other mixes
for 10 minutes each, namely the same without transfers above 133 KB, and flows of a backbone router.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.figures import Figure
from ccbench.base.random_streams import stream
from ccbench.experiment.flow_sizes import SIZES, FlowSizes
from ccbench.experiment.scenario import Flow, Scenario
from ccbench.studies.catalogue import info
from ccbench.studies.published import percentage, similar, unbounded
from ccbench.studies.rapid.links import (
    EXACT,
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

    from ccbench.run.run import Run
    from ccbench.studies.published import Published

_WHERE = "section IV.B"
_MBPS, _LOAD_MBPS = 120.0, 90.0
_DURATION_S, _VARIANT_S, _QUICK_S = 2400.0, 600.0, 20.0
_SEED = 1
_EXTRA_RTTS_MS = (0.0, 20.0, 40.0, 60.0, 80.0)
_LEAST_RTT_MS = RTT_MS - 40.0

_MIX = "web"
_MIXES = {
    _MIX: SIZES["web"],
    "web, up to 133 KB": FlowSizes(((1.0, SIZES["web"].pieces[0][1]),)),
    "backbone": SIZES["caida"],
}
_NONE, _RAPID, _NO_DRAIN, _PATHCHIRP = "none", "RAPID", "RAPID, no drain", "RAPID, PathChirp"
_PARAMETERS = {
    _RAPID: EXACT,
    _NO_DRAIN: {**EXACT, "tcp_rapid.drain_rtts": "0"},
    _PATHCHIRP: {**EXACT, "tcp_rapid.drain_rtts": "0", "tcp_rapid.pathchirp": "1"},
}

#: Response times in seconds, and percentiles, at which distributions are compared.
_TIMES_S = np.geomspace(0.01, 1000, 2000)
_AT = (50, 99)


@cache
def _transfers(mix: str, duration_s: float) -> tuple[Flow, ...]:
    """Return transfers that offer the load, with one group per round-trip time."""
    packets_of = PACKET_BYTES / (PACKET_BYTES - 52)
    # Sizes vary so much that their mean does not determine the load of a draw: draw sizes until
    # there are enough bytes.
    target_bytes = _LOAD_MBPS * 1e6 / 8 * duration_s / packets_of
    max_count = round(1.5 * target_bytes / _MIXES[mix].mean_bytes)
    sizes = _MIXES[mix].sample(max_count, stream(_SEED, "transfers", "sizes"))
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), target_bytes))].astype(int)
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
    rapid = Flow(cca="rapid", extra_rtt_ms=RTT_MS - _LEAST_RTT_MS)
    cases = [(_MIX, scheme, _DURATION_S) for scheme in (_NONE, *_PARAMETERS)]
    cases += [(mix, scheme, _VARIANT_S) for mix in [*_MIXES][1:] for scheme in (_NONE, _RAPID)]
    return tuple(
        network(
            *_transfers(mix, _QUICK_S if quick else duration_s),
            *(() if scheme == _NONE else (rapid,)),
            mbps=_MBPS,
            queue_packets=bdp_packets(_MBPS),
            duration_s=_QUICK_S if quick else duration_s,
            rtt_ms=_LEAST_RTT_MS,
            sample_interval_ms=1000,
            parameters=_PARAMETERS.get(scheme, EXACT),
            name=f"{mix}: {scheme}",
        )
        for mix, scheme, duration_s in cases
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    from_s = scenario.duration_s / 2
    table = scenario.flow_table()
    done = run.completions
    rapid = table.index[table["cca"] == "rapid"]
    counted = (table["kind"] == "bytes") & (done["start_ns"] >= from_s * 1e9)
    finished = counted & (done["end_ns"] >= 0)
    response_s = np.sort((done["end_ns"] - done["start_ns"])[finished] / 1e9)
    p50, p90, p99 = quantile_packets(run, 0.5, 0.9, 0.99)
    mix, scheme = scenario.name.split(": ")
    common = {
        "mix": mix,
        "scheme": scheme,
        "transfers": int(counted.sum()),
        "unfinished": int(counted.sum() - finished.sum()),
        "tcp_mbps": _carried_mbps(run, table.index[table["kind"] == "bytes"], from_s),
        "rapid_mbps": _carried_mbps(run, rapid, from_s),
        "mean_packets": mean_packets(run),
        "p50_packets": p50,
        "p90_packets": p90,
        "p99_packets": p99,
        "wait_ms": run.queueing_delay_ms(),
        "drops": int(run.summary()["drops"].sum()),
    }
    # Unfinished transfers take longer than all others.
    longer = 1 - np.searchsorted(response_s, _TIMES_S, side="right") / max(1, counted.sum())
    return [
        {**common, "response_s": float(time_s), "longer_percent": 100 * float(part)}
        for time_s, part in zip(_TIMES_S, longer, strict=True)
    ]


def _carried_mbps(run: Run, flows: pd.Index[int], from_s: float) -> float:
    """Return the total throughput of some of many flows, without a column per flow."""
    samples = run.flows[run.flows["flow"].isin(flows)]
    total, before = (
        part.groupby("flow")["throughput_bytes"].last().sum()
        for part in (samples, samples[samples["time_ns"] <= from_s * 1e9])
    )
    return float(total - before) * 8e-6 / (run.scenario.duration_s - from_s)


def _conclude(table: pd.DataFrame) -> Findings:
    cases = table[["mix", "scheme"]].drop_duplicates().itertuples(index=False)
    return Findings(
        table=table,
        figure=_figure(table[table["mix"] == _MIX]),
        comparisons=tuple(
            comparison
            for mix, scheme in cases
            if scheme != _NONE
            for comparison in _effects(table[table["mix"] == mix], scheme)
        ),
    )


def _effects(table: pd.DataFrame, scheme: str) -> list[Comparison]:
    """Return the comparisons of a mix's transfers and queue with those without RAPID."""
    alone, beside = (table[table["scheme"] == name] for name in (_NONE, scheme))
    before, after = alone.iloc[0], beside.iloc[0]
    is_papers = before["mix"] == _MIX and scheme == _RAPID
    label = "" if is_papers else f"{before['mix']}, {scheme}: "
    change = {percent: 100 * _time_s(beside, percent) / _time_s(alone, percent) for percent in _AT}
    same = similar(100, _WHERE, text="visually indistinguishable")
    apart = np.abs(alone["longer_percent"].to_numpy() - beside["longer_percent"].to_numpy())
    left_mbps = _MBPS - after["tcp_mbps"]

    def row(quantity: str, value: float, published: Published, note: str) -> Comparison:
        if not is_papers:
            published = unbounded("variant", _WHERE)
        return Comparison(
            quantity=label + quantity,
            measured=float(value),
            published=published,
            unit="%",
            note=note,
        )

    return [
        row(
            "median response time relative to that without RAPID",
            change[50],
            same,
            f"distributions at most {apart.max():.1f} points apart (Kolmogorov-Smirnov)",
        ),
        row(
            "99th percentile of response times relative to that without RAPID",
            change[99],
            same,
            f"{after['unfinished']} of {after['transfers']} transfers unfinished, without RAPID "
            f"{before['unfinished']}",
        ),
        row(
            "use of the link with RAPID",
            100 * (after["tcp_mbps"] + after["rapid_mbps"]) / _MBPS,
            percentage(100, _WHERE, text="nearly 100"),
            f"RAPID {after['rapid_mbps']:.1f} of {left_mbps:.1f} Mbit/s that transfers leave; "
            f"these have {after['tcp_mbps']:.1f}, without it {before['tcp_mbps']:.1f}",
        ),
        row(
            "mean queue relative to that without RAPID",
            100 * after["mean_packets"] / before["mean_packets"],
            similar(100, _WHERE, text="without significant additional queueing"),
            f"without {_queue(before)}; with {_queue(after)}",
        ),
    ]


def _time_s(case: pd.DataFrame, percent: int) -> float:
    """Return a percentile of the response times; NaN if it includes unfinished transfers."""
    shorter, times_s = 100 - case["longer_percent"].to_numpy(), case["response_s"].to_numpy()
    return float(np.interp(percent, shorter, times_s, right=np.nan))


def _queue(case: pd.Series[Any]) -> str:
    return (
        f"mean {case['mean_packets']:.0f}, median {case['p50_packets']}, 99th percentile "
        f"{case['p99_packets']} of {bdp_packets(_MBPS)} packets, wait {case['wait_ms']:.1f} ms, "
        f"{case['drops']} dropped"
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for scheme, part in table.groupby("scheme", sort=False):
        axes.plot(part["response_s"], part["longer_percent"] / 100, label=str(scheme))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("response time (s)")
    axes.set_ylabel("part of the transfers that take longer")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


STUDY = Study(
    info=info("rapid-4"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
