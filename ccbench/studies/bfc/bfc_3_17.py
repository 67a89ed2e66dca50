# SPDX-License-Identifier: Apache-2.0
"""Four priority classes (Goyal 2022, Figure 3-17)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.datacenter.schemes import scheme
from ccbench.studies.bfc.slowdown import (
    BFC,
    EDGES,
    SHORTER_S,
    by_seed,
    cases_of,
    settled,
    traffic,
    value,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, quantity, similar
from ccbench.studies.study import Comparison, Findings, Rows, SimulationStudy

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.case import SimulationCase
    from ccbench.datacenter.simulation import Simulation

_CLASSES = 4
_LAST = _CLASSES - 1
_BFC = replace(BFC, classes=_CLASSES)
_BFC_128 = replace(_BFC, name=f"{BFC.name}-128", queues=128)
_OTHERS = tuple(replace(scheme(name), classes=_CLASSES) for name in ("hpcc", "dctcp"))
_SCHEMES = (_BFC, _BFC_128, *_OTHERS)
_SHORT = EDGES[0]
_WHERE = "section 3.6.6.1"


def _cases(*, quick: bool) -> tuple[SimulationCase, ...]:
    workload = replace(traffic("facebook", 60), classes=_CLASSES)
    return cases_of("four classes", workload, _SCHEMES, quick=quick, duration_s=SHORTER_S)


def _measure(case: SimulationCase, result: Simulation) -> Rows:
    counted = settled(case, result)
    rows = []
    for priority in range(_CLASSES):
        flows = counted.flows[counted.flows["priority"] == priority]
        table = replace(counted, flows=flows).slowdowns(EDGES, until="acked")
        rows += [
            {
                "scheme": case.scheme.name,
                "seed": case.seed,
                "class": priority,
                "up_to_bytes": up_to,
                **dict(zip(row.index, row, strict=True)),
            }
            for up_to, row in table.iterrows()
        ]
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    def short(rows: pd.DataFrame, name: str, priority: int) -> float:
        where = {"scheme": name, "class": priority, "up_to_bytes": _SHORT}
        return value(rows, "p99", **where)

    def gains(rows: pd.DataFrame, of: str, by: str) -> list[float]:
        return [short(rows, of, one) / short(rows, by, one) for one in range(_CLASSES)]

    def inverted(rows: pd.DataFrame) -> float:
        """Return HPCC's slowdown of long flows of the first class by short flows of the last."""
        where = {"scheme": "hpcc", "class": 0, "up_to_bytes": EDGES[-1]}
        return value(rows, "p99", **where) / short(rows, "hpcc", _LAST)

    drawn = Figure(figsize=(4 * _CLASSES, 3.2), layout="constrained")
    for priority, axes in enumerate(drawn.subplots(1, _CLASSES, sharey=True)):
        part = table[table["class"] == priority].replace({"up_to_bytes": float("inf")}, 1e7)
        for name, rows in part.groupby("scheme", sort=False):
            mean = rows.groupby("up_to_bytes")["p99"].mean()
            axes.plot(mean.index, mean, marker="o", markersize=3, label=str(name))
        axes.set(
            xscale="log", yscale="log", xlabel="flows up to (bytes)", title=f"class {priority}"
        )
    drawn.axes[0].set(ylabel="slowdown, p99")
    drawn.axes[0].legend()
    return Findings(
        table=table,
        figure=drawn,
        comparisons=(
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, DCTCP ÷ BFC, largest of all classes",
                measured=by_seed(table, lambda rows: max(gains(rows, "dctcp", _BFC.name))),
                published=quantity(5, _WHERE, text="up to 5 times"),
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, DCTCP ÷ BFC, last class",
                measured=by_seed(table, lambda rows: 100 * gains(rows, "dctcp", _BFC.name)[_LAST]),
                published=similar(100, _WHERE, text="converges to that of BFC"),
                unit="%",
            ),
            Comparison(
                quantity="p99 slowdown of flows up to 3 KB, BFC with 128 queues ÷ BFC with 32, "
                "mean of all classes",
                measured=by_seed(
                    table, lambda rows: sum(gains(rows, _BFC_128.name, _BFC.name)) / _CLASSES
                ),
                published=at_most(1, _WHERE, text="only slightly better"),
            ),
            Comparison(
                quantity="HPCC: p99 slowdown of flows of 1 to 3 MB of the first class ÷ that of "
                "flows up to 3 KB of the last",
                measured=by_seed(table, inverted),
                published=at_least(1, _WHERE, text="priority inversion"),
            ),
        ),
    )


STUDY = SimulationStudy(
    info=info("bfc-3.17"),
    cases=_cases,
    measure=_measure,
    conclude=_conclude,
)
