# SPDX-License-Identifier: Apache-2.0
"""The threshold beyond which a CCA is unknown, on series at known distances."""

from __future__ import annotations

import numpy as np
import pytest

from ccbench.classify.threshold import choose_threshold


def flat(*levels: float) -> list[list[float]]:
    """Return constant series: their distances are the differences of their levels."""
    return [[level] * 10 for level in levels]


class TestChooseThreshold:
    def test_apart(self) -> None:
        """If CCAs are far from each other, a threshold in between makes no error."""
        rng = np.random.default_rng(1)
        traces, labels, tested, tested_labels = [], [], [], []
        for label, level in (("a", 10), ("b", 30), ("c", 60)):
            traces += flat(*rng.uniform(level, level + 2, 20))
            tested += flat(*rng.uniform(level, level + 2, 20))
            labels += [label] * 20
            tested_labels += [label] * 20
        actual = choose_threshold(traces, labels, tested, tested_labels)
        assert (0.0, 0.0) == (actual.false_unknown, actual.false_known)
        assert 0 < actual.distance < 18

    def test_quantile(self) -> None:
        """The threshold is the stated quantile of the distances between traces of one CCA."""
        levels = np.arange(11.0) ** 2
        actual = choose_threshold(
            flat(*levels, 500.0), ["a"] * 11 + ["b"], flat(3.0, 480.0), ["a", "b"]
        )
        apart = np.abs(levels[:, None] - levels)[np.triu_indices(11, k=1)]
        assert actual.distance == pytest.approx(np.quantile(apart, actual.quantile))
        assert actual.limits["a"] == actual.distance

    def test_widest(self) -> None:
        """Of thresholds with equally few errors the largest is chosen."""
        actual = choose_threshold(
            flat(0, 1, 2, 3, 100, 101), ["a"] * 4 + ["b"] * 2, flat(0, 100), ["a", "b"]
        )
        assert actual.quantile == 0.99
        assert (actual.false_unknown, actual.false_known) == (0, 0)
        assert 2.9 < actual.limits["a"] <= 3

    def test_cost_of_wider_limit(self) -> None:
        """A wider limit may cost one more error in a hundred, but not one in ten."""
        for count, is_wide in ((100, True), (10, False)):
            # One test trace, of a CCA absent from the training set, is 4 from the others' traces.
            tested = [*([0.5] * (count - 1)), 14.0]
            labels = ["a"] * (count - 1) + ["b"]
            actual = choose_threshold(
                flat(*range(11), 14, 14.5), ["a"] * 11 + ["b"] * 2, flat(*tested), labels
            )
            assert (actual.limits["a"] >= 4) == is_wide

    def test_limits(self) -> None:
        """A CCA with widely spread traces has its own limit, others the common limit."""
        wide, narrow, beside = (np.linspace(*ends, 9) for ends in ((0, 40), (200, 201), (204, 205)))
        actual = choose_threshold(
            flat(*wide, *narrow, *beside),
            ["wide"] * 9 + ["narrow"] * 9 + ["beside"] * 9,
            flat(12.5, 200.1, 204.9),
            ["wide", "narrow", "beside"],
        )
        assert actual.false_unknown == actual.false_known == 0
        assert actual.limits["narrow"] == actual.distance < 3.9 < actual.limits["wide"]
        assert actual.typical == pytest.approx(np.mean(list(actual.limits.values())))

    def test_single_trace(self) -> None:
        """A CCA with one trace has no distances of its own, and gets the common limit."""
        actual = choose_threshold(flat(0, 1, 2, 50), ["a"] * 3 + ["b"], flat(1, 50), ["a", "b"])
        assert actual.limits["b"] == actual.distance

    def test_errors(self) -> None:
        """If two CCAs are alike, the indistinguishable traces are counted as errors."""
        actual = choose_threshold(
            flat(10, 11, 10, 11, 50, 51),
            ["a", "a", "twin of a", "twin of a", "b", "b"],
            flat(10, 11, 10, 11, 50, 51),
            ["a", "a", "twin of a", "twin of a", "b", "b"],
        )
        assert actual.false_known == pytest.approx(4 / 6)
        assert actual.false_unknown == 0.0

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
