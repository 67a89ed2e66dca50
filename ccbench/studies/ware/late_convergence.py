# SPDX-License-Identifier: Apache-2.0
"""The runs and statements of Figure 5.10 of Ware 2024: harm before and after convergence.

Choices left open by the thesis: it takes the settings of Zeynali et al. without stating their queue
lengths; here these are 1024 and 4096 packets (one bandwidth-delay product is 833), with several
seeds each. Its "difference in harm" in percent is here the difference of two relative harms times
100, as a percentage of a relative harm, which is 0 for equal shares, would be meaningless. "Later"
times of convergence are here those from the median on, and "at 200 s" is from 180 to 220 s.

The thesis's figure has BBRv1 and BBRv3. These are two studies, so that each runs on its own.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.path import typical_path
from ccbench.harm import long_flows, measure
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.study_info import StudyInfo

__all__ = ["study"]

#: Times of convergence that count as "at 200 seconds", in seconds.
_AT_200_S = (180.0, 220.0)
_WHERE = "section 5.3.3.2"

#: The columns that identify an experiment.
_EXPERIMENT = ["queue_packets", "seed", "beta_flows", "alpha_flows"]


def study(info: StudyInfo, *, alpha: str, seeds: tuple[int, ...]) -> Study:
    """Return the study of one CCA against CUBIC.

    Parameters
    ----------
    info : StudyInfo
        Its description.
    alpha : str
        Linux name of the CCA.
    seeds : tuple of int
        Seeds of each experiment.
    """
    return Study(
        info=info,
        scenarios=partial(_scenarios, alpha, seeds),
        measure=_measure,
        conclude=_conclude,
    )


def _scenarios(
    alpha: str, seeds: tuple[int, ...], *, quick: bool
) -> tuple[tuple[Scenario, ...], ...]:
    counts = (1,) if quick else (1, 2, 3, 4, 5)
    return tuple(
        long_flows(
            alpha=alpha,
            beta="cubic",
            alpha_flows=alpha_flows,
            beta_flows=beta_flows,
            path=typical_path(bandwidth_mbps=100, rtt_ms=100, queue_packets=packets),
            duration_s=90 if quick else 300,
            seed=seed,
        ).scenarios
        for packets in (1024, 4096)
        for beta_flows in counts
        for alpha_flows in counts
        for seed in (seeds[:1] if quick else seeds)
    )


def _measure(solo: Run, competing: Run) -> Rows:
    scenario = competing.scenario
    settled = measure(solo, competing)
    whole = measure(solo, competing, (0.0, scenario.duration_s))
    converged_s = settled.converged_at_s
    return [
        {
            "queue_packets": scenario.path.bottlenecks[0].queue_packets,
            "seed": scenario.seed,
            "beta_flows": settled.n_beta,
            "alpha_flows": settled.n_alpha,
            "converged_s": math.nan if converged_s is None else converged_s,
            "harm_whole": whole.relative,
            "harm_converged": settled.relative,
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    harms = _harms(table)
    size = harms["difference_percent"].abs()
    return Findings(
        table=harms,
        figure=_figure(harms),
        comparisons=(
            Comparison(
                quantity="largest difference in harm where convergence is at 180 to 220 s",
                measured=float(size[harms["converged_s"].between(*_AT_200_S)].max()),
                published=at_most(10, _WHERE, text="up to 10"),
                unit="%",
            ),
            Comparison(
                quantity="spread of the difference (standard deviation), later half ÷ earlier half",
                measured=Estimate(pd.Series([_spread(rows) for _, rows in harms.groupby("seed")])),
                published=at_least(1, _WHERE, text="varies significantly for later convergence"),
            ),
            Comparison(
                quantity="experiments that converge",
                measured=Estimate(100 * table["converged_s"].notna().groupby(table["seed"]).mean()),
                published=unbounded("not stated", _WHERE),
                unit="%",
            ),
        ),
    )


def _spread(harms: pd.DataFrame) -> float:
    """Return the ratio of the difference's variation for later and earlier convergence."""
    is_later = harms["converged_s"] >= harms["converged_s"].median()
    later, earlier = (harms.loc[half, "difference_percent"].std() for half in (is_later, ~is_later))
    return float(later / earlier) if earlier else math.nan


def _harms(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per experiment that converged."""
    converged = table[table["converged_s"].notna()].sort_values(_EXPERIMENT, ignore_index=True)
    difference = converged["harm_whole"] - converged["harm_converged"]
    return converged.assign(difference_percent=100 * difference)


def _figure(harms: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for packets, rows in harms.groupby("queue_packets"):
        axes.plot(
            rows["converged_s"], rows["difference_percent"], "o", label=f"{packets} packets", ms=5
        )
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.set_xlabel("time of convergence (s)")
    axes.set_ylabel("relative harm, whole run minus converged (%)")
    axes.grid(alpha=0.3)
    if not harms.empty:
        axes.legend(fontsize="small")
    return figure
