# SPDX-License-Identifier: Apache-2.0
"""Releases of Linux, and their order."""

from __future__ import annotations

import re

__all__ = ["NEWEST_TESTED", "is_possible", "numbers"]

#: The newest release on which ccbench is tested.
NEWEST_TESTED = "7.3"

#: The largest second number of a release. The first number then increases, every four years.
_LARGEST_SECOND = 20


def numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release, by which releases are ordered.

    Examples
    --------
    >>> sorted(["6.12", "6.6", "7.3.4-own"], key=numbers)
    ['6.6', '6.12', '7.3.4-own']
    """
    return tuple(map(int, re.findall(r"\d+", release)))


def is_possible(release: str) -> bool:
    """Return whether Linux may have a release with these two numbers by now.

    Examples
    --------
    >>> [name for name in ("6.20", "6.99", "7.9", "8.0", "9.9") if is_possible(name)]
    ['6.20', '7.9', '8.0']
    """
    first, second = numbers(release)
    return first <= numbers(NEWEST_TESTED)[0] + 1 and second <= _LARGEST_SECOND
