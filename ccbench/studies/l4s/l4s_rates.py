# SPDX-License-Identifier: Apache-2.0
"""Prague against CUBIC at DualPI2: rates over link rates and round-trip times.

RFC 9332 couples the queues by p_C = (p_CL / k)^2, so that a scalable flow in the L4S queue and a
Reno flow in the classic queue have roughly the same rate (section 2.1). The classic queue lengthens
the round trips of one of them: k = 2 is chosen for a base round-trip time of 25 ms (appendix C.2).
CUBIC is taken to behave as Reno in its Reno-friendly mode, below 20 ms and 350 Mbit/s. The goal of
the project is a factor of at most 1.5 on each path.

CUBIC's rate follows the mean of p'^2, and Prague's the mean of p', the probability before it is
squared. The study measures how far they differ, sqrt(mean p'^2) / mean p': this factor is 1 if the
probability is constant. On four paths there are also several flows of each, and on all paths
Prague with the draft's reduction.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.studies.catalogue import info
from ccbench.studies.l4s.paths import (
    KERNELS,
    MBPS,
    RTTS_MS,
    beside_cubic,
    estimates,
    path_name,
    settled_mbps,
)
from ccbench.studies.published import exactly, similar, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: Largest ratio of rates that counts as equal, in either direction.
_FACTOR = 1.5

_SEEDS, _FEW_SEEDS = 8, 3
#: Numbers of flows of each CCA, and the paths with more than one.
_COUNTS = (2, 5, 10)
_OF_COUNTS = tuple(product((40, 100), (20, 50)))

_ROUNDS = "tcp_prague.reduction_rounds"
_DRAFT = {_ROUNDS: "1"}

_EQUAL = "RFC 9332, section 2.1"
_GOAL = "goal of the project"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(_all(quick=quick))


def _all(*, quick: bool) -> Iterator[Scenario]:
    paths = ((40, 20),) if quick else tuple(product(MBPS, RTTS_MS))
    for parameters, seeds in (({}, _SEEDS), (_DRAFT, _FEW_SEEDS)):
        for (mbps, rtt_ms), seed in product(paths, range(1, 1 + (2 if quick else seeds))):
            yield beside_cubic(mbps, rtt_ms, seed, quick=quick, module_parameters=parameters)
    if quick:
        return
    for (mbps, rtt_ms), count, seed in product(_OF_COUNTS, _COUNTS, range(1, 1 + _FEW_SEEDS)):
        yield beside_cubic(mbps, rtt_ms, seed, count=count, quick=False)


def _measure(run: Run) -> Rows:
    scenario = run.scenario
    prague, cubic = settled_mbps(run)
    probability = run.qdisc_statistics().loc[scenario.duration_s / 2 :, "probability"]
    return [
        {
            "mbps": scenario.path.bottlenecks[0].mean_mbps,
            "rtt_ms": scenario.path.rtt_ms,
            "flows_of_each": scenario.flows[0].count,
            "draft": _ROUNDS in dict(scenario.path.module_parameters),
            "seed": scenario.seed,
            "prague_mbps": prague,
            "cubic_mbps": cubic,
            "ratio": prague / cubic,
            "oscillation": float(np.sqrt((probability**2).mean()) / probability.mean()),
        }
    ]


def _conclude(table: pd.DataFrame) -> Findings:
    single = table[table["flows_of_each"] == 1]
    ours, draft = single[~single["draft"]], single[single["draft"]]
    ratios, oscillations = estimates(ours, "ratio"), estimates(ours, "oscillation")
    outside = {path: ratio for path, ratio in ratios.items() if not _is_equal(ratio)}
    note = "; ".join(f"{path_name(*path)}: {ratio:.2f}" for path, ratio in outside.items())
    paths = f"{len(ratios)} paths"
    variant = unbounded("variant", _EQUAL)
    return Findings(
        table=table,
        figure=_figure(ours),
        comparisons=(
            Comparison(
                quantity=f"Prague's rate in % of CUBIC's, geometric mean of {paths}",
                measured=_overall(ours),
                published=similar(100, _EQUAL, text="roughly the same"),
                unit="%",
                note=f"Oscillation: {ours['oscillation'].mean():.2f}.",
            ),
            Comparison(
                quantity=f"paths on which the rates differ by a factor of at most 1.5, of {paths}",
                measured=len(ratios) - len(outside),
                published=exactly(len(ratios), _GOAL, text="all"),
                note=f"Outside: {note}." if note else "",
            ),
            *(
                Comparison(
                    quantity=f"{path_name(*path)}: Prague's rate divided by CUBIC's",
                    measured=ratio,
                    published=unbounded("see above", _GOAL),
                    note=f"Oscillation: {oscillations[path].mean:.2f}.",
                )
                for path, ratio in ratios.items()
            ),
            Comparison(
                quantity="the draft's reduction: Prague's rate in % of CUBIC's, geometric mean",
                measured=_overall(draft),
                published=variant,
                unit="%",
            ),
            Comparison(
                quantity="the draft's reduction: paths with a factor of at most 1.5",
                measured=sum(map(_is_equal, estimates(draft, "ratio").values())),
                published=variant,
            ),
            *(
                Comparison(
                    quantity=f"{count} of each, {path_name(*path)}: Prague's rate divided by "
                    "CUBIC's",
                    measured=ratio,
                    published=variant,
                )
                for count in _COUNTS
                for path, ratio in estimates(
                    table[table["flows_of_each"] == count], "ratio"
                ).items()
            ),
        ),
    )


def _is_equal(ratio: Estimate) -> bool:
    return 1 / _FACTOR <= ratio.mean <= _FACTOR


def _overall(rows: pd.DataFrame) -> Estimate:
    """Return the geometric mean of the ratios of all paths in percent, over seeds."""
    logs = np.log(rows["ratio"]).groupby(rows["seed"]).mean()
    return Estimate(100 * np.exp(logs))


def _figure(rows: pd.DataFrame) -> Figure:
    """Draw the ratio of each path with its interval."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for mbps, own in rows.groupby("mbps"):
        ratios = estimates(own, "ratio")
        axes.errorbar(
            [rtt_ms for _, rtt_ms in ratios],
            [ratio.mean for ratio in ratios.values()],
            yerr=[ratio.half_width for ratio in ratios.values()],
            marker="o",
            markersize=3,
            label=f"{mbps:g} Mbit/s",
        )
    axes.axhspan(1 / _FACTOR, _FACTOR, color="grey", alpha=0.15)
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(RTTS_MS, [f"{rtt_ms}" for rtt_ms in RTTS_MS])
    axes.set_yticks((0.5, 1, 2), ("0.5", "1", "2"))
    axes.minorticks_off()
    axes.set_xlabel("round-trip time (ms)")
    axes.set_ylabel("Prague's rate divided by CUBIC's")
    axes.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("l4s-rates"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
    kernels=KERNELS,
)
