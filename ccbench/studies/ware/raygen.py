# SPDX-License-Identifier: Apache-2.0
"""Searches for harm of Westwood to Reno, for the studies of Ware's section 5.5.

Choices left open by the thesis: it does not say whether copies count among the top scenarios. Here
they do not, so that a search that finds one network twenty times has found it once. The thesis's
sweep has 3500 scenarios; the sweep here has 960, or with ``full`` 3125, which are grids with about
equal numbers of levels per gene. "Better" here means a higher median of the 100 most harmful
scenarios.

A search selects the largest of many noisy values. Such a value is partly due to chance, the more so
the more similar the scenarios are (:mod:`ccbench.raygen.selection`). The comparisons therefore
include the harm of each search's five claims with fresh seeds.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base.estimate import Estimate
from ccbench.raygen import DEFAULT_SPACE, SearchConfig
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
    "briefly",
    "differences",
    "draw_cdf",
    "draw_top",
    "fresh_mean",
    "labelled",
    "of",
    "quickly",
    "reno_against_westwood",
    "search_of",
    "top_median",
    "top_table",
    "unpublished_comparisons",
]

#: The adaptive strategies, and the random baseline.
STRATEGIES: tuple[str, ...] = ("genetic", "surrogate", "random")

#: Used instead of a statement on the surrogate or on fresh seeds.
UNPUBLISHED = unbounded("not in the thesis", "nowhere")

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "genetic": "C3",
        "surrogate": "C4",
        "random": "C0",
        "sweep": "0.4",
    }
)

#: Scenarios of a search in the thesis, and of its first generation (section 5.4).
_BUDGET, _POPULATION = 300, 60

#: Number of most harmful scenarios compared in the thesis.
TOP = 100

#: Factor of the shorter searches, and their space: the default one has 25 to 400 Mbit/s.
_SHORTER = 6
_SLOWER = DEFAULT_SPACE.with_range("bandwidth_mbps", 25 / _SHORTER, 400 / _SHORTER)

_TOP_MEDIAN, _CLAIMS = f"median of the top {TOP}", "mean of the claims, fresh seeds"


def search_of(alpha: str, beta: str, strategy: str, **settings: Any) -> SearchConfig:
    """Return a search with as many scenarios as in the thesis.

    Examples
    --------
    >>> search_of("bbr", "cubic", "genetic").planned
    300
    """
    sizes = {"budget": _BUDGET, "population": _POPULATION}
    return SearchConfig(alpha=alpha, beta=beta, strategy=strategy, **sizes | settings)


def reno_against_westwood(
    strategy: str, seed: int = 1, *, quick: bool = False, full: bool = False
) -> SearchConfig:
    """Return the thesis's search: Westwood is alpha, Reno is beta.

    Examples
    --------
    >>> reno_against_westwood("genetic").planned, reno_against_westwood("sweep", full=True).planned
    (300, 3125)
    """
    grid = {"budget": 3500 if full else 1000} if strategy == "sweep" else {}
    config = search_of("westwood", "reno", strategy, seed=seed, **grid)
    return quickly(config) if quick else config


def quickly(config: SearchConfig) -> SearchConfig:
    """Return a small version of a search that takes seconds."""
    return replace(config, budget=6, population=4, duration_s=2, confirm=1)


def briefly(config: SearchConfig) -> SearchConfig:
    """Return a search with links of a sixth of the rate, and runs of a sixth of the length.

    A loss-based flow loses packets once in as many round trips as its window has packets. On links
    of a sixth of the rate this takes a sixth of the time, so that runs have as many losses.

    Examples
    --------
    >>> brief = briefly(reno_against_westwood("genetic"))
    >>> brief.duration_s, [round(rate, 2) for rate in brief.space.genes[0].levels(2)]
    (30.0, [4.2, 66.67])
    """
    return replace(config, duration_s=config.duration_s / _SHORTER, space=_SLOWER)


def of(results: Iterable[SearchResult], strategy: str, seed: int | None = None) -> SearchResult:
    """Return the first result of a strategy, or the result with this seed."""
    return next(
        result
        for result in results
        if result.config.strategy == strategy and seed in {None, result.config.seed}
    )


def labelled(result: SearchResult, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the identity of its search in the first columns."""
    search = {name: getattr(result.config, name) for name in ("strategy", "seed", "alpha", "beta")}
    return pd.concat([pd.DataFrame(search, index=table.index), table], axis=1)


def best(result: SearchResult) -> float:
    """Return the maximum relative harm in a search."""
    return float(result.experiments["relative_harm"].max())


def fresh_mean(result: SearchResult) -> float:
    """Return the mean relative harm of the claims with fresh seeds."""
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
    """Return the advantage of one strategy over another, with one value per repetition."""
    results = list(results)
    seeds = sorted({result.config.seed for result in results if result.config.strategy == better})
    return Estimate(
        tuple(
            measure(of(results, better, seed)) - measure(of(results, other, seed)) for seed in seeds
        )
    )


def unpublished_comparisons(results: Iterable[SearchResult]) -> tuple[Comparison, ...]:
    """Return comparisons not in the thesis: with the surrogate, and with fresh seeds."""
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
            quantity=f"{better} minus {other}: {what}",
            measured=differences(results, better, other, measure),
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
    """Draw the CDFs of the most harmful scenarios of searches."""
    for result in results:
        strategy = result.config.strategy
        harms = result.worst(TOP)["relative_harm"]
        draw_cdf(axes, harms, strategy, color=COLOURS[strategy])
    axes.set_xlabel(f"relative harm of the top {TOP}")
    axes.legend(fontsize="small")


def draw_cdf(axes: Axes, values: pd.Series[float], label: str, **style: Any) -> None:
    """Draw an empirical CDF."""
    finite = values.dropna()
    if len(finite):
        axes.ecdf(finite, label=f"{label} ({len(finite)})", **style)
    axes.set_ylabel("share of scenarios")
    axes.grid(alpha=0.3)
