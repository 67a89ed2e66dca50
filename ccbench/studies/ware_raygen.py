# SPDX-License-Identifier: Apache-2.0
"""What the studies of Ware's section 5.5 have in common: searches for where Westwood harms Reno.

Where the thesis leaves room: it does not say whether copies count among the top scenarios. Here
they do not, so that a search that finds one network twenty times has found one. Its sweep has 3500
scenarios; ours has 960, or with ``full`` 3125, which are grids with about as many levels of each
gene.

A search picks the largest of many noisy values. What is picked is partly luck, and the more so the
more alike the scenarios are from which it is picked (:mod:`ccbench.raygen.selection`). So each
comparison has beside it what the five claims of each search show with fresh seeds.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd

from ccbench.raygen import SearchConfig
from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from ccbench.raygen import SearchResult

__all__ = [
    "COLOURS",
    "RIVALS",
    "STRATEGIES",
    "UNPUBLISHED",
    "Strategy",
    "best",
    "draw_cdf",
    "draw_top",
    "fresh_mean",
    "labelled",
    "of",
    "quickly",
    "reno_against_westwood",
    "top_comparisons",
    "top_table",
]

Strategy: TypeAlias = Literal["genetic", "random", "sweep", "surrogate"]

#: Those that learn, and the one to beat.
STRATEGIES: tuple[Strategy, ...] = ("genetic", "surrogate", "random")

#: Which should be better than which. The thesis has the first pair only.
RIVALS: tuple[tuple[Strategy, Strategy], ...] = (
    ("genetic", "random"),
    ("surrogate", "random"),
    ("surrogate", "genetic"),
)

#: In place of what is published about the surrogate.
UNPUBLISHED = "not in the thesis"

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

#: "Better" is above this, not above 0: searches that begin alike and find nothing else are equal.
_LEAST = 1e-6


def reno_against_westwood(
    strategy: Strategy, seed: int = 1, *, quick: bool = False, full: bool = False
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


def of(
    results: Iterable[SearchResult], strategy: Strategy, seed: int | None = None
) -> SearchResult:
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


def _top_quantile(share: float) -> Callable[[SearchResult], float]:
    return lambda result: float(result.worst(TOP)["relative_harm"].quantile(share))


#: By what one search is better than another.
_MEASURES: Mapping[str, Callable[[SearchResult], float]] = MappingProxyType(
    {
        "best": best,
        f"90th percentile of the top {TOP}": _top_quantile(0.9),
        f"median of the top {TOP}": _top_quantile(0.5),
        "mean of the claims, fresh seeds": fresh_mean,
    }
)


def top_comparisons(results: Sequence[SearchResult]) -> tuple[Comparison, ...]:
    """Compare the most harmful scenarios of each two rivals, by several measures.

    Of several repetitions (seeds) ours is the smallest difference: if it is above 0, the one is
    better than the other in all of them.
    """
    seeds = sorted({result.config.seed for result in results})
    return tuple(
        _smallest_difference(results, seeds, pair, what) for pair in RIVALS for what in _MEASURES
    )


def _smallest_difference(
    results: Sequence[SearchResult],
    seeds: Sequence[int],
    pair: tuple[Strategy, Strategy],
    what: str,
) -> Comparison:
    measure = _MEASURES[what]
    differences = []
    for seed in seeds:
        better, other = (of(results, strategy, seed) for strategy in pair)
        differences.append(measure(better) - measure(other))
    in_words = ", ".join(f"{difference:+.3f}" for difference in differences)
    several = len(seeds) > 1
    published = "above 0 in each" if several else "above 0"
    return Comparison(
        what=f"{pair[0]} less {pair[1]}: {what}",
        ours=math.nan if any(map(math.isnan, differences)) else min(differences),
        published=published if pair == RIVALS[0] else UNPUBLISHED,
        accepted=(_LEAST, 1),
        note=f"The smallest of the repetitions: {in_words}." if several else "",
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
