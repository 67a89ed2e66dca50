# SPDX-License-Identifier: Apache-2.0
"""Claims that cannot be told apart: which differences between noisy means are more than noise."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from ccbench.base.estimate import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.base.estimate import Estimate

__all__ = ["groups", "told_apart"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def groups(estimates: Sequence[Estimate]) -> tuple[str, ...]:
    """Return letters for each mean: two that share a letter cannot be told apart.

    This is a compact letter display (Piepho, Journal of Computational and Graphical Statistics 13
    (2004)). Letters are given in the order of the means that they begin with.

    Parameters
    ----------
    estimates : sequence of Estimate
        Each of independent measurements; a handful, as the time doubles with each.

    Examples
    --------
    >>> from ccbench.base.estimate import Estimate
    >>> alike = Estimate((0.31, 0.30, 0.32)), Estimate((0.29, 0.32, 0.31))
    >>> groups([*alike, Estimate((0.10, 0.11, 0.12))])
    ('a', 'a', 'b')
    """
    apart = told_apart(estimates)
    cliques: list[set[int]] = []
    for size in range(len(estimates), 0, -1):
        for some in map(set, itertools.combinations(range(len(estimates)), size)):
            is_alike = not any(pair in apart for pair in itertools.combinations(sorted(some), 2))
            if is_alike and not any(some <= clique for clique in cliques):
                cliques.append(some)
    lettered = list(zip(_LETTERS, sorted(cliques, key=sorted), strict=False))
    return tuple(
        "".join(letter for letter, clique in lettered if i in clique) for i in range(len(estimates))
    )


def told_apart(estimates: Sequence[Estimate]) -> set[tuple[int, int]]:
    """Return the pairs whose means differ by more than noise, as positions, the lower first.

    By Welch's test, and Holm's correction for the number of pairs: the probability that any pair of
    equal truth is returned is at most 5 %. Means of single measurements are never told apart.

    Examples
    --------
    >>> from ccbench.base.estimate import Estimate
    >>> sorted(told_apart([Estimate((0.3, 0.4)), Estimate((0.3, 0.3)), Estimate((0.1, 0.1))]))
    [(1, 2)]
    """
    chances = {
        (i, j): _welch(estimates[i], estimates[j])
        for i, j in itertools.combinations(range(len(estimates)), 2)
    }
    found = set()
    for left, pair in zip(
        range(len(chances), 0, -1), sorted(chances, key=chances.__getitem__), strict=True
    ):
        if chances[pair] > (1 - CONFIDENCE) / left:
            break
        found.add(pair)
    return found


def _welch(one: Estimate, other: Estimate) -> float:
    """Return the probability of so large a difference if both means are equal (two-sided)."""
    from scipy import special  # noqa: PLC0415 - a tenth of a second, for comparisons alone

    if min(one.repetitions, other.repetitions) < 2:  # noqa: PLR2004 - one value has no spread
        return 1.0
    variances = [e.deviation**2 / e.repetitions for e in (one, other)]
    difference = abs(one.mean - other.mean)
    if sum(variances) == 0:
        return float(difference == 0)
    freedom = sum(variances) ** 2 / sum(
        variance**2 / (e.repetitions - 1)
        for variance, e in zip(variances, (one, other), strict=True)
    )
    return float(2 * special.stdtr(freedom, -difference / math.sqrt(sum(variances))))
