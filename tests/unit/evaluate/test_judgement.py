# SPDX-License-Identifier: Apache-2.0
"""Comparison of values with those of a baseline."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, NetworkPath
from ccbench.evaluate.criterion import Measure
from ccbench.evaluate.design import EXTENTS
from ccbench.evaluate.judgement import compared, interval_of, judged, median_of
from ccbench.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.evaluate.design import Extent
    from ccbench.evaluate.judgement import BaselineComparison

RATE = Measure(metric="throughput")
DELAY = Measure(metric="queueing_delay_p95")


def path(rtt_ms: float = 40, bandwidth_mbps: float = 20) -> NetworkPath:
    """Return a path with one bottleneck."""
    link = Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_packets=100)
    return NetworkPath(bottlenecks=(link,), rtt_ms=rtt_ms)


def beside(
    ours: Sequence[float], theirs: Sequence[float], measure: Measure = RATE
) -> BaselineComparison:
    """Return the comparison with CUBIC on an ordinary path."""
    return compared(ours, theirs, measure, "cubic", path())


class TestCompared:
    def test_more_throughput_is_better(self) -> None:
        """Of rates more is better, of delays less; exchanging the two exchanges the judgement."""
        high, low = [9.0, 9.1, 9.2, 9.3, 9.4, 9.5], [5.0, 5.1, 5.2, 5.3, 5.4, 5.5]
        assert "better" == beside(high, low).judgement
        assert "worse" == beside(low, high).judgement
        assert "worse" == beside(high, low, DELAY).judgement
        assert "better" == beside(low, high, DELAY).judgement

    def test_neutral(self) -> None:
        """If a gain is neutral, more is neither better nor worse, and less is worse."""
        measure = Measure(metric="throughput", gain_is_neutral=True)
        assert "other" == beside([9.0] * 6, [5.0] * 6, measure).judgement
        assert "worse" == beside([5.0] * 6, [9.0] * 6, measure).judgement

    def test_itself(self) -> None:
        """Equal values are alike, with a p-value of 1."""
        one = beside([1.0, 2.0], [1.0, 2.0])
        assert ("like", 1.0) == (one.judgement, one.p_value)

    def test_small_differences(self) -> None:
        """A difference below a tenth is no difference, however exact the values; above, it is."""
        low = [9.0 + 0.001 * i for i in range(20)]
        assert beside([9.5 + 0.001 * i for i in range(20)], low).p_value > 0.99
        assert beside([10.5 + 0.001 * i for i in range(20)], low).p_value < 1e-6

    @pytest.mark.parametrize(("rtt_ms", "differs"), [(40, False), (0.2, True)])
    def test_fast_paths(self, rtt_ms: float, *, differs: bool) -> None:
        """A delay of a tenth of a millisecond matters where the round-trip time is so short."""
        ours, theirs = [0.2 + 0.001 * i for i in range(10)], [0.1 + 0.001 * i for i in range(10)]
        one = compared(ours, theirs, DELAY, "cubic", path(rtt_ms=rtt_ms))
        assert (one.p_value < 0.01) == differs

    @pytest.mark.parametrize(("mbps", "differs"), [(20, False), (0.1, True)])
    def test_slow_links(self, mbps: float, *, differs: bool) -> None:
        """Of a rate, 0.02 Mbit/s matter on a link of 0.1, and not on one of 20."""
        ours, theirs = [0.07 + 1e-4 * i for i in range(10)], [0.05 + 1e-4 * i for i in range(10)]
        one = compared(ours, theirs, RATE, "cubic", path(bandwidth_mbps=mbps))
        assert (one.p_value < 0.01) == differs

    def test_unfinished(self) -> None:
        """A transfer that does not finish is worse than any that does."""
        measure = Measure(metric="fct")
        one = beside([math.nan] * 6, [100.0, 90.0, 80.0, 110.0, 95.0, 99.0], measure)
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
        """Of evaluations without a difference that matters, at most one of twenty names one."""
        rng = np.random.default_rng(count)
        named = 0
        for _ in range(50):
            comparisons = []
            for _ in range(40):
                ours, theirs = rng.lognormal(size=(2, count)).tolist()
                comparisons.append(beside(ours, theirs))
            named += any(one.judgement != "like" for one in judged(comparisons))
        assert named <= 0.05 * 50

    @pytest.mark.parametrize("extent", ["quick", "default"])
    def test_two_seeds(self, extent: Extent) -> None:
        """Evaluations of the same algorithms with other seeds agree in 98 % of the comparisons."""
        rng = np.random.default_rng(1)
        ratios = np.concatenate([np.ones(500), rng.lognormal(sigma=1, size=500)])
        noises = rng.uniform(0.01, 0.1, size=1000)  # standard deviations of single runs

        def evaluation() -> list[str]:
            count = EXTENTS[extent]
            ours, theirs = 10 * np.exp(noises * rng.normal(size=(2, count, 1000)))
            pairs = zip((ratios * ours).T.tolist(), theirs.T.tolist(), strict=True)
            return [one.judgement for one in judged(beside(*pair) for pair in pairs)]

        one, other = evaluation(), evaluation()
        assert sum(map(str.__eq__, one, other)) >= 0.98 * len(one)
        assert {"like"} == set(one[:500])
        assert one[500:].count("like") < 100

    def test_true_differences_stay(self) -> None:
        """Clear differences are named, in the given order."""
        clear = beside([9.0 + 0.1 * i for i in range(6)], [1.0] * 6)
        none = beside([5.0, 6, 7, 8, 9, 10], [5.5, 6.5, 7.5, 8.5, 9.5, 10.5])
        found = judged([none, clear, none, clear])
        assert ["like", "better", "like", "better"] == [one.judgement for one in found]
