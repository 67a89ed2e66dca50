# SPDX-License-Identifier: Apache-2.0
"""ABC with perfect knowledge of the link's future, PK-ABC (Goyal et al. 2020, section 7.6).

The router uses the link's rate one round trip ahead instead of the current one. "The same setup as
Figure 7(b)" is Verizon's uplink, here the short one. The paper does not state the threshold d_t.
The comparison uses the value of the authors' scripts; the qdisc's default is a variant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import (
    ABC,
    CELLULAR_S,
    RTT_MS,
    cellular,
    course,
    measured,
    router,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import percentage, quantity, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: Thresholds d_t in ms: the authors' scripts', the qdisc's default.
_THRESHOLDS_MS = (50, 20)
_PUBLISHED_MS = {"ABC": 97.0, "PK-ABC": 28.0}
_TEXT = "section 7.6"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 14.0 if quick else CELLULAR_S
    future = {"lookahead_ms": RTT_MS}
    return tuple(
        cellular(
            replace(ABC, options=router(d_t_ms=d_t_ms, **more)),
            CELLULAR_LINKS[1],
            duration_s=duration_s,
        )
        for d_t_ms in _THRESHOLDS_MS
        for more in ({}, future)
    )


def _measure(run: Run) -> Rows:
    options = dict(run.scenario.path.bottlenecks[0].qdisc_options)
    name = "PK-ABC" if "lookahead_ms" in options else "ABC"
    return [{"d_t_ms": options["d_t_ms"], **measured(run), "scheme": name, "course": course(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    figure = Figure(figsize=(8, 5), layout="constrained")
    groups = list(table.groupby("d_t_ms", sort=False))
    comparisons: list[Comparison] = []
    panels = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for (d_t_ms, rows), axes in zip(groups, panels, strict=True):
        for name, series in zip(rows["scheme"], rows["course"], strict=True):
            axes.plot(series.index, series["delay_ms"], label=name, linewidth=0.9)
        axes.set_ylabel("delay (ms)")
        threshold = f"d_t {d_t_ms:g} ms"
        axes.set_title(threshold, fontsize="small")
        axes.legend(fontsize="small")
        by_scheme = rows.set_index("scheme")
        is_first = not comparisons
        comparisons += _comparisons(by_scheme) if is_first else _variant(threshold, by_scheme)
    panels[-1].set_xlabel("time (s)")
    return Findings(
        table=table.drop(columns="course"), figure=figure, comparisons=tuple(comparisons)
    )


def _comparisons(rows: pd.DataFrame) -> list[Comparison]:
    used = rows["utilisation_percent"]
    return [
        *(
            Comparison(
                quantity=f"{name}: 95th percentile of the delay",
                measured=float(rows["p95_ms"][name]),
                published=quantity(published_ms, _TEXT),
                unit="ms",
            )
            for name, published_ms in _PUBLISHED_MS.items()
        ),
        Comparison(
            quantity="ABC: utilisation",
            measured=float(used["ABC"]),
            published=percentage(90, _TEXT, text="about 90"),
            unit="%",
        ),
        Comparison(
            quantity="PK-ABC's utilisation relative to ABC's",
            measured=100 * float(used["PK-ABC"] / used["ABC"]),
            published=similar(100, _TEXT),
            unit="%",
        ),
    ]


def _variant(variant: str, rows: pd.DataFrame) -> list[Comparison]:
    return [
        Comparison(
            quantity=f"{variant}, {name}: 95th percentile of the delay",
            measured=float(rows["p95_ms"][name]),
            published=unbounded("variant", _TEXT),
            unit="ms",
            note=f"utilisation {rows['utilisation_percent'][name]:.1f} %",
        )
        for name in _PUBLISHED_MS
    ]


STUDY = Study(
    info=info("abc-pk"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
