# SPDX-License-Identifier: Apache-2.0
"""Numbers of things in messages."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    Parameters
    ----------
    count : int
        The number.
    noun : str
        The noun in the singular, whose plural ends in s.

    Examples
    --------
    >>> counted(1, "warning"), counted(2, "warning"), counted(0, "warning")
    ('1 warning', '2 warnings', '0 warnings')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
