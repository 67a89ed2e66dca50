# SPDX-License-Identifier: Apache-2.0
"""Binary search for the first bad version, of which some cannot be tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Verdict", "next_version", "suspects"]

#: Verdict on a version; one that cannot be tested is skipped.
Verdict: TypeAlias = Literal["good", "bad", "skipped"]


def suspects(count: int, verdicts: Mapping[int, Verdict]) -> range:
    """Return the versions that may be the first bad one.

    Parameters
    ----------
    count : int
        Number of versions, of which the first is good and the last bad.
    verdicts : mapping
        Verdicts so far by number, of which those of good versions precede those of bad ones.

    Examples
    --------
    >>> suspects(9, {4: "good", 6: "bad", 5: "skipped"})
    range(5, 7)
    """
    good = max((i for i, verdict in verdicts.items() if verdict == "good"), default=0)
    bad = min((i for i, verdict in verdicts.items() if verdict == "bad"), default=count - 1)
    return range(good + 1, bad + 1)


def next_version(count: int, verdicts: Mapping[int, Verdict]) -> int | None:
    """Return the version to test next, or None if no test can narrow the search.

    It is the middle one of those that a test can decide. Of n suspects, the first bad one is found
    after at most ceil(log2 n) verdicts and those that skip a version.

    Parameters
    ----------
    count, verdicts
        As in :func:`suspects`.

    Examples
    --------
    >>> next_version(9, {}), next_version(9, {4: "skipped"}), next_version(9, {4: "bad", 3: "good"})
    (4, 5, None)
    """
    testable = [i for i in suspects(count, verdicts)[:-1] if i not in verdicts]
    return testable[len(testable) // 2] if testable else None
