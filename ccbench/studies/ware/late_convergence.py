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
from ccbench.convergence import converged_at
from ccbench.experiment.path import typical_path
from ccbench.harm import long_flows, relative_harm
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.studies.ware.harm import scenarios_of

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.study_info import StudyInfo

__all__ = ["study"]

#: Times of convergence that count as "at 200 seconds", in seconds.
_AT_200_S = (180.0, 220.0)
_WHERE = "section 5.3.3.2"

#: The columns that identify a run of CUBIC alone, and an experiment.
_SOLO = ["queue_packets", "seed", "beta_flows"]
_EXPERIMENT = [*_SOLO, "alpha_flows"]


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


def _scenarios(alpha: str, seeds: tuple[int, ...], *, quick: bool) -> tuple[Scenario, ...]:
    counts = (1,) if quick else (1, 2, 3, 4, 5)
    return scenarios_of(
        long_flows(
            alpha=alpha,
            beta="cubic",
            alpha_flows=alpha_flows,
            beta_flows=beta_flows,
            path=typical_path(bandwidth_mbps=100, rtt_ms=100, queue_packets=packets),
            duration_s=90 if quick else 300,
            seed=seed,
        )
        for packets in (1024, 4096)
        for beta_flows in counts
        for alpha_flows in counts
        for seed in (seeds[:1] if quick else seeds)
    )


def _measure(run: Run) -> Rows:
    throughput = run.throughput(interval_s=1.0)
    cca = run.scenario.flow_table()["cca"]
    beta_mbps = throughput.loc[:, (cca == "cubic").to_numpy()].sum(axis=1)
    return [
        {
            "queue_packets": run.scenario.path.bottlenecks[0].queue_packets,
            "seed": run.scenario.seed,
            "alpha_flows": int((cca != "cubic").sum()),
            "beta_flows": int((cca == "cubic").sum()),
            "converged_s": converged_at(throughput),
            "time_s": time_s,
            "beta_mbps": beta_mbps[time_s],
        }
        for time_s in throughput.index
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    harms = _harms(table)
    size = harms["difference_percent"].abs()
    runs = table[table["alpha_flows"] > 0].groupby(_EXPERIMENT)["converged_s"].first()
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
                quantity="spread of the difference (standard deviation), later half by earlier "
                "half",
                measured=Estimate(pd.Series([_spread(rows) for _, rows in harms.groupby("seed")])),
                published=at_least(1, _WHERE, text="varies significantly for later convergence"),
            ),
            Comparison(
                quantity="experiments that converge",
                measured=Estimate(100 * runs.notna().groupby("seed").mean()),
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
    solo = dict(iter(table[table["alpha_flows"] == 0].groupby(_SOLO)))
    competing = table[(table["alpha_flows"] > 0) & table["converged_s"].notna()]
    rows = []
    for _, run in competing.groupby(_EXPERIMENT):
        packets, seed, beta_flows, alpha_flows = (int(run[name].iloc[0]) for name in _EXPERIMENT)
        converged_s = float(run["converged_s"].iloc[0])
        whole, after = (
            relative_harm(
                _mean_from(solo[packets, seed, beta_flows], from_s),
                _mean_from(run, from_s),
                n_alpha=alpha_flows,
                n_beta=beta_flows,
            )
            for from_s in (0.0, converged_s)
        )
        rows.append((packets, seed, beta_flows, alpha_flows, converged_s, whole, after))
    harms = pd.DataFrame(
        rows, columns=[*_EXPERIMENT, "converged_s", "harm_whole", "harm_converged"]
    )
    harms["difference_percent"] = 100 * (harms["harm_whole"] - harms["harm_converged"])
    return harms


def _mean_from(run: pd.DataFrame, from_s: float) -> float:
    return float(run.loc[run["time_s"] > from_s, "beta_mbps"].mean())


def _figure(harms: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for packets, rows in harms.groupby("queue_packets"):
        axes.plot(
            rows["converged_s"], rows["difference_percent"], "o", label=f"{packets} packets", ms=5
        )
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.set_xlabel("time of convergence (s)")
    axes.set_ylabel("relative harm, whole run less converged (%)")
    axes.grid(alpha=0.3)
    if not harms.empty:
        axes.legend(fontsize="small")
    return figure
