# SPDX-License-Identifier: Apache-2.0
"""The binary search with versions that cannot be tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ccbench.bisect import next_version, suspects

if TYPE_CHECKING:
    from ccbench.bisect import Verdict


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, int, frozenset[int]]:
    """Draw a number of versions, the first bad one, and those that cannot be tested."""
    count = draw(st.integers(2, 60))
    first_bad = draw(st.integers(1, count - 1))
    broken = draw(st.frozensets(st.integers(1, count - 1))) - {count - 1}
    return count, first_bad, broken


def searched(count: int, first_bad: int, broken: frozenset[int]) -> dict[int, Verdict]:
    """Return the verdicts of a search."""
    verdicts: dict[int, Verdict] = {}
    while (number := next_version(count, verdicts)) is not None:
        assert number not in verdicts
        assert 0 < number < count - 1
        verdicts[number] = (
            "skipped" if number in broken else "good" if number < first_bad else "bad"
        )
    return verdicts


@given(histories())
def test_boundary(history: tuple[int, int, frozenset[int]]) -> None:
    """The suspects are the first bad version and the broken ones just before it, and no other."""
    count, first_bad, broken = history
    last_good = max(i for i in range(first_bad) if i not in broken)
    first = min(i for i in range(first_bad, count) if i not in broken)
    found = suspects(count, searched(count, first_bad, broken))
    assert range(last_good + 1, first + 1) == found
    assert first_bad in found


@given(histories())
def test_cost(history: tuple[int, int, frozenset[int]]) -> None:
    """No more versions are tested than the logarithm of their number, and those skipped."""
    verdicts = searched(*history)
    skipped = sum(verdict == "skipped" for verdict in verdicts.values())
    assert 2 ** (len(verdicts) - skipped) <= 2 * max(history[0] - 2, 1)
    assert len(verdicts) - skipped <= (history[0] - 2).bit_length()


def test_neighbours() -> None:
    """Of two versions, nothing is left to test: the second one is the first bad one."""
    assert next_version(2, {}) is None
    assert range(1, 2) == suspects(2, {})
