# SPDX-License-Identifier: Apache-2.0
"""Fairness with and without additive increase (Goyal et al. 2020, Figure 3).

Five flows on 24 Mbit/s start one after the other, and stop one after the other. The round-trip time
is 100 ms, as in all of the paper's emulations (section 7.6). Choices left open by the paper: the
queue holds 250 packets, and a flow starts or stops every 40 s; the last 15 s of each stage are
evaluated. Windows that grow by one packet per round trip take time to converge: the difference
between N flows that share W packets shrinks by the factor 1 - N/W per round trip, for two flows on
this link to a third within 11 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.experiment.noise import typical
from ccbench.experiment.scenario import Flow, NetworkPath, Scenario
from ccbench.metrics import jain_index
from ccbench.studies.abc.links import ABC, RTT_MS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.run.run import Run

__all__ = ["LINK_MBPS", "stage_indices"]

LINK_MBPS = 24.0
_FLOWS = 5
_STAGE_S = 40
#: Number of stages; flow i is active in as many stages as there are flows, starting with stage i.
_STAGES = 2 * _FLOWS - 1
_COUNTED_S = 15
_INCREASE = "net.ipv4.tcp_abc_increase"
_NAMES = {True: "with", False: "without"}
_SEEDS = (1, 2, 3)
_FIGURE = "caption of Figure 3"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    stage_s = 3 if quick else _STAGE_S
    return tuple(
        Scenario(
            flows=tuple(
                Flow(cca=ABC.cca, start_s=i * stage_s, stop_s=(_FLOWS + i) * stage_s)
                for i in range(_FLOWS)
            ),
            path=NetworkPath(
                bottlenecks=(ABC.bottleneck(LINK_MBPS),),
                rtt_ms=RTT_MS,
                sysctls=() if increase else ((_INCREASE, "0"),),
                noise=typical(rtt_ms=RTT_MS),
            ),
            duration_s=_STAGES * stage_s,
            seed=seed,
            queue_log=False,
            name=f"five ABC flows {_NAMES[increase]} additive increase",
        )
        for increase in (False, True)
        for seed in (_SEEDS[:1] if quick else _SEEDS)
    )


def _measure(run: Run) -> Rows:
    increase = (_INCREASE, "0") not in run.scenario.path.sysctls
    throughput = run.throughput(1.0)
    return [
        {
            "additive_increase": increase,
            "seed": run.scenario.seed,
            "stage_s": run.scenario.duration_s / _STAGES,
            "time_s": time_s,
            "flow": flow,
            "mbps": mbps,
        }
        for flow in throughput.columns
        for time_s, mbps in throughput[flow].items()
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    figure = Figure(figsize=(10, 4), layout="constrained")
    indices = {True: pd.DataFrame(), False: pd.DataFrame()}
    panels = figure.subplots(1, 2, sharey=True)
    for (increase, rows), axes in zip(table.groupby("additive_increase"), panels, strict=True):
        stage_s = float(rows["stage_s"].iloc[0])
        by_seed = {
            seed: of_seed.pivot_table("mbps", "time_s", "flow")
            for seed, of_seed in rows.groupby("seed")
        }
        first = next(iter(by_seed.values()))
        axes.plot(first.index, first, linewidth=1)
        axes.set_title(f"{_NAMES[bool(increase)]} additive increase", fontsize="medium")
        axes.set_xlabel("time (s)")
        axes.grid(alpha=0.3)
        indices[bool(increase)] = pd.DataFrame(
            {seed: stage_indices(mbps, stage_s) for seed, mbps in by_seed.items()}
        )
    panels[0].set_ylabel("throughput (Mbit/s)")
    together, apart = indices[True], indices[False]
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="Jain's index, mean of the stages, with additive increase minus without",
                measured=Estimate(together.mean() - apart.mean()),
                published=at_least(0, _FIGURE, text="additive increase leads to fairness"),
            ),
            Comparison(
                quantity="Jain's index with additive increase, mean of the stages",
                measured=Estimate(together.mean()),
                published=unbounded("fair", _FIGURE),
                note=_listed(together.mean(axis=1)),
            ),
            Comparison(
                quantity="Jain's index without additive increase, mean of the stages",
                measured=Estimate(apart.mean()),
                published=unbounded("not fair", "section 3.1.3"),
                note=_listed(apart.mean(axis=1)),
            ),
        ),
    )


def stage_indices(mbps: pd.DataFrame, stage_s: float) -> pd.Series[float]:
    """Return Jain's index at the end of each stage with two or more active flows.

    Parameters
    ----------
    mbps : DataFrame
        Throughput of each flow in Mbit/s; index ``time_s``. Flow i is active in as many stages as
        there are flows, starting with stage i.
    stage_s : float
        Length of a stage in seconds.

    Returns
    -------
    Series
        Index: number of the stage.

    Examples
    --------
    >>> two = pd.DataFrame({0: [8, 4, 0], 1: [0, 4, 8]}, index=[1.0, 2.0, 3.0])
    >>> stage_indices(two, 1.0).to_dict()
    {1: 1.0}
    """
    count = len(mbps.columns)
    indices = {}
    for stage in range(2 * count - 1):
        active = [flow for flow in range(count) if flow <= stage < flow + count]
        end_s = (stage + 1) * stage_s
        begin_s = end_s - min(_COUNTED_S, stage_s)
        part = mbps.loc[(mbps.index > begin_s) & (mbps.index <= end_s), active]
        if len(active) > 1:
            indices[stage] = jain_index(part.mean().to_numpy())
    return pd.Series(indices, dtype=float)


def _listed(indices: pd.Series[float]) -> str:
    return ", ".join(f"{index:.2f}" for index in indices)


STUDY = Study(
    info=info("abc-3"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
