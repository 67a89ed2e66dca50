# SPDX-License-Identifier: Apache-2.0
"""Comparison of a congestion control with baselines.

The values of the two in a network are those of runs with different seeds. They differ if a
Mann-Whitney test says that the difference is larger than what matters: a tenth of the baseline's
value, and an amount that depends on the unit and the path (:func:`negligible`). The test is one of
this smallest difference, not of any difference at all, so that two that differ by about as much are
alike in every evaluation, not better in one and alike in the next. It compares ranks, so it assumes
no distribution, and an unfinished transfer is worse than every finished one. Of all differences
that an evaluation names, at most 5 % are expected to be by chance (Benjamini and Hochberg, 1995).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy import stats

from ccbench.base.estimate import ERROR, order_statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.evaluate.criterion import Measure
    from ccbench.experiment.path import NetworkPath
    from ccbench.metrics import Metric

__all__ = [
    "FALSE_DISCOVERIES",
    "BaselineComparison",
    "Judgement",
    "compared",
    "interval_of",
    "judged",
    "median_of",
    "negligible",
]

#: Expected share of the named differences that are by chance.
FALSE_DISCOVERIES = 0.05

#: Difference as a share of the baseline's value below which two are alike.
_ALIKE = 0.1

#: Differences that do not matter, by unit, on paths that are neither very fast nor very slow.
_NEGLIGIBLE = {"ms": 1.0, "s": 0.1, "Mbit/s": 0.05, "packets": 10.0, "MB": 0.05, "": 0.01}

#: Parts of a path's round-trip time, or of its slowest link, that do not matter either way.
_OF_PATH = {"ms": 1 / 20, "s": 2, "Mbit/s": 1 / 100}

#: The candidate's values compared with those of a baseline; "other" if they differ, but neither is
#: better.
Judgement: TypeAlias = Literal["better", "like", "worse", "other"]


@dataclass(frozen=True, kw_only=True)
class BaselineComparison:
    """The values of the candidate and those of a baseline, for one measure and network.

    Attributes
    ----------
    baseline : str
    judgement : "better", "like", "worse" or "other"
    p_value : float
        Probability of ranks that differ so much by chance, if the difference does not matter.
    """

    baseline: str
    judgement: Judgement
    p_value: float


def median_of(values: Sequence[float], metric: Metric) -> float:
    """Return the median, in which missing values count as worst; NaN if it is a missing one.

    Examples
    --------
    >>> from ccbench.metrics import METRICS
    >>> median_of([1.0, math.nan, 2.0], METRICS["fct"])
    2.0
    """
    median = statistics.median(_ranked(values, metric)) if len(values) else math.nan
    return median if math.isfinite(median) else math.nan


def interval_of(values: Sequence[float], metric: Metric) -> tuple[float, float]:
    """Return the 95 % interval of the median, between two order statistics.

    NaN if there are too few values, or if an end is a missing value.

    Examples
    --------
    >>> from ccbench.metrics import METRICS
    >>> interval_of([3.0, 1.0, 2.0, 6.0, 5.0, 4.0], METRICS["throughput"])
    (1.0, 6.0)
    """
    lowest, _ = order_statistics(len(values), ERROR)
    if not lowest:
        return math.nan, math.nan
    ordered = sorted(_ranked(values, metric))
    low, high = ordered[lowest - 1], ordered[-lowest]
    return (low if math.isfinite(low) else math.nan, high if math.isfinite(high) else math.nan)


def negligible(unit: str, path: NetworkPath) -> float:
    """Return the difference that does not matter on a path, in a unit of metrics.

    Delays of 1 ms do not matter on the Internet, but where the round-trip time is 0.5 ms.

    Examples
    --------
    >>> from ccbench import Bottleneck, NetworkPath
    >>> link = Bottleneck(bandwidth_mbps=1000, queue_packets=200)
    >>> [negligible("ms", NetworkPath(bottlenecks=(link,), rtt_ms=rtt)) for rtt in (40, 0.5)]
    [1.0, 0.025]
    """
    least = _NEGLIGIBLE.get(unit, 0.0)
    if unit == "Mbit/s":
        return min(least, _OF_PATH[unit] * min(link.mean_mbps for link in path.links))
    if unit in _OF_PATH:
        rtt = path.rtt_ms if unit == "ms" else path.rtt_ms / 1e3
        return min(least, _OF_PATH[unit] * rtt)
    return least


def compared(
    candidate: Sequence[float],
    baseline: Sequence[float],
    measure: Measure,
    name: str,
    path: NetworkPath,
) -> BaselineComparison:
    """Return the comparison of one measure, before the correction for the number of them."""
    metric = measure.described
    ours, theirs = (_ranked(values, metric) for values in (candidate, baseline))
    if not ours or not theirs:
        return BaselineComparison(baseline=name, judgement="like", p_value=1.0)
    mine, its = statistics.median(ours), statistics.median(theirs)
    if mine == its:
        return BaselineComparison(baseline=name, judgement="like", p_value=1.0)
    least = negligible(metric.unit, path)
    margins = [max(_ALIKE * abs(value), least) if math.isfinite(value) else 0 for value in theirs]
    sign = 1 if mine > its else -1
    bounds = [value + sign * margin for value, margin in zip(theirs, margins, strict=True)]
    side = "greater" if mine > its else "less"
    p_value = min(1.0, 2 * float(stats.mannwhitneyu(ours, bounds, alternative=side).pvalue))
    is_better = (mine < its) == metric.less_is_better
    judgement: Judgement
    if metric.less_is_better is None or (is_better and measure.gain_is_neutral):
        judgement = "other"
    else:
        judgement = "better" if is_better else "worse"
    return BaselineComparison(baseline=name, judgement=judgement, p_value=p_value)


def judged(comparisons: Iterable[BaselineComparison]) -> list[BaselineComparison]:
    """Return comparisons of which those that may be by chance are alike.

    Benjamini and Hochberg's procedure: with m comparisons, the k smallest p-values count for the
    largest k whose p-value is at most k/m of the expected share of false discoveries.
    """
    found = list(comparisons)
    if not found:
        return []
    p_values = np.array([one.p_value for one in found])
    ordered = np.sort(p_values)
    allowed = FALSE_DISCOVERIES * np.arange(1, len(ordered) + 1) / len(ordered)
    below = ordered[ordered <= allowed]
    limit = float(below[-1]) if len(below) else -1.0
    return [one if one.p_value <= limit else replace(one, judgement="like") for one in found]


def _ranked(values: Sequence[float], metric: Metric) -> list[float]:
    """Return values in which missing ones are worse than all others."""
    worst = -math.inf if metric.less_is_better is False else math.inf
    return [worst if math.isnan(value) else value for value in values]
