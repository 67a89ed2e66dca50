# SPDX-License-Identifier: Apache-2.0
"""Error of the estimated rate of the cross traffic (Goyal et al. 2022, section 3.1).

Choices left open by the paper: it mentions "several tests with various patterns of cross traffic".
Here these are the three categories of section 7.2 and the alternating traffic of Figure 7, from 10
s on, with equal weights. The estimate is the one that NimbusCC computes from its ACKs. The true
rate is that of the cross traffic accepted by the queue in a window of one RTT, which reaches the
sender a base RTT later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.elasticity.observed import observe
from ccbench.experiment.scenario import Flow
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared
from ccbench.studies.nimbus.measures import SETTLED_S
from ccbench.studies.nimbus.nimbus_7 import alternating
from ccbench.studies.nimbus.testbed import CATEGORIES, category_of, cross_traffic, seeds, shared
from ccbench.studies.published import percentage
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_QUANTILES = np.append(np.arange(1, 100) / 100, 0.999)
_MEDIAN, _TAIL = 0.5, 0.95
_ROUNDING_S = 1e-6


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    steady = tuple(
        shared(
            Flow(cca="nimbus"),
            *cross_traffic(category),
            duration_s=16.0 if quick else 120.0,
            seed=seed,
            name=f"nimbus, {category} traffic",
        )
        for category in CATEGORIES
        for seed in seeds(quick=quick)
    )
    return steady + alternating(["nimbus"], quick=quick)


def _measure(run: Run) -> Rows:
    flows = run.scenario.flows
    changes = any(flow.start_s > 0 for flow in flows)
    errors = errors_of(run)
    return [
        {
            "traffic": "alternating" if changes else category_of(run.scenario),
            "seed": run.scenario.seed,
            "share": share,
            "error_percent": 100 * error,
        }
        for share, error in errors.quantile(_QUANTILES).items()
    ]


def errors_of(run: Run) -> pd.Series[float]:
    """Return the relative error of NimbusCC's estimate at each of its samples."""
    true = observe(run).rates["true_mbps"]
    estimate = run.cca_info(0)["z_mbps"].loc[SETTLED_S:]
    then_s = estimate.index - run.scenario.path.rtt_ms / 1e3 + _ROUNDING_S
    true_mbps = true.to_numpy()[np.searchsorted(true.index, then_s, side="right") - 1]
    is_positive = true_mbps > 0
    error: pd.Series[float] = (estimate - true_mbps).abs()[is_positive] / true_mbps[is_positive]
    return error


def _conclude(table: pd.DataFrame) -> Findings:
    # All patterns have equal weights.
    of_seed = table.groupby(["share", "seed"])["error_percent"].mean()
    of_traffic = table.pivot_table("error_percent", "share", "traffic", sort=False)
    comparisons = tuple(
        compared(
            f"relative error, {words}, mean of all patterns",
            of_seed[share],
            percentage(published, "section 3.1"),
        )
        for share, words, published in (
            (_MEDIAN, "median", 1.3),
            (_TAIL, "95th percentile", 7.5),
        )
    )
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for traffic, errors in of_traffic.items():
        axes.plot(errors, errors.index, label=traffic)
    axes.set_xlabel("relative error of the estimate (%)")
    axes.set_ylabel("share of the time")
    axes.set_xlim(0, 50)
    axes.legend(fontsize="small")
    return Findings(table=table, figure=figure, comparisons=comparisons)


STUDY = Study(
    info=info("nimbus-z"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
