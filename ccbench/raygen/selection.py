# SPDX-License-Identifier: Apache-2.0
"""Selection of scenarios by noisy measurements of harm.

The largest of many noisy values exceeds its true value on average: the winner's curse. For n values
with the same true value and noise of standard deviation s, the largest is too large by about
s * sqrt(2 ln n). Three measures remove this bias from the claims of a search:

- After each generation, the most harmful scenarios are run with a further seed (:func:`promising`),
  one for each :data:`SHARE` scenarios of the generation. Their fitness is the mean over all their
  seeds, so that luck averages out in surviving scenarios (Arnold and Beyer, "Local performance of
  the (1 + 1)-ES in a noisy environment", IEEE Trans. Evolutionary Computation 6 (2002)).
- The scenarios with the highest lower confidence bounds are claimed (:func:`safest`), so that one
  lucky value does not win over the mean of several.
- The value of a claim comes from fresh seeds, which are independent of its selection: it is
  unbiased.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from ccbench.emulate import policies

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.raygen.evaluated import EvaluatedCandidate
    from ccbench.raygen.space import Chromosome
    from ccbench.raygen.strategy import Candidate

__all__ = ["CLAIMED", "FURTHER", "again", "different", "pooled_deviation", "promising", "safest"]

#: Number of claims: the most harmful scenarios, which are run with fresh seeds.
CLAIMED = 5

#: Scenarios of a generation per scenario that is run with a further seed: a sixth more runs.
SHARE = 6

#: Maximum number of further seeds of a scenario during the search.
FURTHER = 3


def again(size: int) -> int:
    """Return the number of scenarios to run again after a generation of this size.

    They run with a further seed; or for the first time at full length, if the generation's runs
    were short, and as many of these scenarios with a further seed as after a generation of them.

    Examples
    --------
    >>> again(60), again(30), again(2)
    (10, 5, 1)
    """
    return -(-size // SHARE)


def different(evaluations: Iterable[EvaluatedCandidate]) -> tuple[EvaluatedCandidate, ...]:
    """Return the distinct scenarios that ran at full length, in descending order of harm.

    Those that failed are left out.
    """
    distinct: dict[Chromosome, EvaluatedCandidate] = {}
    for evaluation in sorted(evaluations, key=lambda e: e.rank):
        if not evaluation.error and evaluation.share == 1:
            distinct.setdefault(evaluation.candidate.chromosome, evaluation)
    return tuple(distinct.values())


def promising(
    evaluations: Iterable[EvaluatedCandidate], n: int, *, repeat: int
) -> dict[Candidate, int]:
    """Return the number of seeds that the `n` most harmful scenarios should have next.

    Scenarios with ``repeat + FURTHER`` seeds are excluded.
    """
    harms = {evaluation.candidate: evaluation.harm.values for evaluation in different(evaluations)}
    return policies.promising(harms, count=n, most=repeat + FURTHER)


def safest(evaluations: Iterable[EvaluatedCandidate], n: int) -> tuple[EvaluatedCandidate, ...]:
    """Return the `n` scenarios with the highest lower confidence bounds of their harm.

    A bound is the mean minus its standard error. The standard deviation is pooled over all
    scenarios, as that of a single scenario with few seeds is unreliable.
    """
    candidates = different(evaluations)
    deviation = pooled_deviation(e.harm.values for e in candidates)

    def bound(evaluation: EvaluatedCandidate) -> float:
        return evaluation.relative - deviation / math.sqrt(evaluation.harm.repetitions)

    return tuple(sorted(candidates, key=bound, reverse=True)[:n])


def pooled_deviation(samples: Iterable[Sequence[float]]) -> float:
    """Return the pooled standard deviation of samples; 0 if none has two values.

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
