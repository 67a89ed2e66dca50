# SPDX-License-Identifier: Apache-2.0
"""ABC, XCP, XCPw, RCP and VCP on eight cellular links (Goyal et al. 2020, Figure 18).

Their routers know the rate of the link, as ABC's does. The numbers are those of section 7.3 and of
appendix F; the figure's caption calls the 95th percentiles of ABC, XCP and XCPw similar, which
contradicts both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import ABC, CELLULAR_S, EXPLICIT, cellular, measured
from ccbench.studies.abc.tradeoff import draw_tradeoff
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, quantity, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_TEXT = "section 7.3"
_APPENDIX = "appendix F"
_QUICK_S = 15.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    traces = CELLULAR_LINKS[:1] if quick else CELLULAR_LINKS
    duration_s = _QUICK_S if quick else CELLULAR_S
    return tuple(
        cellular(scheme, name, duration_s=duration_s)
        for scheme in (ABC, *EXPLICIT)
        for name in traces
    )


def _measure(run: Run) -> Rows:
    return [measured(run)]


def _conclude(table: pd.DataFrame) -> Findings:
    columns = ["utilisation_percent", "p95_ms", "mean_ms"]
    means = table.groupby("scheme", sort=False)[columns].mean()
    by_abc = 100 * means / means.loc[ABC.name]
    used, p95 = by_abc["utilisation_percent"], by_abc["p95_ms"]
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    draw_tradeoff(figure.subplots(), means)
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            *(
                Comparison(
                    quantity=f"{name}'s utilisation relative to ABC's",
                    measured=float(used[name]),
                    published=similar(100, _TEXT),
                    unit="%",
                )
                for name in ("XCP", "XCPw")
            ),
            *(
                Comparison(
                    quantity=f"{name}'s 95th percentile of the delay, above ABC's",
                    measured=float(p95[name] - 100),
                    published=quantity(percent, _TEXT),
                    unit="%",
                )
                for name, percent in (("XCP", 105), ("XCPw", 40))
            ),
            *(
                Comparison(
                    quantity=f"ABC's utilisation, above {name}'s",
                    measured=float(1e4 / used[name] - 100),
                    published=quantity(20, _APPENDIX),
                    unit="%",
                )
                for name in ("RCP", "VCP")
            ),
            Comparison(
                quantity="ABC's mean delay minus VCP's",
                measured=float(means["mean_ms"][ABC.name] - means["mean_ms"]["VCP"]),
                published=at_least(0, _APPENDIX, text="slightly higher"),
                unit="ms",
            ),
        ),
    )


STUDY = Study(
    info=info("abc-18"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
