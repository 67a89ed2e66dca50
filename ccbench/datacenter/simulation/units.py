# SPDX-License-Identifier: Apache-2.0
"""The compiled core's unit of time."""

from __future__ import annotations

__all__ = ["PS", "picoseconds"]

#: Picoseconds, in which the core counts, in a second.
PS = 1e12


def picoseconds(seconds: float) -> int:
    """Return the time nearest to this many seconds that the core knows.

    Examples
    --------
    >>> picoseconds(1e-5)
    10000000
    """
    return round(seconds * PS)
