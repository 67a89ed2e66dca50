# SPDX-License-Identifier: Apache-2.0
"""Selection of scenarios whose harm was measured with noise.

The largest of many noisy values is larger than its true value on average: the winner's curse. For n
values of equal truth and noise of standard deviation s, the largest is too large by about
s * sqrt(2 ln n). Three measures keep that luck out of what a search claims:

- After each generation, the most harmful scenarios are run with a further seed (:func:`promising`),
  one in :data:`SHARE` of a generation's size. Their fitness is the mean over all their seeds, so
  that luck fades in those that live on (Arnold and Beyer, "Local performance of the (1 + 1)-ES in a
  noisy environment", IEEE Trans. Evolutionary Computation 6 (2002)).
- Claimed are the scenarios with the highest lower confidence bounds (:func:`safest`), so that one
  lucky value does not win over the mean of several.
- The value of a claim comes from fresh seeds, which had no part in its selection: it is unbiased.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.raygen.evaluation import Evaluation
    from ccbench.raygen.space import Chromosome

__all__ = ["CLAIMED", "FURTHER", "again", "different", "pooled_deviation", "promising", "safest"]

#: Number of the most harmful scenarios that are run with fresh seeds and claimed.
CLAIMED = 5

#: One scenario for each so many of a generation is run with a further seed: a sixth more runs.
SHARE = 6

#: Number of further seeds that a scenario has in the search at most.
FURTHER = 3


def again(size: int) -> int:
    """Return how many scenarios are run with a further seed after a generation of this size.

    Examples
    --------
    >>> again(60), again(30), again(2)
    (10, 5, 1)
    """
    return -(-size // SHARE)


def different(evaluations: Iterable[Evaluation]) -> tuple[Evaluation, ...]:
    """Return the evaluations of different scenarios that did not fail, the most harmful first."""
    found: dict[Chromosome, Evaluation] = {}
    for evaluation in sorted(evaluations, key=lambda e: e.rank):
        if not evaluation.error:
            found.setdefault(evaluation.candidate.chromosome, evaluation)
    return tuple(found.values())


def promising(evaluations: Iterable[Evaluation], n: int, *, repeat: int) -> tuple[Evaluation, ...]:
    """Return the scenarios to run with a further seed: the `n` most harmful ones.

    Those that had :data:`FURTHER` seeds more than the `repeat` of all are known well enough.
    """
    unsure = (e for e in different(evaluations) if len(e.seeds) < repeat + FURTHER)
    return tuple(unsure)[:n]


def safest(evaluations: Iterable[Evaluation], n: int) -> tuple[Evaluation, ...]:
    """Return the `n` scenarios with the highest lower confidence bounds of their harm.

    A bound is the mean less its standard error. Few seeds tell little about the deviation of a
    single scenario, so all are taken to have the same.
    """
    found = different(evaluations)
    deviation = pooled_deviation(e.harm.values for e in found)

    def bound(evaluation: Evaluation) -> float:
        return evaluation.relative - deviation / math.sqrt(evaluation.harm.repetitions)

    return tuple(sorted(found, key=bound, reverse=True)[:n])


def pooled_deviation(samples: Iterable[Sequence[float]]) -> float:
    """Return the standard deviation within samples of one or more values; 0 if none has two.

    Examples
    --------
    >>> round(pooled_deviation([(0.1, 0.3), (0.5, 0.7), (0.9,)]), 3)
    0.141
    """
    repeated = [sample for sample in samples if len(sample) > 1]
    if not repeated:
        return 0.0
    squares = sum((len(sample) - 1) * statistics.variance(sample) for sample in repeated)
    return math.sqrt(squares / sum(len(sample) - 1 for sample in repeated))
