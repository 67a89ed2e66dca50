# SPDX-License-Identifier: Apache-2.0
"""Studies of arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.base.figures import Figure
from ccbench.raygen import SearchConfig
from ccbench.studies import (
    CatalogueEntry,
    Comparison,
    Findings,
    Rows,
    SearchStudy,
    Study,
    get,
)
from ccbench.studies.published import at_least, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import SearchResult
    from ccbench.run.run import Run


LINK_MBPS = 10.0


def scenarios_of(study: Study, *, quick: bool) -> list[Scenario]:
    """Return the distinct scenarios of a study."""
    return list(dict.fromkeys(chain(*study.groups(quick=quick))))


def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Let 1 to 4 even flows share a link; in the quick version 1 to 2; with two seeds."""
    return tuple(
        Scenario(
            flows=(Flow(cca="even", count=count),),
            path=NetworkPath(
                bottlenecks=(Bottleneck(bandwidth_mbps=LINK_MBPS, queue_bdp=1),), rtt_ms=40
            ),
            duration_s=2 * count,
            seed=seed,
            name=f"{count} flows",
        )
        for count in range(1, 3 if quick else 5)
        for seed in (3, 1)
    )


def measure(run: Run) -> Rows:
    """Return a row for each flow."""
    flows, seed = run.scenario.flow_count, run.scenario.seed
    return [
        {"flows": flows, "seed": seed, "mbps": mbps} for mbps in run.summary()["throughput_mbps"]
    ]


def conclude(table: pd.DataFrame) -> Findings:
    """Compare the flows' rates with fair shares, and once with an absent value."""
    figure = Figure()
    figure.subplots().plot(table["flows"], table["mbps"])
    fair = float((table["flows"] * table["mbps"]).mean())
    return Findings(
        table=table,
        figure=figure,
        comparisons=(
            Comparison(
                quantity="flows times share",
                measured=fair,
                published=quantity(10, "Figure 1"),
                unit="Mbit/s",
                note="Sharing is fair.",
            ),
            Comparison(quantity="never", measured=math.nan, published=quantity(7, "section 2")),
        ),
    )


STUDY = Study(
    info=CatalogueEntry(
        name="even-1",
        title="Even flows share",
        publication="Nobody 1900",
        part="Figure 1",
        runs=8,
        virtual_s=40,
    ),
    scenarios=scenarios,
    measure=measure,
    conclude=conclude,
)


def searches(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:
    """Search with two strategies for harm by greedy flows; the full version has more networks."""
    config = SearchConfig(
        alpha="greedy",
        beta="even",
        budget=8 if full else 4,
        population=4,
        duration_s=2 if quick else 4,
        confirm=2,
    )
    return config, replace(config, strategy="random", seed=9)


def searches_without_full(*, quick: bool, full: bool) -> tuple[SearchConfig, ...]:  # noqa: ARG001
    """Search as above, without a full version."""
    return searches(quick=quick, full=False)


def conclude_searches(results: Sequence[SearchResult]) -> Findings:
    """Compare the strategies by their best."""
    figure = Figure()
    axes = figure.subplots()
    for result in results:
        axes.plot(result.experiments["relative_harm"])
    table = pd.concat([result.experiments for result in results])
    genetic, at_random = (float(r.experiments["relative_harm"].max()) for r in results)
    difference = Comparison(
        quantity="difference", measured=genetic - at_random, published=at_least(0, "Figure 2")
    )
    return Findings(table=table, figure=figure, comparisons=(difference,))


SEARCH_STUDY = SearchStudy(
    info=CatalogueEntry(
        name="greedy-1",
        title="Greedy flows harm",
        publication="Nobody 1900",
        part="Figure 2",
        runs=48,
        virtual_s=192,
    ),
    searches=searches,
    conclude=conclude_searches,
)


def study_of(name: str) -> Study:
    """Return a study of runs."""
    study = get(name)
    assert isinstance(study, Study)
    return study


def verdicts(name: str, rows: Rows) -> list[str]:
    """Return the verdicts on all bounded statements, from a table."""
    comparisons = study_of(name).conclude(pd.DataFrame(rows)).comparisons
    return [
        comparison.verdict for comparison in comparisons if comparison.published.kind != "unbounded"
    ]
