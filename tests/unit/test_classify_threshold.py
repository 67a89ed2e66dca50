# SPDX-License-Identifier: Apache-2.0
"""The threshold beyond which a CCA is unknown, on series whose distances are known."""

from __future__ import annotations

import numpy as np
import pytest

from ccbench.classify.threshold import Threshold, choose_threshold


def flat(*levels: float) -> list[list[float]]:
    """Make series of one level each: they are apart by the difference of their levels."""
    return [[level] * 10 for level in levels]


class TestChooseThreshold:
    def test_apart(self) -> None:
        """Where CCAs are far from each other, a threshold in between makes no error."""
        rng = np.random.default_rng(1)
        traces, labels, tested, tested_labels = [], [], [], []
        for label, level in (("a", 10), ("b", 30), ("c", 60)):
            traces += flat(*rng.uniform(level, level + 2, 20))
            tested += flat(*rng.uniform(level, level + 2, 20))
            labels += [label] * 20
            tested_labels += [label] * 20
        found = choose_threshold(traces, labels, tested, tested_labels)
        assert (0.0, 0.0) == (found.false_unknown, found.false_known)
        assert 0 < found.distance < 18

    def test_quantile(self) -> None:
        """It is the quantile that it says of the distances between traces of one CCA."""
        levels = np.arange(11.0) ** 2
        found = choose_threshold(
            flat(*levels, 500.0), ["a"] * 11 + ["b"], flat(3.0, 480.0), ["a", "b"]
        )
        apart = np.abs(levels[:, None] - levels)[np.triu_indices(11, k=1)]
        assert found.distance == pytest.approx(np.quantile(apart, found.quantile))
        assert found.limits["a"] == found.distance

    def test_lowest(self) -> None:
        """Of thresholds with as few errors the lowest is taken."""
        found = choose_threshold(
            flat(0, 1, 2, 3, 100, 101), ["a"] * 4 + ["b"] * 2, flat(0, 100), ["a", "b"]
        )
        limits = {"a": 1.0, "b": 1.0}
        expected = Threshold(
            distance=1.0, limits=limits, quantile=0.01, false_unknown=0, false_known=0
        )
        assert expected == found

    def test_limits(self) -> None:
        """A CCA whose traces are far from each other has a limit of its own, others the common."""
        wide, narrow = np.linspace(0, 40, 9), np.linspace(200, 201, 9)
        found = choose_threshold(
            flat(*wide, *narrow),
            ["wide"] * 9 + ["narrow"] * 9,
            flat(12.5, 200.1),
            ["wide", "narrow"],
        )
        assert found.false_unknown == found.false_known == 0
        assert found.limits["narrow"] == found.distance < 2.5 <= found.limits["wide"]

    def test_single_trace(self) -> None:
        """A CCA with one trace has no distances of its own, and the common limit."""
        found = choose_threshold(flat(0, 1, 2, 50), ["a"] * 3 + ["b"], flat(1, 50), ["a", "b"])
        assert found.limits["b"] == found.distance

    def test_errors(self) -> None:
        """Where two CCAs are alike, what it cannot tell apart is counted."""
        found = choose_threshold(
            flat(10, 11, 10, 11, 50, 51),
            ["a", "a", "twin of a", "twin of a", "b", "b"],
            flat(10, 11, 10, 11, 50, 51),
            ["a", "a", "twin of a", "twin of a", "b", "b"],
        )
        assert found.false_known == pytest.approx(4 / 6)
        assert found.false_unknown == 0.0

    def test_length(self) -> None:
        """Distances are per point: traces twice as long have the same threshold."""
        short = choose_threshold(flat(0, 2, 50, 52), ["a"] * 2 + ["b"] * 2, flat(1), ["a"])
        long = choose_threshold(
            [series * 2 for series in flat(0, 2, 50, 52)],
            ["a"] * 2 + ["b"] * 2,
            [series * 2 for series in flat(1)],
            ["a"],
        )
        assert short == long
