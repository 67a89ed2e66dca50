# SPDX-License-Identifier: Apache-2.0
"""The parts of BBR and of CUBIC or Reno in a queue over time (Ware 2024, Figure 3.3).

One BBR flow against one CUBIC or Reno flow for four minutes, with the queue of 1024 packets of the
caption. The queue is sampled every 0.1 s and averaged over 5 s. BBR has scaled up when its part of
the queue is for the first time 90 % of its mean in the last minute.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.run.tables import BACKLOG_STEPS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.testbed import SEEDS, competition, is_bbr

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_OTHERS = ("cubic", "reno")
_QUEUE_BDP = 32
_WHERE = "section 3.3"
_SAMPLE_S, _MEAN_S = 0.1, 5.0
_SCALED_UP = 0.9
_LAST_S = 60.0
_STYLES = {"bbr": ("#d55e00", "-"), "cubic": ("#0072b2", "--"), "reno": ("#009e73", "--")}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s, seeds = (60.0, SEEDS[:1]) if quick else (240.0, SEEDS[:5])
    return tuple(
        replace(
            competition(
                {"bbr": 1, other: 1}, queue_bdp=_QUEUE_BDP, duration_s=duration_s, seed=seed
            ),
            queue_log=True,
        )
        for other in _OTHERS
        for seed in seeds
    )


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    per_mean = round(_MEAN_S / _SAMPLE_S)
    at_ns = np.arange(round(scenario.duration_s / _SAMPLE_S)) * round(_SAMPLE_S * 1e9)
    means = {}
    for flow, is_bbr_flow in is_bbr(run).items():
        events = run.queue[run.queue["flow"] == flow]
        steps = BACKLOG_STEPS[events["event"].cat.codes]
        backlog = np.concatenate([[0], np.cumsum(steps)])
        sampled = backlog[np.searchsorted(events["time_ns"], at_ns, side="right")]
        means["bbr" if is_bbr_flow else "other"] = sampled.reshape(-1, per_mean).mean(axis=1)
    return [
        {
            "other": scenario.flows[1].cca,
            "seed": scenario.seed,
            "time_s": (i + 1) * _MEAN_S,
            "bbr_packets": bbr,
            "other_packets": other,
        }
        for i, (bbr, other) in enumerate(zip(means["bbr"], means["other"], strict=True))
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    table = table.assign(
        bbr_percent=100 * table["bbr_packets"] / (table["bbr_packets"] + table["other_packets"])
    )
    last_s = table["time_s"].max() - _LAST_S
    scaled_up = {
        other: pd.Series(
            {seed: _scaled_up_s(of_seed, last_s) for seed, of_seed in rows.groupby("seed")}
        )
        for other, rows in table.groupby("other")
    }
    late = table[(table["other"] == "reno") & (table["time_s"] > last_s)]
    means = late.groupby("seed")[["bbr_packets", "other_packets"]].mean()
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            Comparison(
                quantity="time until BBR has scaled up against CUBIC, minus that against Reno",
                measured=Estimate(scaled_up["cubic"] - scaled_up["reno"]),
                published=at_least(0, _WHERE, text="takes longer against Cubic"),
                unit="s",
                note=", ".join(f"{other}: {scaled_up[other].mean():.0f} s" for other in _OTHERS),
            ),
            Comparison(
                quantity="BBR's part of the queue ÷ Reno's, last minute",
                measured=Estimate(100 * means["bbr_packets"] / means["other_packets"]),
                published=similar(100, _WHERE, text="matches Reno's queue occupancy"),
                unit="%",
            ),
        ),
    )


def _scaled_up_s(rows: pd.DataFrame, last_s: float) -> float:
    share = rows.set_index("time_s")["bbr_percent"]
    has_scaled = (share >= _SCALED_UP * share.loc[last_s:].mean()).to_numpy()
    return float(share.index[int(has_scaled.argmax())])


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    panels = figure.subplots(1, len(_OTHERS), sharey=True)
    for axes, other in zip(panels, _OTHERS, strict=True):
        rows = table[table["other"] == other]
        for column, cca in (("bbr_packets", "bbr"), ("other_packets", other)):
            colour, line = _STYLES[cca]
            times = rows.groupby("time_s")[column]
            axes.plot(times.mean(), line, color=colour, label=cca)
            axes.fill_between(
                times.mean().index, times.min(), times.max(), color=colour, alpha=0.2, linewidth=0
            )
        axes.set_title(f"1 bbr against 1 {other}", fontsize="medium")
        axes.set_xlabel("time (s)")
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("packets in the queue")
    return figure


STUDY = Study(
    info=info("ware-3.3"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
