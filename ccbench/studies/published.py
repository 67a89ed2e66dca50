# SPDX-License-Identifier: Apache-2.0
"""Published statements, and which numbers agree with them.

The bounds follow from the words of a publication by fixed rules, one function for each kind of
statement, so that they do not depend on our results:

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

A quarter is about what separates two testbeds with the same hardware, and "5 points" keeps
percentages near 100 from agreeing with everything. A statement with one side only is a weaker test
than one with a number, and counts apart.
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

#: On how many sides a statement limits numbers: on both, on one, on none.
Kind: TypeAlias = Literal["number", "direction", "unbounded"]

_KINDS: tuple[Kind, Kind, Kind] = ("unbounded", "direction", "number")
_QUARTER = 0.25
_POINTS = 5.0


@dataclass(frozen=True)
class Published:
    """A statement of a publication. Made by the functions of this module.

    Parameters
    ----------
    text : str
        The statement in a few words, in the publication's own precision: ``"about 40"``.
    where : str
        The place that states it: ``"section 3.4"``, ``"Table 2"``, ``"caption of Figure 7"``.
    low, high : float
        The smallest and the largest number that agree with it; infinite where it sets no limit.

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
        """Whether it limits numbers on both sides, on one, or not at all."""
        return _KINDS[math.isfinite(self.low) + math.isfinite(self.high)]

    def includes(self, value: float) -> bool:
        """Whether a number agrees with the statement; NaN agrees with nothing."""
        return self.low <= value <= self.high


def percentage(value: float, where: str, *, text: str | None = None) -> Published:
    """Return the statement of a percentage of a whole: within 5 points, and within a quarter.

    Examples
    --------
    >>> percentage(10, "Table 3.1").low, percentage(80, "Table 3.1").low
    (7.5, 75.0)
    """
    return _around(value, min(_POINTS, _QUARTER * abs(value)), where, text)


def fraction(value: float, where: str, *, text: str | None = None) -> Published:
    """Return the statement of a number between 0 and 1: within 0.05, and within a quarter.

    Examples
    --------
    >>> round(fraction(0.988, "caption of Figure 5.3").low, 3)
    0.938
    """
    return _around(value, min(_POINTS / 100, _QUARTER * abs(value)), where, text)


def quantity(value: float, where: str, *, text: str | None = None) -> Published:
    """Return the statement of a number with a unit, or of a factor: within a quarter.

    Examples
    --------
    >>> quantity(1.2, "Table 3.1").high
    1.5
    """
    return _around(value, _QUARTER * abs(value), where, text)


def between(low: float, high: float, where: str, *, text: str | None = None) -> Published:
    """Return the statement of a range, widened by half a unit of the last digit that it states.

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
    """Return the statement of a count.

    Examples
    --------
    >>> exactly(0, "section 3.6", text="none").includes(1)
    False
    """
    return _around(value, 0.0, where, text)


def similar(value: float, where: str, *, text: str = "similar") -> Published:
    """Return the statement that two things are the same: a percentage within 5 of `value`.

    Parameters
    ----------
    value : float
        100 for one as a percentage of the other, 0 for their difference in percent.
    where, text : str
        As in :class:`Published`.

    Examples
    --------
    >>> similar(100, "section 7.2").low
    95.0
    """
    return _around(value, _POINTS, where, text)


def at_least(value: float, where: str, *, text: str | None = None) -> Published:
    """Return the statement of a lower bound, or with 0 that a difference is positive.

    Examples
    --------
    >>> at_least(90, "section 7.2", text="over 90").kind
    'direction'
    """
    return Published(text or f"at least {value:g}", where, value, math.inf)


def at_most(value: float, where: str, *, text: str | None = None) -> Published:
    """Return the statement of an upper bound, or with 0 that a difference is negative.

    Examples
    --------
    >>> at_most(1500, "Figure 1").text
    'at most 1500'
    """
    return Published(text or f"at most {value:g}", where, -math.inf, value)


def unbounded(text: str, where: str) -> Published:
    """Return words that set no limit, such as "low", or that nothing is stated.

    Examples
    --------
    >>> unbounded("left open", "section V").kind
    'unbounded'
    """
    return Published(text, where, -math.inf, math.inf)


def _around(value: float, off: float, where: str, text: str | None) -> Published:
    return Published(text or f"{value:g}", where, value - off, value + off)
