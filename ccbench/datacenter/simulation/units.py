# SPDX-License-Identifier: Apache-2.0
"""The compiled core's unit of time."""

from __future__ import annotations

__all__ = ["PS", "picoseconds"]

#: Picoseconds, the core's unit of time, per second.
PS = 1e12


def picoseconds(seconds: float) -> int:
    """Return a time in seconds rounded to whole picoseconds.

    Examples
    --------
    >>> picoseconds(1e-5)
    10000000
    """
    return round(seconds * PS)
