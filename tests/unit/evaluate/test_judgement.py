# SPDX-License-Identifier: Apache-2.0
"""BaselineComparison of values with those of a baseline."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ccbench.evaluate.criterion import Measure
from ccbench.evaluate.judgement import compared, interval_of, judged, median_of
from ccbench.metrics import METRICS

RATE = Measure(metric="throughput")
DELAY = Measure(metric="queueing_delay_p95")


class TestCompared:
    def test_more_throughput_is_better(self) -> None:
        """Of rates more is better, of delays less; exchanging the two exchanges the judgement."""
        high, low = [9.0, 9.1, 9.2, 9.3, 9.4, 9.5], [5.0, 5.1, 5.2, 5.3, 5.4, 5.5]
        assert "better" == compared(high, low, RATE, "cubic").judgement
        assert "worse" == compared(low, high, RATE, "cubic").judgement
        assert "worse" == compared(high, low, DELAY, "cubic").judgement
        assert "better" == compared(low, high, DELAY, "cubic").judgement

    def test_neutral(self) -> None:
        """If a gain is neutral, more is neither better nor worse, and less is worse."""
        measure = Measure(metric="throughput", gain_is_neutral=True)
        assert "other" == compared([9.0] * 6, [5.0] * 6, measure, "cubic").judgement
        assert "worse" == compared([5.0] * 6, [9.0] * 6, measure, "cubic").judgement

    def test_itself(self) -> None:
        """Equal values are alike, with a p-value of 1."""
        one = compared([1.0, 2.0], [1.0, 2.0], RATE, "cubic")
        assert ("like", 1.0) == (one.judgement, one.p_value)

    def test_small_differences(self) -> None:
        """A difference below a tenth is no difference, however significant."""
        high, low = [9.5 + 0.001 * i for i in range(20)], [9.0 + 0.001 * i for i in range(20)]
        one = compared(high, low, RATE, "cubic")
        assert "like" == one.judgement
        assert one.p_value < 1e-6

    def test_unfinished(self) -> None:
        """A transfer that does not finish is worse than any that does."""
        measure = Measure(metric="fct")
        one = compared([math.nan] * 6, [100.0, 90.0, 80.0, 110.0, 95.0, 99.0], measure, "cubic")
        assert "worse" == one.judgement
        assert math.isnan(median_of([math.nan, math.nan, 1.0], METRICS["fct"]))

    def test_interval_holds(self) -> None:
        """Of samples of six and ten, 95 % of the intervals contain the median."""
        rng = np.random.default_rng(1)
        for count in (6, 10):
            samples = rng.lognormal(size=(2000, count))
            ends = np.array([interval_of(list(values), METRICS["fct"]) for values in samples])
            held = np.mean((ends[:, 0] <= 1) & (ends[:, 1] >= 1))
            assert held >= 0.95


class TestJudged:
    @pytest.mark.parametrize("count", [6, 10])
    def test_false_discoveries(self, count: int) -> None:
        """Of evaluations without any difference, at most one of twenty names one."""
        rng = np.random.default_rng(count)
        named = 0
        for _ in range(200):
            comparisons = []
            for _ in range(40):
                ours, theirs = rng.lognormal(size=(2, count)).tolist()
                comparisons.append(compared(ours, theirs, RATE, "cubic"))
            named += any(one.judgement != "like" for one in judged(comparisons))
        assert named <= 0.08 * 200  # 10 expected; 16 has a probability of 2 %

    def test_true_differences_stay(self) -> None:
        """Clear differences are named, in the given order."""
        clear = compared([9.0 + 0.1 * i for i in range(6)], [1.0] * 6, RATE, "cubic")
        none = compared([5.0, 6, 7, 8, 9, 10], [5.5, 6.5, 7.5, 8.5, 9.5, 10.5], RATE, "reno")
        found = judged([none, clear, none, clear])
        assert ["like", "better", "like", "better"] == [one.judgement for one in found]
