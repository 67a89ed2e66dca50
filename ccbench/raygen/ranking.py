# SPDX-License-Identifier: Apache-2.0
"""Significance of differences between claims."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ccbench.base.estimate import CONFIDENCE, MeanDifference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.base.estimate import Estimate

__all__ = ["groups", "significant_pairs"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def groups(estimates: Sequence[Estimate]) -> tuple[str, ...]:
    """Return letters for each mean: means that share a letter do not differ significantly.

    This is a compact letter display (Piepho, Journal of Computational and Graphical Statistics 13
    (2004)). Letters are in the order of the first mean of each group.

    Parameters
    ----------
    estimates : sequence of Estimate
        Estimates from independent measurements; a handful, as the time doubles with each.

    Examples
    --------
    >>> from ccbench.base.estimate import Estimate
    >>> alike = Estimate((0.31, 0.30, 0.32)), Estimate((0.29, 0.32, 0.31))
    >>> groups([*alike, Estimate((0.10, 0.11, 0.12))])
    ('a', 'a', 'b')
    """
    apart = significant_pairs(estimates)
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


def significant_pairs(estimates: Sequence[Estimate]) -> set[tuple[int, int]]:
    """Return the pairs of indices, in ascending order, whose means differ significantly.

    Uses Welch's test with Holm's correction for the number of pairs: the probability of returning
    any pair with equal true means is at most 5 %. Means of single measurements never differ
    significantly.

    Examples
    --------
    >>> from ccbench.base.estimate import Estimate
    >>> estimates = [Estimate((0.3, 0.4)), Estimate((0.3, 0.3)), Estimate((0.1, 0.1))]
    >>> sorted(significant_pairs(estimates))
    [(1, 2)]
    """
    p_values = {
        (i, j): MeanDifference.between(estimates[i], estimates[j]).p_value
        for i, j in itertools.combinations(range(len(estimates)), 2)
    }
    significant = set()
    for left, pair in zip(
        range(len(p_values), 0, -1), sorted(p_values, key=p_values.__getitem__), strict=True
    ):
        if p_values[pair] > (1 - CONFIDENCE) / left:
            break
        significant.add(pair)
    return significant
