# SPDX-License-Identifier: Apache-2.0
"""ABC and others on eight cellular links (Goyal et al. 2020, section 1's table, Figures 1 and 8).

:mod:`ccbench.studies.abc.links` defines the links and the delay. Utilisation and 95th percentile of
the delay are averaged over the eight links, then divided by ABC's. Figure 1 shows one of Verizon's
links (appendix B) without naming it; here it is the first of the eight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.studies.abc.links import (
    ABC,
    ABC_20,
    CELLULAR_S,
    CODEL,
    COLOURS,
    EXPLICIT,
    FOR_CELLULAR,
    RTT_MS,
    SCHEMES,
    cellular,
    course,
    measured,
    recorded,
)
from ccbench.studies.abc.tradeoff import draw_tradeoff, unbeaten
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most, exactly, fraction, percentage, quantity, similar
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.study_info import CELLULAR_LINKS

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_TABLE = "table of section 1"
_FIGURE_1 = "caption of Figure 1"
#: Values of that table: utilisation and 95th percentile of the delay, divided by ABC's.
_PUBLISHED = {
    "XCP": (0.97, 2.04),
    "Cubic+Codel": (0.67, 0.84),
    "Copa": (0.66, 0.85),
    "Cubic": (1.18, 4.78),
    "PCC": (1.12, 4.93),
    "BBR": (0.96, 2.83),
    "Sprout": (0.55, 1.08),
    "Verus": (0.72, 2.01),
}
_ABC_PERCENT = 78.0
_ABC_MS = 242.0
#: Schemes of Figure 1.
_SHOWN = ("Cubic", "Cubic+Codel", "ABC")
_QUICK_S = 15.0


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    traces = CELLULAR_LINKS[:1] if quick else CELLULAR_LINKS
    duration_s = _QUICK_S if quick else CELLULAR_S
    schemes = (*SCHEMES, *FOR_CELLULAR, ABC_20, *EXPLICIT[:2])
    return tuple(
        cellular(scheme, name, duration_s=duration_s) for scheme in schemes for name in traces
    )


def _measure(run: Run) -> Rows:
    row = measured(run)
    shown = row["scheme"] in _SHOWN and run.scenario.path.bottlenecks[0].trace == recorded(
        CELLULAR_LINKS[0]
    )
    return [{**row, "course": course(run).rename(columns={0: "mbps"}) if shown else None}]


def _conclude(table: pd.DataFrame) -> Findings:
    shown = table.dropna(subset="course")
    table = table.drop(columns="course")
    means = _means(table)
    courses = dict(zip(shown["scheme"].astype(str), shown["course"], strict=True))
    return Findings(
        table=table,
        figure=_figure(means, courses),
        comparisons=_comparisons(means, shown),
    )


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Return each scheme's means over the links, and their ratios to ABC's."""
    columns = ["utilisation_percent", "p95_ms", "mean_ms"]
    means = table.groupby("scheme", sort=False)[columns].mean()
    abc = means.loc[[ABC.name], columns].to_numpy()
    means[[f"{column}_by_abc" for column in columns]] = means[columns].to_numpy() / abc
    return means


def _with_propagation(p95_ms: pd.Series[float], name: str) -> str:
    """Return a note on the ratio of delays that include one-way or round-trip propagation."""
    one_way, both_ways = (
        (p95_ms[name] + base_ms) / (p95_ms[ABC.name] + base_ms) for base_ms in (RTT_MS / 2, RTT_MS)
    )
    return f"{one_way:.2f} with half of the base RTT in the delay, {both_ways:.2f} with all of it"


def _comparisons(means: pd.DataFrame, shown: pd.DataFrame) -> tuple[Comparison, ...]:
    by_scheme = []
    for name, (utilisation, delay) in _PUBLISHED.items():
        by_scheme += [
            Comparison(
                quantity=f"{name}: utilisation, divided by ABC's",
                measured=float(means["utilisation_percent_by_abc"][name]),
                published=fraction(utilisation, _TABLE),
            ),
            Comparison(
                quantity=f"{name}: 95th percentile of the delay, divided by ABC's",
                measured=float(means["p95_ms_by_abc"][name]),
                published=quantity(delay, _TABLE),
                note=_with_propagation(means["p95_ms"], name),
            ),
        ]
    return (
        Comparison(
            quantity="ABC: utilisation",
            measured=float(means["utilisation_percent"][ABC.name]),
            published=percentage(_ABC_PERCENT, _TABLE),
            unit="%",
        ),
        Comparison(
            quantity="ABC: 95th percentile of the delay",
            measured=float(means["p95_ms"][ABC.name]),
            published=quantity(_ABC_MS, _TABLE),
            unit="ms",
        ),
        *by_scheme,
        unbeaten(means, exactly(0, "section 7.3", text="none: trends as in Figure 7")),
        *_of_figure_1(shown.set_index("scheme")),
    )


def _of_figure_1(shown: pd.DataFrame) -> tuple[Comparison, ...]:
    """Return the comparisons with the caption of Figure 1, for a single link."""
    p95_ms = shown["p95_ms"]
    return (
        Comparison(
            quantity="Figure 1: ABC's utilisation",
            measured=float(shown["utilisation_percent"][ABC.name]),
            published=percentage(100, _FIGURE_1, text="close to 100"),
            unit="%",
        ),
        Comparison(
            quantity="Figure 1: ABC's 95th percentile of the delay relative to Cubic+Codel's",
            measured=100 * float(p95_ms[ABC.name] / p95_ms[CODEL.name]),
            published=similar(100, _FIGURE_1),
            unit="%",
        ),
        Comparison(
            quantity="Figure 1: Cubic's largest delay",
            measured=float(shown["course"]["Cubic"]["delay_ms"].max()),
            published=at_most(1500, _FIGURE_1, text="up to 1500"),
            unit="ms",
        ),
    )


def _figure(means: pd.DataFrame, courses: dict[str, pd.DataFrame]) -> Figure:
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    grid = figure.add_gridspec(len(courses), 2, width_ratios=(1, 1.3))
    draw_tradeoff(figure.add_subplot(grid[:, 0]), means)
    top_ms = max(now["delay_ms"].max() for now in courses.values())
    for i, (name, now) in enumerate(courses.items()):
        axes = figure.add_subplot(grid[i, 1])
        axes.fill_between(now.index, now["capacity_mbps"], color="0.88", step="pre")
        axes.plot(now.index, now["mbps"], color=COLOURS[name], linewidth=1)
        axes.set_ylabel(f"{name}\nMbit/s", fontsize="small")
        delay = axes.twinx()
        delay.plot(now.index, now["delay_ms"], color="0.4", linewidth=0.7)
        delay.set_ylim(0, 1.05 * top_ms)
        delay.set_ylabel("delay (ms)", fontsize="small", color="0.4")
        if i == len(courses) - 1:
            axes.set_xlabel("time (s)")
    return figure


STUDY = Study(
    info=info("abc-1"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
