# SPDX-License-Identifier: Apache-2.0
"""The progress of a search: common conclusion of Ware's Figures 5.15 and 5.18.

The 90th percentile covers all scenarios tried so far. The thesis does not say whether its
percentile covers these or the population; that of the population would rise by selection alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.base.figures import Figure
from ccbench.raygen.figures import progress_table
from ccbench.studies.published import at_least, similar
from ccbench.studies.study import Comparison, Findings
from ccbench.studies.ware.raygen import (
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

__all__ = ["conclude"]

#: The thesis's "6 generations", "only 200 experiments": 60 and five times 30.
_SOON = 210


def conclude(results: Sequence[SearchResult], *, where: str, soon: str, improves: str) -> Findings:
    """Compare the repetitions with the sweep.

    Parameters
    ----------
    results : sequence of SearchResult
        Results of all strategies, with one or several seeds, and of the sweep.
    where, soon, improves : str
        Location and words of the thesis's statements that harm is high after 200 experiments and
        that the 90th percentile rises.
    """
    sweep = of(results, "sweep")
    seeds = sorted({result.config.seed for result in results if result is not sweep})
    table = pd.concat([labelled(r, _by_generation(r)) for r in results], ignore_index=True)
    return Findings(
        table=table,
        figure=_figure(results, sweep, seeds),
        comparisons=(
            Comparison(
                quantity=f"genetic: best of {_SOON} experiments ÷ the sweep's best",
                measured=Estimate(_soon(results, "genetic", seed, sweep) for seed in seeds),
                published=similar(100, where, text=soon),
                unit="%",
                note=f"The best of {len(sweep.experiments)} in the sweep: {best(sweep):+.3f}.",
            ),
            Comparison(
                quantity="genetic: 90th percentile after all generations minus after the first",
                measured=Estimate(_improved(of(results, "genetic", seed)) for seed in seeds),
                published=at_least(0, where, text=improves),
            ),
            *(
                Comparison(
                    quantity=f"{name}: best of {_SOON} experiments ÷ the sweep's best",
                    measured=Estimate(_soon(results, name, seed, sweep) for seed in seeds),
                    published=UNPUBLISHED,
                    unit="%",
                )
                for name in STRATEGIES[1:]
            ),
            *(
                Comparison(
                    quantity=f"{name}: claims minus the sweep's claims, means with fresh seeds",
                    measured=Estimate(
                        tuple(
                            fresh_mean(of(results, name, seed)) - fresh_mean(sweep)
                            for seed in seeds
                        )
                    ),
                    published=UNPUBLISHED,
                )
                for name in STRATEGIES
            ),
        ),
    )


def _soon(results: Sequence[SearchResult], strategy: str, seed: int, sweep: SearchResult) -> float:
    """Return the best of the first experiments in percent of the sweep's best, if positive."""
    early_best = float(of(results, strategy, seed).experiments["relative_harm"].head(_SOON).max())
    return 100 * early_best / best(sweep) if best(sweep) > 0 else math.nan


def _improved(result: SearchResult) -> float:
    percentile = _by_generation(result)["90th_percentile"]
    return float(percentile.iloc[-1] - percentile.iloc[0])


def _by_generation(result: SearchResult) -> pd.DataFrame:
    """Return the best and the 90th percentile up to the end of each generation."""
    so_far = progress_table(result.experiments).reset_index()
    last = so_far.groupby("generation", as_index=False).last()
    return last.rename(columns={"percentile_90": "90th_percentile"})


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
    """Draw the best so far after each experiment, and the 90th percentile by generation."""
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
