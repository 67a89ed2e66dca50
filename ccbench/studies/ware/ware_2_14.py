# SPDX-License-Identifier: Apache-2.0
"""Windows as Inspector Gadget estimates them next to queue traces (Ware 2024, Figure 2.14).

Inspector Gadget forces one timeout and then counts the packets of each round trip, of up to 50 in
one connection, and of at most 2 MB. Here a path of one second without a bottleneck loses all
packets of the round trip in which the window first exceeds 64 packets, and the packets of each
second are counted, until 2 MB have been sent. Queue traces of the same CCAs are samples in the
setting of Figure 2.4.

Choices left open by the thesis: the round-trip time, with which 50 round trips take less than the
90 s that it states, and the window of the timeout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.classify.setting import SETTINGS
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import Bottleneck, Change, Flow, NetworkPath, Scenario
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.samples import Samples, draw_trace, is_same, per_point

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.run.run import Run

_CCAS = ("cubic", "htcp")
_RTT_S = 1.0
_ROUND_TRIPS = 50
#: The round trip whose packets are lost, the first with more than 64: 10, 20, 40 and 80.
_LOST_FROM_S, _LOST_TO_S = 3.5, 4.5
_MOST_BYTES = 2e6
_SEEDS = (1, 2, 3)
_WHERE = "section 2.4.1"
_EFFICIENCY = "section 2.4.2"
_GADGET, _QUEUE = "Inspector Gadget", "CCAnalyzer"

_SAMPLES = Samples(settings=(SETTINGS[0],), ccas=_CCAS, quick_ccas=_CCAS, quick_count=1)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    if quick:
        return tuple(_forced(cca, 1, 12) for cca in _CCAS)
    windows = (_forced(cca, seed, _ROUND_TRIPS) for cca in _CCAS for seed in _SEEDS)
    return (*windows, *_SAMPLES.scenarios())


def _forced(cca: str, seed: int, round_trips: int) -> Scenario:
    """Return a connection with a timeout, over a path without a bottleneck."""
    return Scenario(
        flows=(Flow(cca=cca),),
        path=NetworkPath(
            bottlenecks=(Bottleneck(bandwidth_mbps=1000, queue_packets=10_000),),
            rtt_ms=1e3 * _RTT_S,
            noise=Noise(reverse_jitter_ms=1.0),
            changes=(Change(at_s=_LOST_FROM_S, loss=1.0), Change(at_s=_LOST_TO_S, loss=0.0)),
        ),
        duration_s=round_trips * _RTT_S,
        seed=seed,
        name=f"{cca}, a timeout, seed {seed}",
    )


def _measure(run: Run) -> Rows:
    if "timeout" not in run.scenario.name:
        return [{"method": _QUEUE, **_SAMPLES.measure(run)[0], "megabytes": np.nan}]
    arrived = run.queue[run.queue["event"] == "enqueue"]
    edges = np.arange(0, run.scenario.duration_s + _RTT_S, _RTT_S) * 1e9
    windows, sent = (
        np.histogram(arrived["time_ns"], edges, weights=weights)[0]
        for weights in (None, arrived["bytes"].astype(float))
    )
    is_traced = np.cumsum(sent) <= _MOST_BYTES
    return [
        {
            "method": _GADGET,
            "cca": run.scenario.flows[0].cca,
            "setting": "",
            "trace": windows[is_traced].astype(np.float32),
            "megabytes": float(sent[is_traced].sum()) / 1e6,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    windows, queues = (table[table["method"] == method] for method in (_GADGET, _QUEUE))
    after = int(_LOST_TO_S / _RTT_S)
    round_trips = windows["trace"].map(len)
    cut = windows["trace"].map(lambda points: points[: round_trips.min()])
    cubic, htcp = (np.stack(cut[windows["cca"] == cca].tolist()) for cca in _CCAS)
    apart = 100 * np.abs(htcp - cubic)[:, after:].mean(axis=1) / cubic[:, after:].mean(axis=1)
    return Findings(
        table=table.assign(trace=table["trace"].map(_in_words)),
        figure=_figure(windows, queues),
        comparisons=(
            Comparison(
                quantity="difference between windows of CUBIC and H-TCP after the timeout, mean",
                measured=Estimate(apart),
                published=similar(0, _WHERE, text="nearly identical"),
                unit="%",
            ),
            Comparison(
                quantity="distance between queues of CUBIC and H-TCP ÷ the largest within one",
                measured=_distinct(queues),
                published=at_least(1, _WHERE, text="easily distinguishable"),
            ),
            Comparison(
                quantity="round trips of a trace of windows, largest",
                measured=float(round_trips.max()),
                published=at_most(_ROUND_TRIPS, _EFFICIENCY, text="up to 50"),
            ),
        ),
    )


def _in_words(points: npt.NDArray[np.float32]) -> str:
    return " ".join(f"{value:g}" for value in points)


def _distinct(queues: pd.DataFrame) -> float:
    """Return the smallest distance between the CCAs by the largest within one; NaN without."""
    if queues.empty:
        return float("nan")
    apart, same = per_point(queues["trace"].tolist()), is_same(queues["cca"].tolist())
    return float(apart[~same].min() / apart[same].max())


def _figure(windows: pd.DataFrame, queues: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    rows_of = {"packets per round trip": windows, "packets in the queue": queues}
    parts = [(rows, label) for label, rows in rows_of.items() if len(rows)]
    panels = figure.subplots(len(parts), len(_CCAS), squeeze=False, sharey="row")
    for line, (rows, label) in zip(panels, parts, strict=True):
        for axes, cca in zip(line, _CCAS, strict=True):
            points = rows[rows["cca"] == cca]["trace"].iloc[0]
            if label.endswith("trip"):
                axes.plot(points, "o-", color="#d55e00", markersize=2, linewidth=0.8)
                axes.set_title(f"{cca}, {_GADGET}", fontsize="small")
                axes.set_xlabel("round trip")
            else:
                draw_trace(axes, f"{cca}, {_QUEUE}", points)
                axes.set_xlabel("time (s)")
        line[0].set_ylabel(label)
    return figure


STUDY = Study(
    info=info("ware-2.14"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
