# SPDX-License-Identifier: Apache-2.0
"""Searches for where Westwood harms Reno, for the studies of Ware's section 5.5.

Where the thesis leaves room: it does not say whether copies count among the top scenarios. Here
they do not, so that a search that finds one network twenty times has found one. Its sweep has 3500
scenarios; ours has 960, or with ``full`` 3125, which are grids with about as many levels of each
gene. "Better" is here a higher median of the 100 most harmful scenarios.

A search picks the largest of many noisy values. Such a value is partly luck, and the more so the
more alike the scenarios are (:mod:`ccbench.raygen.selection`). So the comparisons have beside them
the harm of the five claims of each search with fresh seeds.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.raygen import SearchConfig
from ccbench.studies.published import unbounded
from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from matplotlib.axes import Axes

    from ccbench.raygen import SearchResult

__all__ = [
    "COLOURS",
    "STRATEGIES",
    "TOP",
    "UNPUBLISHED",
    "best",
    "differences",
    "draw_cdf",
    "draw_top",
    "fresh_mean",
    "labelled",
    "of",
    "quickly",
    "reno_against_westwood",
    "top_median",
    "top_table",
    "unpublished_comparisons",
]

#: Those that learn, and the one to beat.
STRATEGIES: tuple[str, ...] = ("genetic", "surrogate", "random")

#: In place of a statement about the surrogate, or about fresh seeds.
UNPUBLISHED = unbounded("not in the thesis", "nowhere")

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "genetic": "tab:red",
        "surrogate": "tab:purple",
        "random": "tab:blue",
        "sweep": "0.4",
    }
)

#: The thesis compares so many of the most harmful scenarios.
TOP = 100

_TOP_MEDIAN, _CLAIMS = f"median of the top {TOP}", "mean of the claims, fresh seeds"


def reno_against_westwood(
    strategy: str, seed: int = 1, *, quick: bool = False, full: bool = False
) -> SearchConfig:
    """Return the search of the thesis: Westwood is alpha, Reno is beta.

    Examples
    --------
    >>> reno_against_westwood("genetic").planned, reno_against_westwood("sweep", full=True).planned
    (300, 3125)
    """
    config = SearchConfig(
        alpha="westwood",
        beta="reno",
        strategy=strategy,
        seed=seed,
        budget=(3500 if full else 1000) if strategy == "sweep" else 300,
    )
    return quickly(config) if quick else config


def quickly(config: SearchConfig) -> SearchConfig:
    """Return a small version of a search that takes seconds."""
    return replace(config, budget=6, population=4, duration_s=2, confirm=1)


def of(results: Iterable[SearchResult], strategy: str, seed: int | None = None) -> SearchResult:
    """Return the first result of a strategy, or that with this seed."""
    return next(
        result
        for result in results
        if result.config.strategy == strategy and seed in {None, result.config.seed}
    )


def labelled(result: SearchResult, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the search that it comes from in its first columns."""
    search = {name: getattr(result.config, name) for name in ("strategy", "seed", "alpha", "beta")}
    return pd.concat([pd.DataFrame(search, index=table.index), table], axis=1)


def best(result: SearchResult) -> float:
    """Return the greatest relative harm that a search saw."""
    return float(result.experiments["relative_harm"].max())


def fresh_mean(result: SearchResult) -> float:
    """Return the mean relative harm of the claims, with seeds that the search has not seen."""
    return float(result.claims["relative_harm"].mean())


def top_median(result: SearchResult) -> float:
    """Return the median relative harm of the most harmful scenarios."""
    return float(result.worst(TOP)["relative_harm"].median())


def differences(
    results: Iterable[SearchResult],
    better: str,
    other: str,
    measure: Callable[[SearchResult], float],
) -> Estimate:
    """Return by how much one strategy is better than another, with a value for each repetition."""
    results = list(results)
    seeds = sorted({result.config.seed for result in results if result.config.strategy == better})
    return Estimate(
        tuple(
            measure(of(results, better, seed)) - measure(of(results, other, seed)) for seed in seeds
        )
    )


def unpublished_comparisons(results: Iterable[SearchResult]) -> tuple[Comparison, ...]:
    """Return the differences that the thesis does not have: the surrogate's, and of fresh seeds."""
    results = list(results)
    shown: tuple[tuple[str, str, str, Callable[[SearchResult], float]], ...] = (
        ("genetic", "random", _CLAIMS, fresh_mean),
        ("surrogate", "random", _TOP_MEDIAN, top_median),
        ("surrogate", "random", _CLAIMS, fresh_mean),
        ("surrogate", "genetic", _TOP_MEDIAN, top_median),
        ("surrogate", "genetic", _CLAIMS, fresh_mean),
    )
    return tuple(
        Comparison(
            what=f"{better} less {other}: {what}",
            ours=differences(results, better, other, measure),
            published=UNPUBLISHED,
        )
        for better, other, what, measure in shown
    )


def top_table(results: Iterable[SearchResult]) -> pd.DataFrame:
    """Return the most harmful scenarios of each search, ranked from 1."""
    tables = []
    for result in results:
        top = result.worst(TOP).reset_index(drop=True)
        top.insert(0, "rank", range(1, len(top) + 1))
        tables.append(labelled(result, top))
    return pd.concat(tables, ignore_index=True)


def draw_top(axes: Axes, results: Iterable[SearchResult]) -> None:
    """Draw the CDFs of the most harmful scenarios of some searches."""
    for result in results:
        strategy = result.config.strategy
        harms = result.worst(TOP)["relative_harm"]
        draw_cdf(axes, harms, strategy, color=COLOURS[strategy])
    axes.set_xlabel(f"relative harm of the top {TOP}")
    axes.legend(fontsize="small")


def draw_cdf(axes: Axes, values: pd.Series[float], label: str, **style: Any) -> None:
    """Draw the share of values up to each."""
    found = values.dropna()
    if len(found):
        axes.ecdf(found, label=f"{label} ({len(found)})", **style)
    axes.set_ylabel("share of scenarios")
    axes.grid(alpha=0.3)
