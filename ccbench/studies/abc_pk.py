# SPDX-License-Identifier: Apache-2.0
"""ABC that knows the link's future, PK-ABC (Goyal et al. 2020, section 7.6).

The router takes the rate of the link one round trip from now for that of now. "The same setup as
Figure 7(b)" is Verizon's link up, here the short one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ccbench.studies.abc_links import (
    ABC,
    CELLULAR_S,
    RTT_MS,
    cellular,
    course,
    measured,
    router,
)
from ccbench.studies.catalogue import CELLULAR_LINKS, about
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run
    from ccbench.scenario import Scenario

#: By its threshold d_t in ms, which the paper does not say: the authors' scripts', the qdisc's own.
_THRESHOLDS_MS = (50, 20)
_PUBLISHED_MS = {"ABC": 97.0, "PK-ABC": 28.0}
_FACTOR = 1.25


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
    options = dict(run.scenario.bottlenecks[0].qdisc_options)
    name = "PK-ABC" if "lookahead_ms" in options else "ABC"
    return [{"d_t_ms": options["d_t_ms"], **measured(run), "scheme": name, "course": course(run)}]


def _conclude(table: pd.DataFrame) -> Findings:
    figure = Figure(figsize=(8, 5), layout="constrained")
    groups = list(table.groupby("d_t_ms", sort=False))
    comparisons = []
    panels = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for (d_t_ms, rows), axes in zip(groups, panels, strict=True):
        for name, now in zip(rows["scheme"], rows["course"], strict=True):
            axes.plot(now.index, now["delay_ms"], label=name, linewidth=0.9)
        axes.set_ylabel("delay (ms)")
        axes.set_title(f"d_t = {d_t_ms:g} ms", fontsize="small")
        axes.legend(fontsize="small")
        comparisons += _comparisons(f"d_t {d_t_ms:g} ms, ", rows.set_index("scheme"))
    panels[-1].set_xlabel("time (s)")
    return Findings(
        table=table.drop(columns="course"), figure=figure, comparisons=tuple(comparisons)
    )


def _comparisons(where: str, rows: pd.DataFrame) -> list[Comparison]:
    p95_ms, used = rows["p95_ms"], rows["utilisation_percent"]
    return [
        *(
            Comparison(
                what=f"{where}{name}: 95th percentile of the delay",
                ours=float(p95_ms[name]),
                published=f"{published_ms:g}",
                accepted=(published_ms / _FACTOR, published_ms * _FACTOR),
                unit="ms",
            )
            for name, published_ms in _PUBLISHED_MS.items()
        ),
        Comparison(
            what=f"{where}the same, PK-ABC by ABC",
            ours=float(p95_ms["PK-ABC"] / p95_ms["ABC"]),
            published="0.29",
            accepted=(0.19, 0.39),
        ),
        Comparison(
            what=f"{where}ABC: utilisation",
            ours=float(used["ABC"]),
            published="about 90",
            accepted=(85, 95),
            unit="%",
        ),
        Comparison(
            what=f"{where}utilisation, PK-ABC less ABC",
            ours=float(used["PK-ABC"] - used["ABC"]),
            published="similar",
            accepted=(-5, 5),
            unit="points",
        ),
    ]


STUDY = Study(
    about=about("abc-pk"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
