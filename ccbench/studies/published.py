# SPDX-License-Identifier: Apache-2.0
"""Published statements, and the range of numbers that agree with each.

Fixed rules, one function for each kind of statement, determine the bounds from the publication's
words alone, independently of the results:

=================== =============================================== ===============================
function            statement                                       numbers that agree
=================== =============================================== ===============================
:func:`percentage`  a percentage of a whole: "about 40 %"           within 5 points and a quarter
:func:`fraction`    a number between 0 and 1: "Jain's index 0.95"   within 0.05 and a quarter
:func:`quantity`    any other number: "1.2 μs", "five times"        within a quarter
:func:`between`     a range: "1 to 3 s"                             the range, as far as rounded
:func:`exactly`     a count: "no packet is lost", "3 iterations"    that number
:func:`similar`     sameness in words: "nearly identical"           within 5 % of the other
:func:`at_least`    a bound or a direction: "over 90 %", "higher"   that side; *direction only*
:func:`at_most`     a bound or a direction: "under 5 %", "falls"    that side; *direction only*
:func:`unbounded`   words without a number: "low", or nothing       none; not compared
=================== =============================================== ===============================

A quarter is the typical difference between two testbeds with the same hardware; the limit of 5
points keeps percentages near 100 from agreeing with everything. A one-sided statement is a weaker
test than a number, and is counted separately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

__all__ = [
    "Kind",
    "Published",
    "at_least",
    "at_most",
    "between",
    "exactly",
    "fraction",
    "percentage",
    "quantity",
    "similar",
    "unbounded",
]

#: Sides on which a statement limits numbers: both, one, or none.
Kind: TypeAlias = Literal["number", "direction", "unbounded"]

_KINDS: tuple[Kind, Kind, Kind] = ("unbounded", "direction", "number")
_QUARTER = 0.25
_POINTS = 5.0


@dataclass(frozen=True)
class Published:
    """A statement of a publication, created by the functions of this module.

    Parameters
    ----------
    text : str
        The statement in a few words, with the publication's precision: ``"about 40"``.
    where : str
        Its location: ``"section 3.4"``, ``"Table 2"``, ``"caption of Figure 7"``.
    low, high : float
        The smallest and largest numbers that agree; infinite if there is no limit.

    Examples
    --------
    >>> statement = percentage(40, "section 3.4", text="about 40")
    >>> statement.low, statement.high, statement.kind
    (35.0, 45.0, 'number')
    """

    text: str
    where: str
    low: float
    high: float

    @property
    def kind(self) -> Kind:
        """Whether the statement limits numbers on both sides, on one, or on none."""
        return _KINDS[math.isfinite(self.low) + math.isfinite(self.high)]

    def includes(self, value: float) -> bool:
        """Return whether a number agrees with the statement; NaN never does."""
        return self.low <= value <= self.high


def percentage(value: float, where: str, *, text: str | None = None) -> Published:
    """Return a percentage of a whole: within 5 points and a quarter.

    Examples
    --------
    >>> percentage(10, "Table 3.1").low, percentage(80, "Table 3.1").low
    (7.5, 75.0)
    """
    return _around(value, min(_POINTS, _QUARTER * abs(value)), where, text)


def fraction(value: float, where: str, *, text: str | None = None) -> Published:
    """Return a number between 0 and 1: within 0.05 and a quarter.

    Examples
    --------
    >>> round(fraction(0.988, "caption of Figure 5.3").low, 3)
    0.938
    """
    return _around(value, min(_POINTS / 100, _QUARTER * abs(value)), where, text)


def quantity(value: float, where: str, *, text: str | None = None) -> Published:
    """Return a number with a unit, or a factor: within a quarter.

    Examples
    --------
    >>> quantity(1.2, "Table 3.1").high
    1.5
    """
    return _around(value, _QUARTER * abs(value), where, text)


def between(low: float, high: float, where: str, *, text: str | None = None) -> Published:
    """Return a range, widened by half a unit of the last stated digit.

    Examples
    --------
    >>> between(2.3, 3, "section 3.6").high
    3.05
    """
    ends = (Decimal(str(low)).normalize(), Decimal(str(high)).normalize())
    last = min(0, *(int(end.as_tuple().exponent) for end in ends))
    rest = Decimal(5).scaleb(last - 1)
    words = text or f"{low:g} to {high:g}"
    return Published(words, where, float(ends[0] - rest), float(ends[1] + rest))


def exactly(value: float, where: str, *, text: str | None = None) -> Published:
    """Return a count, which only the same number agrees with.

    Examples
    --------
    >>> exactly(0, "section 3.6", text="none").includes(1)
    False
    """
    return _around(value, 0.0, where, text)


def similar(value: float, where: str, *, text: str = "similar") -> Published:
    """Return a statement of equality: a percentage within 5 of `value`.

    Parameters
    ----------
    value : float
        100 for one quantity as a percentage of the other, 0 for their difference in percent.
    where, text : str
        As in :class:`Published`.

    Examples
    --------
    >>> similar(100, "section 7.2").low
    95.0
    """
    return _around(value, _POINTS, where, text)


def at_least(value: float, where: str, *, text: str | None = None) -> Published:
    """Return a lower bound, or, with 0, the statement that a difference is positive.

    Examples
    --------
    >>> at_least(90, "section 7.2", text="over 90").kind
    'direction'
    """
    return Published(text or f"at least {value:g}", where, value, math.inf)


def at_most(value: float, where: str, *, text: str | None = None) -> Published:
    """Return an upper bound, or, with 0, the statement that a difference is negative.

    Examples
    --------
    >>> at_most(1500, "Figure 1").text
    'at most 1500'
    """
    return Published(text or f"at most {value:g}", where, -math.inf, value)


def unbounded(text: str, where: str) -> Published:
    """Return a statement without a limit, such as "low", or the absence of a statement.

    Examples
    --------
    >>> unbounded("left open", "section V").kind
    'unbounded'
    """
    return Published(text, where, -math.inf, math.inf)


def _around(value: float, tolerance: float, where: str, text: str | None) -> Published:
    return Published(text or f"{value:g}", where, value - tolerance, value + tolerance)
