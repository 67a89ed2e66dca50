# SPDX-License-Identifier: Apache-2.0
"""Windows as Inspector Gadget counts them next to queue traces (Ware 2024, Figure 2.14).

:mod:`ccbench.studies.ware.gadget` counts the windows. Queue traces of the same CCAs are samples in
the setting of Figure 2.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.classify.setting import SETTINGS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware import gadget
from ccbench.studies.ware.samples import Samples, draw_trace, is_same, per_point

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_CCAS = ("cubic", "htcp")
_SEEDS = (1, 2, 3)
_WHERE = "section 2.4.1"
_EFFICIENCY = "section 2.4.2"
_GADGET, _QUEUE = "Inspector Gadget", "CCAnalyzer"

_SAMPLES = Samples(settings=(SETTINGS[0],), ccas=_CCAS, quick_ccas=_CCAS, quick_count=1)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    if quick:
        return tuple(gadget.connection(cca, 1, round_trips=12) for cca in _CCAS)
    windows = (gadget.connection(cca, seed) for cca in _CCAS for seed in _SEEDS)
    return (*windows, *_SAMPLES.scenarios())


def _measure(run: Run) -> Rows:
    if "timeout" not in run.scenario.name:
        return [{"method": _QUEUE, **_SAMPLES.measure(run)[0], "megabytes": np.nan}]
    windows = gadget.windows(run)
    return [
        {
            "method": _GADGET,
            "cca": run.scenario.flows[0].cca,
            "setting": "",
            "trace": windows.packets,
            "megabytes": windows.megabytes,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    windows, queues = (table[table["method"] == method] for method in (_GADGET, _QUEUE))
    round_trips = windows["trace"].map(len)
    cut = windows["trace"].map(lambda points: points[: round_trips.min()])
    cubic, htcp = (
        np.stack(cut[windows["cca"] == cca].tolist())[:, gadget.TIMED_OUT :] for cca in _CCAS
    )
    apart = 100 * np.abs(htcp - cubic).mean(axis=1) / cubic.mean(axis=1)
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
                published=at_most(gadget.ROUND_TRIPS, _EFFICIENCY, text="up to 50"),
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
