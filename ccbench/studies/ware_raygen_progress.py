# SPDX-License-Identifier: Apache-2.0
"""What a search has found so far: the conclusion that Ware's Figures 5.15 and 5.18 share.

The 90th percentile is that of all scenarios tried so far. The thesis does not say whether its own
is of these or of the population; that of the population would rise by selection alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from ccbench.raygen.figures import progress_table
from ccbench.studies.study import Comparison, Findings
from ccbench.studies.ware_raygen import (
    COLOURS,
    STRATEGIES,
    UNPUBLISHED,
    best,
    fresh_mean,
    labelled,
    of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ccbench.raygen import SearchResult
    from ccbench.studies.ware_raygen import Strategy

__all__ = ["conclude"]

#: The thesis's "6 generations", "only 200 experiments": 60 and five times 30.
_SOON = 210
#: "Almost as high" is here: lower by no more than this part of Reno's solo throughput.
_ALMOST = 0.05


def conclude(results: Sequence[SearchResult]) -> Findings:
    """Compare each repetition with the sweep."""
    sweep = of(results, "sweep")
    seeds = sorted({result.config.seed for result in results if result is not sweep})
    table = pd.concat([labelled(r, _by_generation(r)) for r in results], ignore_index=True)
    return Findings(
        table=table,
        figure=_figure(results, sweep, seeds),
        comparisons=tuple(
            comparison
            for seed in seeds
            for strategy in STRATEGIES[:2]
            for comparison in _comparisons(results, strategy, seed, sweep)
        ),
    )


def _by_generation(result: SearchResult) -> pd.DataFrame:
    """Return what was found up to the end of each generation."""
    so_far = progress_table(result.experiments).reset_index()
    last = so_far.groupby("generation", as_index=False).last()
    return last.rename(columns={"percentile_90": "90th_percentile"})


def _comparisons(
    results: Sequence[SearchResult], strategy: Strategy, seed: int, sweep: SearchResult
) -> tuple[Comparison, ...]:
    result = of(results, strategy, seed)
    soon = {
        name: float(of(results, name, seed).experiments["relative_harm"].head(_SOON).max())
        for name in (strategy, "random")
    }
    generations = _by_generation(result)
    first, last = (float(generations["90th_percentile"].iloc[i]) for i in (0, -1))
    who = f"{strategy} {seed}"

    def published(text: str) -> str:
        return text if strategy == "genetic" else UNPUBLISHED

    return (
        Comparison(
            what=f"{who}: best of {_SOON} experiments less the sweep's best",
            ours=soon[strategy] - best(sweep),
            published=published("almost 0"),
            accepted=(-_ALMOST, 1),
            note=(
                f"{soon[strategy]:+.3f}, and {best(sweep):+.3f} of {len(sweep.experiments)} in the "
                f"sweep; random search {soon['random']:+.3f}."
            ),
        ),
        Comparison(
            what=f"{who}: claims less the sweep's claims, means with fresh seeds",
            ours=fresh_mean(result) - fresh_mean(sweep),
            published=UNPUBLISHED,
            accepted=(-_ALMOST, 1),
            note=f"{fresh_mean(result):+.3f} and {fresh_mean(sweep):+.3f}.",
        ),
        Comparison(
            what=f"{who}: 90th percentile after all generations less after the first",
            ours=last - first,
            published=published("above 0: it improves"),
            accepted=(0, 1),
        ),
    )


def _figure(results: Sequence[SearchResult], sweep: SearchResult, seeds: Sequence[int]) -> Figure:
    figure = Figure(figsize=(5.5 * len(seeds), 4.5), layout="constrained")
    columns = figure.subplots(1, len(seeds), sharex=True, sharey=True, squeeze=False)[0]
    for axes, seed in zip(columns, seeds, strict=True):
        for strategy in STRATEGIES:
            _draw(axes, of(results, strategy, seed))
        axes.axhline(
            best(sweep),
            color=COLOURS["sweep"],
            linestyle="--",
            label=f"best of the sweep ({len(sweep.experiments)})",
        )
        axes.set_title(f"repetition {seed}")
        axes.set_xlabel("experiments")
        axes.set_ylabel("relative harm")
        axes.grid(alpha=0.3)
        axes.label_outer()
    columns[0].legend(fontsize="small")
    return figure


def _draw(axes: Axes, result: SearchResult) -> None:
    """Draw the best after each experiment, and the 90th percentile after each generation."""
    strategy = result.config.strategy
    so_far = result.experiments["relative_harm"].cummax()
    generations = _by_generation(result)
    colour = COLOURS[strategy]
    axes.step(so_far.index + 1, so_far, where="post", color=colour, label=f"{strategy}, best")
    axes.plot(
        generations["experiments"],
        generations["90th_percentile"],
        ":o",
        color=colour,
        markersize=3,
        label=f"{strategy}, 90th percentile",
    )
