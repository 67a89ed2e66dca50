# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ccbench.base.estimate import Estimate
from ccbench.raygen.ranking import groups, significant_pairs


def _sample(mean: float, spread: float = 0.01) -> Estimate:
    """Return an estimate of five values around a mean, with a known deviation."""
    return Estimate(tuple(mean + spread * np.array([-1.2, -0.5, 0.0, 0.5, 1.2])))


class TestToldApart:
    @pytest.mark.parametrize("difference", [0.02, 0.022, 0.05])
    def test_two_are_compared_as_by_welch(self, difference: float) -> None:
        """Two means are compared by Welch's test, as SciPy computes it."""
        first, second = _sample(0.3, 0.005), _sample(0.3 - difference, 0.02)
        chance = stats.ttest_ind(first.values, second.values, equal_var=False).pvalue
        assert (chance <= 0.05) == bool(significant_pairs([first, second]))

    def test_more_pairs_need_more(self) -> None:
        """A difference significant between two need not be significant among many (Holm)."""
        pair = [_sample(0.30), _sample(0.283)]
        assert {(0, 1)} == significant_pairs(pair)
        assert set() == significant_pairs([*pair, *[_sample(0.29)] * 4])

    def test_single_values(self) -> None:
        """A single measurement has no spread, so nothing differs significantly from it."""
        assert set() == significant_pairs([Estimate((0.9,)), Estimate((0.1,)), Estimate((0.1,))])

    def test_without_noise(self) -> None:
        """If all measurements are equal, any difference is significant."""
        estimates = [Estimate((value,) * 3) for value in (0.3, 0.2, 0.2)]
        assert {(0, 1), (0, 2)} == significant_pairs(estimates)


class TestGroups:
    def test_letters(self) -> None:
        """Two share a letter if and only if they do not differ significantly, at any spread."""
        rng = np.random.default_rng(1)
        for _ in range(100):
            means = sorted(rng.normal(0, 0.03, 5), reverse=True)
            estimates = [_sample(mean, rng.uniform(0.001, 0.05)) for mean in means]
            letters, apart = groups(estimates), significant_pairs(estimates)
            for i in range(5):
                assert letters[i]
                for j in range(i + 1, 5):
                    assert bool(set(letters[i]) & set(letters[j])) == ((i, j) not in apart)

    def test_between_two(self) -> None:
        """An estimate similar to two different ones has the letters of both."""
        estimates = [_sample(0.33), _sample(0.315), _sample(0.3)]
        assert {(0, 2)} == significant_pairs(estimates)
        assert ("a", "ab", "b") == groups(estimates)

    def test_none(self) -> None:
        """Without claims there are no letters."""
        assert () == groups([])
