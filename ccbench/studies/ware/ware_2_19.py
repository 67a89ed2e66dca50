# SPDX-License-Identifier: Apache-2.0
"""Time between the probes of BBRv1 and of BBRv3 (Ware 2024, Figure 2.19).

The thesis shows queues that a Google server fills, on 10 Mbit/s with 128 packets and round-trip
times of 130 and 85 ms, and takes its CCA for BBRv3. Here one flow of each version runs alone on
these paths for 120 s, with typical noise and five seeds. Probes are counted in the state of the
sender: of bandwidth, the beginnings of the phase UP (a pacing gain of 1.25), and of the round-trip
time, those of ProbeRTT.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.studies.bbr3.state import state_of
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

_RTTS_MS = (130.0, 85.0)
_PROBES = {"up": "bandwidth", "probe_rtt": "RTT"}
_WHERE = "section 2.5.2"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        Scenario(
            flows=(Flow(cca=cca),),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=128),),
                rtt_ms=rtt_ms,
                noise=typical(rtt_ms=rtt_ms),
            ),
            duration_s=30.0 if quick else 120.0,
            seed=seed,
            sample_interval_ms=10,
            queue_log=False,
            name=f"{cca}, {rtt_ms:g} ms, seed {seed}",
        )
        for rtt_ms, cca, seed in product(
            _RTTS_MS[:1] if quick else _RTTS_MS, ("bbr", "bbr3"), (1,) if quick else range(1, 6)
        )
    )


def _measure(run: Run) -> Rows:
    starts = {
        phase: [span.start_s for span in state_of(run).spans if span.phase == phase]
        for phase in _PROBES
    }
    return [
        {
            "cca": run.scenario.flows[0].cca,
            "rtt_ms": run.scenario.path.rtt_ms,
            "seed": run.scenario.seed,
            "probe": _PROBES[phase],
            "probes": len(times_s),
            "apart_s": float(np.mean(np.diff(times_s))) if len(times_s) > 1 else np.nan,
        }
        for phase, times_s in starts.items()
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    apart = table.pivot_table("apart_s", ["probe", "rtt_ms", "seed"], "cca")
    ratio = (apart["bbr3"] / apart["bbr"]).rename("ratio").reset_index()
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=tuple(
            Comparison(
                quantity=f"time between probes of {probe}, BBRv3 ÷ BBRv1, mean of both paths",
                measured=Estimate(ratio[ratio["probe"] == probe].groupby("seed")["ratio"].mean()),
                published=at_least(1, _WHERE, text="more spaced out"),
                note=_note(table[table["probe"] == probe]),
            )
            for probe in _PROBES.values()
        ),
    )


def _note(rows: pd.DataFrame) -> str:
    means = rows.groupby(["rtt_ms", "cca"], as_index=False)["apart_s"].mean()
    each = (f"{of.cca}, {of.rtt_ms:g} ms: {of.apart_s:.2f} s" for of in means.itertuples())
    return "; ".join(each) + "."


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    panels = figure.subplots(1, len(_PROBES))
    for axes, (probe, rows) in zip(panels, table.groupby("probe", sort=False), strict=True):
        labels = rows["cca"] + ", " + rows["rtt_ms"].map("{:g} ms".format)
        axes.plot(rows["apart_s"], labels, "o", alpha=0.6)
        axes.set_xlim(left=0)
        axes.set_title(f"probes of {probe}", fontsize="medium")
        axes.set_xlabel("time between them (s)")
        axes.grid(alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-2.19"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
