# SPDX-License-Identifier: Apache-2.0
"""Selection under noise, by simulation with known true harm."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from scipy.stats import binom

from ccbench.base.estimate import Estimate
from ccbench.raygen import Candidate, EvaluatedCandidate
from ccbench.raygen.ranking import significant_pairs
from ccbench.raygen.selection import (
    CLAIMED,
    FURTHER,
    again,
    different,
    pooled_deviation,
    promising,
    safest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Five generations of 24 scenarios whose spread of harm is about that of the noise.
GENERATIONS, SIZE = 5, 24
SPREAD = 0.05
NOISE = (0.01, 0.07)
FRESH = 5
SEARCHES = 300


def evaluation(number: int, *relatives: float, error: str = "") -> EvaluatedCandidate:
    """Return the result of a scenario with some seeds."""
    harms = cast("Any", tuple(SimpleNamespace(relative=value) for value in relatives))
    return EvaluatedCandidate(
        candidate=Candidate(number=number, generation=1, chromosome=(number,)),
        genes={},
        experiment=cast("Any", None),
        seeds=tuple(range(len(relatives))),
        harms=harms,
        error=error,
    )


@dataclass(frozen=True)
class _Claims:
    """The claims of a simulated search: true harm, naive and fresh values of each."""

    truth: Sequence[float]
    naive: float
    naive_truth: float
    seen: Sequence[float]
    fresh: Sequence[Estimate]


def _searched(rng: np.random.Generator) -> _Claims:
    """Simulate a search of random scenarios, its further seeds and its claims."""
    truth = rng.normal(0, SPREAD, GENERATIONS * SIZE)
    noise = rng.uniform(*NOISE, len(truth))

    def measured(number: int) -> float:
        return float(rng.normal(truth[number], noise[number]))

    evaluations: dict[int, EvaluatedCandidate] = {}
    naive: dict[int, float] = {}
    for first in range(0, len(truth), SIZE):
        for number in range(first, first + SIZE):
            naive[number] = measured(number)
            evaluations[number] = evaluation(number, naive[number])
        for candidate in promising(evaluations.values(), again(SIZE), repeat=1):
            number = candidate.number
            more = evaluation(number, measured(number))
            evaluations[number] = evaluations[number].joined(more)
    claimed = [item.candidate.number for item in safest(evaluations.values(), CLAIMED)]
    fresh = {n: Estimate(tuple(measured(n) for _ in range(FRESH))) for n in claimed}
    claimed.sort(key=lambda n: fresh[n].mean, reverse=True)
    luckiest = max(naive, key=naive.__getitem__)
    return _Claims(
        truth=[float(truth[n]) for n in claimed],
        naive=naive[luckiest],
        naive_truth=float(truth[luckiest]),
        seen=[evaluations[n].relative for n in claimed],
        fresh=[fresh[n] for n in claimed],
    )


@pytest.fixture(scope="module")
def searches() -> list[_Claims]:
    """Give the claims of many simulated searches."""
    rng = np.random.default_rng(1)
    return [_searched(rng) for _ in range(SEARCHES)]


class TestWinnersCurse:
    def test_the_largest_value_is_too_large(self, searches: list[_Claims]) -> None:
        """The largest single value exceeds its truth by more than a typical deviation of noise."""
        luck = [item.naive - item.naive_truth for item in searches]
        assert np.mean(luck) > np.mean(NOISE)

    def test_fresh_values_are_unbiased(self, searches: list[_Claims]) -> None:
        """Means of fresh seeds are unbiased, within three standard errors."""
        errors = [np.subtract([e.mean for e in item.fresh], item.truth).mean() for item in searches]
        assert abs(np.mean(errors)) < 3 * np.std(errors, ddof=1) / np.sqrt(SEARCHES)

    def test_further_seeds_take_luck_away(self, searches: list[_Claims]) -> None:
        """The search's own value of its claims is still too large, but less than half as much."""
        luck = np.mean([np.subtract(item.seen, item.truth).mean() for item in searches])
        naive = np.mean([item.naive - item.naive_truth for item in searches])
        assert 0 < luck < naive / 2

    def test_further_seeds_find_more_harm(
        self, searches: list[_Claims], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The claims' true harm is larger than without further seeds, in the same scenarios."""
        monkeypatch.setattr("ccbench.raygen.selection.FURTHER", 0)
        rng = np.random.default_rng(1)
        without = [np.mean(_searched(rng).truth) for _ in range(SEARCHES)]
        assert np.mean([np.mean(item.truth) for item in searches]) > 1.1 * np.mean(without)


class TestPromises:
    def test_intervals_hold_together(self, searches: list[_Claims]) -> None:
        """All intervals of a search hold simultaneously in at least 95 % of the searches."""
        held = sum(
            all(
                abs(estimate.mean - truth) <= estimate.joint(CLAIMED).half_width
                for estimate, truth in zip(item.fresh, item.truth, strict=True)
            )
            for item in searches
        )
        assert held >= binom.ppf(0.001, SEARCHES, 0.95)

    def test_significant_pairs_are_in_order(self, searches: list[_Claims]) -> None:
        """In at least 95 % of the searches, no significant pair is in the wrong order."""
        wrong = sum(
            any(item.truth[i] < item.truth[j] for i, j in significant_pairs(item.fresh))
            for item in searches
        )
        assert wrong <= binom.ppf(0.999, SEARCHES, 0.05)
        assert sum(bool(significant_pairs(one.fresh)) for one in searches) > SEARCHES / 10

    def test_equals_seldom_differ(self) -> None:
        """Equally harmful claims are significantly different in at most 5 % of the searches."""
        rng = np.random.default_rng(2)
        actual = sum(
            bool(
                significant_pairs(
                    [Estimate(tuple(row)) for row in rng.normal(size=(CLAIMED, FRESH))]
                )
            )
            for _ in range(1000)
        )
        assert actual <= binom.ppf(0.999, 1000, 0.05)


class TestPromising:
    def test_the_most_harmful_first(self) -> None:
        """The most harmful scenarios run again; failed ones never do."""
        evaluations = [evaluation(n, harm) for n, harm in enumerate((0.1, 0.3, 0.2))]
        evaluations.append(evaluation(3, error="no route"))
        chosen = promising(evaluations, 2, repeat=1)
        assert {1: 2, 2: 2} == {candidate.number: count for candidate, count in chosen.items()}
        assert 3 == len(promising(evaluations, 9, repeat=1))

    def test_limit_of_further_seeds(self) -> None:
        """A scenario with all its further seeds makes room for the next."""
        evaluations = [evaluation(0, *[0.3] * (2 + FURTHER)), evaluation(1, 0.1, 0.1)]
        assert [1] == [candidate.number for candidate in promising(evaluations, 1, repeat=2)]

    @pytest.mark.parametrize("sizes", [(60, *[30] * 8), (60,) * 5, (4, 2)])
    def test_cost(self, sizes: tuple[int, ...]) -> None:
        """Further seeds cost a sixth of a search, rounded up in each generation."""
        further = sum(map(again, sizes))
        assert sum(sizes) / 6 <= further < sum(sizes) / 6 + len(sizes)


class TestSafest:
    def test_lucky_value(self) -> None:
        """Several seeds with slightly less harm are preferred to a single one with more."""
        steady, lucky = evaluation(0, 0.28, 0.32, 0.25, 0.31), evaluation(1, 0.30)
        assert lucky.relative > steady.relative
        assert (steady,) == safest([lucky, steady], 1)

    def test_copies_count_once(self) -> None:
        """A copy of a scenario is not claimed beside it."""
        evaluations = [evaluation(0, 0.3), evaluation(0, 0.3), evaluation(1, 0.1)]
        assert [0, 1] == [item.candidate.number for item in safest(evaluations, 3)]
        assert 2 == len(different(evaluations))

    def test_pooled_deviation(self) -> None:
        """The deviation within samples is that of the noise, whatever their means."""
        rng = np.random.default_rng(1)
        samples = [tuple(rng.normal(mean, 0.1, 3)) for mean in rng.normal(size=400)]
        assert pooled_deviation(samples) == pytest.approx(0.1, rel=0.1)
        assert 0 == pooled_deviation([(0.1,), (0.2,)])
