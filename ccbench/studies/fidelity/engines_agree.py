# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel compared with Mahimahi: the same scenarios in virtual and in real time.

No publication has these numbers. The study tests whether the choice between the two engines
matters. Real time is not repeatable, so each scenario runs several times on both. Two engines agree
on a quantity if the mean of Mahimahi's runs lies within the 95 % interval of the virtual kernel's.
For five runs each from one normal distribution, the probability is 88 %. The DTW distance of the
queues' occupancy compares their courses: runs on different engines should not be farther apart than
runs on the same engine.

Each engine has its own noise: Mahimahi the noise of this machine, the virtual kernel the typical
noise. The kernels differ: ``ccbench kernel build`` builds the virtual one, Mahimahi uses this
machine's.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.classify import dtw
from ccbench.experiment.noise import NO_NOISE, Noise, typical
from ccbench.harm import measure as measure_harm
from ccbench.studies.catalogue import info
from ccbench.studies.fidelity.cases import (
    CASE,
    MIXES,
    PATHS,
    QUANTITIES,
    EnginePath,
    case_name,
    cases,
    from_s,
    measured,
)
from ccbench.studies.published import at_least, exactly
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.published import Published

_REPETITIONS = 5

#: Compared quantities: column and description.
_QUANTITIES = {**QUANTITIES, "relative_harm": "relative harm"}
#: Sampling interval of the queue's course in seconds.
_STEP_S = 0.02
_ENGINES = ("kernel", "mahimahi")
#: Expected share of cases with Mahimahi's mean within the interval if all runs of a case are drawn
#: from one normal distribution.
_BY_CHANCE = 0.88
#: Minimum percentage of cases with queues as similar across engines as within one.
_LEAST_COURSES = 95.0
#: Source of the expectations, as no publication states them.
_CHANCE = "expected of equal engines"


def _scenarios(paths: tuple[EnginePath, ...], *, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
    """Return the scenarios for Mahimahi, which has its own noise; flows start as in the others."""

    def noise(rtt_ms: float) -> Noise:
        return replace(NO_NOISE, start_spread_ms=typical(rtt_ms=rtt_ms).start_spread_ms)

    return _with_noise(noise, paths, quick=quick)


def _references(paths: tuple[EnginePath, ...], *, quick: bool) -> tuple[tuple[Scenario, ...], ...]:
    """Return the scenarios for the virtual kernel, with explicit noise."""
    return _with_noise(lambda rtt_ms: typical(rtt_ms=rtt_ms), paths, quick=quick)


def _with_noise(
    noise: Callable[[float], Noise], paths: tuple[EnginePath, ...], *, quick: bool
) -> tuple[tuple[Scenario, ...], ...]:
    """Return the scenarios of all cases, each of several flows after that of the last one alone."""
    scenarios = (
        replace(scenario, path=replace(scenario.path, noise=noise(scenario.path.rtt_ms)))
        for scenario in cases(MIXES, seeds=_REPETITIONS, quick=quick, paths=paths)
    )
    return tuple(
        (scenario,)
        if len(scenario.flows) == 1
        else (replace(scenario, flows=scenario.flows[-1:]), scenario)
        for scenario in scenarios
    )


def _measure(*runs: Run) -> Rows:
    *solo, run = runs
    start_s, end_s = from_s(run.scenario), run.scenario.duration_s
    # The harm of a mix's first flow to its last.
    harms = [measure_harm(alone, run, (start_s, end_s)).relative for alone in solo]
    return [
        {
            "engine": run.provenance["engine"],
            **measured(run),
            "is_late": run.is_late,
            "course": run.occupancy(_STEP_S).loc[start_s:].to_numpy(),
            "relative_harm": harms[0] if harms else math.nan,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    apart = _apart(table)
    table = table.drop(columns="course")
    by_case = _by_case(table)
    late = table.loc[table["engine"] == "mahimahi", "is_late"]
    return Findings(
        table=table,
        figure=_figure(table),
        comparisons=(
            *(
                Comparison(
                    quantity="cases with Mahimahi's mean in the virtual kernel's interval: "
                    f"{words}",
                    measured=100 * float(rows["inside"].mean()),
                    published=_expected(len(rows)),
                    unit="%",
                    note=_note(rows),
                )
                for (name, words) in _QUANTITIES.items()
                for rows in [by_case[by_case["quantity"] == name]]
                if len(rows)
            ),
            Comparison(
                quantity="cases in which the queue's course is as alike across engines as within "
                "one",
                measured=100 * float((apart["across"] <= apart["within"]).mean()),
                published=_at_least(_LEAST_COURSES),
                unit="%",
                note=_course_note(apart),
            ),
            Comparison(
                quantity="runs in real time for which this machine was too busy",
                measured=100 * float(late.mean()),
                published=exactly(0, "expected of an idle machine", text="none"),
                unit="%",
            ),
        ),
    )


def _expected(cases: int) -> Published:
    """Return the lower limit for equal engines, three standard deviations below the mean."""
    deviation = math.sqrt(_BY_CHANCE * (1 - _BY_CHANCE) / cases)
    return _at_least(100 * (_BY_CHANCE - 3 * deviation))


def _at_least(percent: float) -> Published:
    return at_least(percent, _CHANCE, text=f"at least {percent:.0f}")


def _apart(table: pd.DataFrame) -> pd.DataFrame:
    """Return the DTW distances of the queues' courses in each case, in packets per sample.

    For runs on different engines this is the median, for runs on the same engine the maximum.
    """
    rows = []
    for case, runs in table.groupby(CASE):
        engines = [runs.loc[runs["engine"] == engine, "course"].tolist() for engine in _ENGINES]
        samples = len(engines[0][0])
        within = [dtw.pairwise(courses).max() for courses in engines]
        across = np.median(dtw.distances(*engines))
        rows.append(
            {
                "case": case_name(case),
                "within": max(within) / samples,
                "across": float(across) / samples,
            }
        )
    return pd.DataFrame(rows)


def _course_note(apart: pd.DataFrame) -> str:
    ratio = apart["across"] / apart["within"]
    others = ", ".join(apart.loc[ratio > 1, "case"])
    return (
        f"In the median case, runs on different engines are {ratio.median():.2g} times as far "
        "apart as the farthest two on the same one." + (f" Farther: {others}." if others else "")
    )


def _by_case(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each quantity of each mix and path: means, and whether they agree."""
    rows = []
    for case, runs in table.groupby(CASE):
        for name in _QUANTITIES:
            kernel, mahimahi = (
                Estimate(runs.loc[runs["engine"] == engine, name].dropna()) for engine in _ENGINES
            )
            if kernel.values and mahimahi.values:
                rows.append(
                    {
                        "case": case_name(case),
                        "quantity": name,
                        "kernel": kernel.mean,
                        "mahimahi": mahimahi.mean,
                        "inside": kernel.low <= mahimahi.mean <= kernel.high,
                    }
                )
    return pd.DataFrame(rows)


def _note(cases: pd.DataFrame) -> str:
    difference = (cases["kernel"] - cases["mahimahi"]).abs()
    worst = cases.to_dict("records")[int(difference.to_numpy().argmax())]
    apart = ", ".join(cases.loc[~cases["inside"].astype(bool), "case"])
    return (
        f"Means differ by {difference.median():.3g} in the median case, by {difference.max():.3g} "
        f"at most: {worst['kernel']:.3g} on the virtual kernel, {worst['mahimahi']:.3g} on "
        f"Mahimahi ({worst['case']})." + (f" Apart: {apart}." if apart else "")
    )


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    shown = {"mean_packets": "mean queue, packets", "last_mbps": "the last flow, Mbit/s"}
    for axes, (name, title) in zip(figure.subplots(1, 2), shown.items(), strict=True):
        for i, (mix, runs) in enumerate(table.groupby("mix")):
            points = runs.groupby([*CASE, "engine"])[name]
            mean, low, high = (
                getattr(points, statistic)().reset_index().pivot_table(name, CASE, "engine")
                for statistic in ("mean", "min", "max")
            )
            x, y = _ENGINES
            axes.errorbar(
                mean[x],
                mean[y],
                xerr=[mean[x] - low[x], high[x] - mean[x]],
                yerr=[mean[y] - low[y], high[y] - mean[y]],
                fmt="o",
                markersize=4,
                linewidth=0.8,
                color=f"C{i}",
                label=mix,
            )
        axes.axline((1, 1), slope=1, color="grey", linewidth=0.6)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("virtual kernel")
        axes.set_ylabel("Mahimahi")
        axes.set_title(title, fontsize="medium")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    return figure


def agreement(name: str, paths: tuple[EnginePath, ...]) -> Study:
    """Return the study of this name, which compares the engines on some paths."""
    return Study(
        info=info(name),
        scenarios=partial(_scenarios, paths),
        measure=_measure,
        conclude=_conclude,
        engines=("mahimahi",),
        references=partial(_references, paths),
    )


STUDY = agreement("engines-agree", PATHS)
