# SPDX-License-Identifier: Apache-2.0
"""Time of BBR in ProbeRTT against one CUBIC flow, and the model (Ware 2024, Figure 3.9).

Measurement: Linux limits a flow's congestion window to 4 packets from the ACK that starts ProbeRTT,
through the draining of the queue, until ProbeRTT ends. A sequence of samples, 10 ms apart, with a
window of at most 4 packets is therefore a ProbeRTT if it lasts 0.2 s, the minimum duration of
ProbeRTT; shorter sequences are recoveries from a loss. The probe time of a run is the mean over its
BBR flows.

A choice left open by the thesis: its text states a link of 15 Mbit/s, the caption of the figure 10.
The link here has 10; for a queue of a given number of BDPs, (3.11) gives the same result for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, between
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware import converged
from ccbench.studies.ware.testbed import queue_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_LEAST_S = 0.2
_WHERE = "section 3.5.5"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return converged.scenarios(converged.CUBIC, quick=quick)


def _measure(run: Run) -> Rows:
    measured_s = converged.measured_s(run)
    flows = run.scenario.flows[0].count
    is_late = run.flows["time_ns"] > (run.scenario.duration_s - measured_s) * 1e9
    samples = run.flows[is_late & (run.flows["flow"] < flows)]
    interval_s = run.scenario.sample_interval_ms / 1e3
    probed_s = [
        _spells(flow["cwnd_packets"].to_numpy() <= 4, round(_LEAST_S / interval_s))  # noqa: PLR2004
        * interval_s
        for _, flow in samples.groupby("flow")
    ]
    return [
        {
            "queue_packets": run.scenario.path.bottlenecks[0].queue_packets,
            "bbr_flows": flows,
            "seed": run.scenario.seed,
            "measured_s": measured_s,
            "probe_s": float(np.mean(probed_s)),
            "model_probe_s": converged.model(run).probe_time_s(measured_s),
        }
    ]


def _spells(low: npt.NDArray[np.bool_], min_length: int) -> int:
    """Return the number of samples in sequences of at least `min_length` low samples."""
    edges = np.flatnonzero(np.diff(low, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    return int(lengths[lengths >= min_length].sum())


def _conclude(table: pd.DataFrame) -> Findings:
    excess_s = (table["model_probe_s"] - table["probe_s"]).groupby(table["seed"])
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="prediction (3.11) minus probe time, median",
                measured=Estimate(excess_s.median()),
                published=between(1, 3, _WHERE, text="most commonly 1 to 3"),
                unit="s",
            ),
            Comparison(
                quantity="the largest difference",
                measured=Estimate(excess_s.max()),
                published=at_most(8, _WHERE, text="at most about 8"),
                unit="s",
            ),
        ),
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    predicted = table.groupby("queue_packets")["model_probe_s"].first()
    axes.plot(predicted.index, predicted, "k--", label="model (3.11)")
    for flows, runs in table.groupby("bbr_flows"):
        mean = runs.groupby("queue_packets")["probe_s"].mean()
        axes.plot(mean.index, mean, "o-", markersize=4, linewidth=0.8, label=f"{flows} bbr")
    queue_axis(axes, table["queue_packets"])
    axes.set_ylabel(f"time in ProbeRTT (s of {table['measured_s'].iloc[0]:g} s)")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-3.9"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
