# SPDX-License-Identifier: Apache-2.0
"""Order of the releases of Linux."""

from __future__ import annotations

import re

__all__ = ["numbers"]


def numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release, by which releases are ordered.

    Examples
    --------
    >>> sorted(["6.12", "6.6", "7.3.4-own"], key=numbers)
    ['6.6', '6.12', '7.3.4-own']
    """
    return tuple(map(int, re.findall(r"\d+", release)))
