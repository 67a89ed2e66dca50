# SPDX-License-Identifier: Apache-2.0
"""Policies of repetition: the number of repetitions of each case, by the results so far.

A policy is a pure function. :meth:`Campaign.repeated <ccbench.emulate.Campaign.repeated>` calls it
with the results of each case in the order of their seeds, runs the missing repetitions, and calls
it again until no case needs more.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from ccbench.base.estimate import ERROR, Estimate, order_statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from ccbench.base.estimate import Statistic

    Key = TypeVar("Key", bound=Hashable)

__all__ = ["Look", "Policy", "fixed", "looks", "promising", "until_decided", "until_precise"]

Policy: TypeAlias = "Callable[[Mapping[Any, Sequence[Any]]], Mapping[Any, int]]"

#: Share of the remaining probability of error that a look at a sample may spend.
#: Six values can then have an interval at the first look.
_SPENT = 2 / 3


def fixed(count: int) -> Policy:
    """Return the policy of the same number of repetitions for all cases.

    Examples
    --------
    >>> fixed(3)({"a": (), "b": (0.5,)})
    {'a': 3, 'b': 3}
    """
    return lambda results: dict.fromkeys(results, count)


class Look(NamedTuple):
    """A look at a sample: its number of repetitions, and the error of its interval."""

    repetitions: int
    error: float


def looks(
    fewest: int, most: int, error: float = ERROR, *, of: Statistic = "median"
) -> tuple[Look, ...]:
    """Return the looks at the median or mean of a growing sample.

    Stopping at a narrow interval favours samples with a small variance by chance, so the looks
    share the probability of error: all intervals hold together (a union bound), and so does the
    last one. Each look is at half as many further repetitions.

    The looks at a mean have equal shares. Those at a median, whose interval holds for any
    distribution, may spend two thirds of what earlier ones have left.

    Parameters
    ----------
    fewest, most : int
        Repetitions at the first look, and at the last, which may spend all that remains.
    error : float
        Probability that an interval does not contain the true value.
    of : {"median", "mean"}

    Examples
    --------
    >>> [(look.repetitions, round(look.error, 3)) for look in looks(6, 12)]
    [(6, 0.033), (9, 0.013), (12, 0.015)]
    >>> [(look.repetitions, round(look.error, 3)) for look in looks(5, 10, of="mean")]
    [(5, 0.017), (7, 0.017), (10, 0.017)]
    """
    counts = [fewest]
    while counts[-1] < most:
        counts.append(min(counts[-1] + max(2, counts[-1] // 2), most))
    if of == "mean":
        return tuple(Look(count, error / len(counts)) for count in counts)
    found = []
    for count in counts[:-1]:
        found.append(Look(count, _SPENT * error))
        error -= order_statistics(*found[-1])[1]
    return (*found, Look(counts[-1], error))


def until_precise(
    precision: float,
    values: Callable[[Sequence[Any]], Sequence[float]],
    plan: Sequence[Look],
) -> Policy:
    """Return the policy of repetitions until the interval of the median is narrow enough.

    Parameters
    ----------
    precision : float
        Half width to reach.
    values : callable
        Returns the numbers of a case's results. If one is NaN, as of a metric that a flow lacks,
        more repetitions do not help.
    plan : sequence of Look
        The looks, :func:`looks`.

    Examples
    --------
    >>> policy = until_precise(0.5, tuple, looks(6, 12))
    >>> policy({"narrow": (0.1,) * 6, "wide": (0, 1, 2, 3, 4, 5), "new": ()})
    {'narrow': 6, 'wide': 9, 'new': 6}
    """
    return _until(lambda sample: sample.half_width <= precision, values, plan)


def until_decided(
    bound: float, values: Callable[[Sequence[Any]], Sequence[float]], plan: Sequence[Look]
) -> Policy:
    """Return the policy of repetitions until the interval of the median excludes a bound.

    If none does, the last look leaves the case undecided.

    Parameters
    ----------
    bound : float
    values, plan
        As in :func:`until_precise`.

    Examples
    --------
    >>> policy = until_decided(0.05, tuple, looks(6, 12))
    >>> policy({"above": (0.1, 0.2) * 3, "unclear": (0, 0.2) * 3})
    {'above': 6, 'unclear': 9}
    """
    return _until(lambda sample: not sample.low <= bound <= sample.high, values, plan)


def _until(
    is_enough: Callable[[Estimate], bool],
    values: Callable[[Sequence[Any]], Sequence[float]],
    plan: Sequence[Look],
) -> Policy:
    def next_count(results: Sequence[Any]) -> int:
        later = [look for look in plan if look.repetitions >= len(results)]
        if len(results) < plan[0].repetitions or len(later) == 1:
            return later[0].repetitions
        sample = Estimate(values(results), of="median", error=later[0].error)
        # Without spending, there is no interval yet that holds for any distribution.
        has_interval = order_statistics(*later[0])[1] > 0
        stops = (has_interval and is_enough(sample)) or math.isnan(sample.value)
        return later[0 if stops else 1].repetitions

    return lambda results: {key: next_count(own) for key, own in results.items()}


def promising(values: Mapping[Key, Sequence[float]], *, count: int, most: int) -> dict[Key, int]:
    """Return one more repetition for the cases with the largest means.

    Parameters
    ----------
    values : mapping
        The numbers of each case.
    count : int
        Number of cases to repeat.
    most : int
        Maximum number of repetitions of a case.

    Examples
    --------
    >>> promising({"a": (0.1,), "b": (0.5, 0.3), "c": (0.9, 0.9, 0.9)}, count=1, most=3)
    {'b': 3}
    """
    growing = {key: own for key, own in values.items() if len(own) < most}
    best = sorted(growing, key=lambda key: statistics.fmean(growing[key]), reverse=True)
    return {key: len(growing[key]) + 1 for key in best[:count]}
