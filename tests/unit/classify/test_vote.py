# SPDX-License-Identifier: Apache-2.0
"""The vote over a server's traces (Ware, section 2.3.4)."""

from __future__ import annotations

from itertools import permutations

import pytest

from ccbench.base.errors import InputError
from ccbench.classify.vote import UNKNOWN, vote


class TestVote:
    def test_majority(self) -> None:
        """The most frequent label wins, at any distance."""
        assert "bbr" == vote(["bbr", "bbr", "bbr", "vegas"], [9.0, 9.0, 9.0, 0.1])

    def test_plurality(self) -> None:
        """A plurality wins, for unknown as well."""
        assert "bbr" == vote(["bbr", "bbr", "vegas", "cdg"], [9.0, 9.0, 0.1, 0.1])
        assert UNKNOWN == vote([UNKNOWN, UNKNOWN, "vegas", "cdg"], [9.0, 9.0, 0.1, 0.1])

    @pytest.mark.parametrize("labels", [[UNKNOWN, "reno"], ["reno", UNKNOWN, UNKNOWN, "reno"]])
    def test_known_before_unknown(self, labels: list[str]) -> None:
        """A tie between a CCA and unknown goes to the CCA."""
        assert "reno" == vote(labels, [0.0] * len(labels))

    def test_nearest(self) -> None:
        """A tie between CCAs goes to the one with the trace nearest to its training set."""
        assert "bic" == vote(["cubic", "bic", "cubic", "bic"], [2.0, 0.5, 1.0, 3.0])

    def test_three_ways(self) -> None:
        """If all traces differ, the nearest known label wins."""
        labels, distances = ["cubic", UNKNOWN, "reno", "htcp"], [2.0, 0.1, 1.0, 3.0]
        for order in permutations(range(4)):
            label = vote([labels[i] for i in order], [distances[i] for i in order])
            assert "reno" == label

    def test_unknown(self) -> None:
        """If no trace is near any training trace, the server's CCA is unknown."""
        assert UNKNOWN == vote([UNKNOWN] * 4, [20.0, 30.0, 40.0, 50.0])

    def test_bad_input(self) -> None:
        """No traces, or not a distance for each, is an input error."""
        with pytest.raises(InputError, match="labels is"):
            vote([], [])
        with pytest.raises(InputError, match=r"distances is .*; it must be 2 numbers"):
            vote(["bbr", "reno"], [1.0])
