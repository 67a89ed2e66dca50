# SPDX-License-Identifier: Apache-2.0
"""Accuracy by queue and length of the traces, 0.3 Mbit/s and 275 ms (Ware 2024, Figure 2.20).

Five samples of each of 15 CCAs per queue, on one path with different seeds: three train, two are
classified, as in the thesis. A trace gets the label of the nearest training sample. Shorter traces
are prefixes.

A choice left open by the text: the queues, of which it names that of 16 packets. Here they are the
powers of two around it, of 4 to 64 packets.
"""

from __future__ import annotations

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.classify.classifier import CCAClassifier
from ccbench.classify.occupancy import STEP_S
from ccbench.classify.setting import LOW_RATE, Setting
from ccbench.studies.catalogue import info
from ccbench.studies.published import percentage, unbounded
from ccbench.studies.shades import WORSE_BELOW
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.samples import SAMPLES, Samples

_QUEUES = (4, 8, 16, 32, 64)
_LENGTHS_S = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
_WHERE = "section 2.5.3"
#: Traces "as short as" this are accurate.
_SHORTEST_S = 20.0

_SAMPLES = Samples(
    settings=tuple(
        Setting(bandwidth_mbps=LOW_RATE.bandwidth_mbps, rtt_ms=LOW_RATE.rtt_ms, queue_packets=queue)
        for queue in _QUEUES
    ),
    count=5,
    duration_s=max(_LENGTHS_S),
    quick_count=SAMPLES + 2,
)


def _conclude(table: pd.DataFrame) -> Findings:
    table = table.assign(number=table.groupby(["setting", "cca"]).cumcount())
    points = table["trace"].map(len).min()
    rows = pd.DataFrame(
        {
            "queue_packets": Setting.named(str(setting)).queue_packets,
            "length_s": length_s,
            "accuracy_percent": _accuracy(of, round(length_s / STEP_S)),
        }
        for setting, of in table.groupby("setting", sort=False)
        for length_s in _LENGTHS_S
        if round(length_s / STEP_S) <= points
    )
    shares = rows.pivot_table("accuracy_percent", "queue_packets", "length_s")
    usual = LOW_RATE.queue_packets if LOW_RATE.queue_packets in shares.index else shares.index[0]
    best = shares.mean(axis=1)
    enough = rows[(rows["queue_packets"] == usual) & (rows["length_s"] >= _SHORTEST_S)]
    return Findings(
        table=rows,
        figure=_figure(shares),
        comparisons=(
            Comparison(
                quantity=f"{usual} packets: lowest accuracy, traces of {_SHORTEST_S:g} s and more",
                measured=float(enough["accuracy_percent"].min()),
                published=percentage(100, _WHERE),
                unit="%",
            ),
            Comparison(
                quantity="queue with the highest mean accuracy",
                measured=float(shares.index[int(best.to_numpy().argmax())]),
                published=unbounded("16 works well", "caption of Figure 2.20"),
                unit="packets",
                note=", ".join(f"{queue}: {value:.1f} %" for queue, value in best.items()) + ".",
            ),
        ),
    )


def _accuracy(table: pd.DataFrame, points: int) -> float:
    """Return the percentage of test samples that are nearest to a sample of their CCA."""
    traces = table["trace"].map(lambda trace: trace[:points])
    is_training = table["number"] < SAMPLES
    classifier = CCAClassifier().fit(
        traces[is_training].tolist(), table.loc[is_training, "cca"].tolist()
    )
    labels = classifier.predict(traces[~is_training].tolist())
    return 100 * float((labels == table.loc[~is_training, "cca"]).mean())


def _figure(shares: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(5, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, vmin=50, vmax=100, cmap=WORSE_BELOW, aspect="auto")
    for row, values in enumerate(shares.to_numpy()):
        for column, value in enumerate(values):
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize="small")
    axes.set_xticks(range(len(shares.columns)), [f"{length:g}" for length in shares.columns])
    axes.set_yticks(range(len(shares)), [str(queue) for queue in shares.index])
    axes.set_xlabel("length of the traces (s)")
    axes.set_ylabel("queue (packets)")
    axes.set_title("traces nearest to their own CCA (%)", fontsize="small")
    return figure


STUDY = Study(
    info=info("ware-2.20"),
    scenarios=_SAMPLES.scenarios,
    measure=_SAMPLES.measure,
    conclude=_conclude,
)
