# SPDX-License-Identifier: Apache-2.0
"""ABC and others at round-trip times of 20 to 200 ms (Goyal et al. 2020, Figure 21).

According to section 7.6 this repeats Figure 8's experiment; according to the caption it uses one of
Verizon's links. Here it is Figure 1's link. The router's delta stays at 133 ms, as the paper states
no other value. At 200 ms this is exactly two thirds of the round-trip time, at which Theorem 1 no
longer guarantees stability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import CELLULAR_S, SCHEMES, cellular, measured
from ccbench.studies.abc.tradeoff import draw_tradeoff, unbeaten
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_RTTS_MS = (20.0, 50.0, 100.0, 200.0)
_NONE = exactly(0, "section 7.6", text="none: ABC outperforms all prior schemes at all RTTs")


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 15.0 if quick else CELLULAR_S
    return tuple(
        cellular(scheme, CELLULAR_LINKS[0], rtt_ms=rtt_ms, duration_s=duration_s)
        for rtt_ms in (_RTTS_MS[:1] if quick else _RTTS_MS)
        for scheme in SCHEMES
    )


def _measure(run: Run) -> Rows:
    return [measured(run)]


def _conclude(table: pd.DataFrame) -> Findings:
    groups = list(table.groupby("rtt_ms"))
    figure = Figure(figsize=(3.6 * len(groups), 4), layout="constrained")
    as_good = {}
    for (rtt_ms, rows), axes in zip(
        groups, figure.subplots(1, len(groups), squeeze=False)[0], strict=True
    ):
        points = rows.set_index("scheme")
        draw_tradeoff(axes, points)
        axes.set_title(f"{rtt_ms:g} ms", fontsize="small")
        as_good[rtt_ms] = unbeaten(points, _NONE)
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="schemes with ABC's utilisation or more and its delay or less, at any RTT",
                measured=sum(count.value for count in as_good.values()),
                published=_NONE,
                note="; ".join(f"{ms:g} ms: {n.note}" for ms, n in as_good.items() if n.note),
            ),
        ),
    )


STUDY = Study(
    info=info("abc-21"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
