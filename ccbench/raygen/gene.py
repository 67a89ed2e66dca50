# SPDX-License-Identifier: Apache-2.0
"""Genes: what a search varies, and in which range.

A :class:`Number` has a range, and a scale on which random values and blends are taken; the thesis's
is logarithmic "because CCA behavior varies by factors of change" (Ware section 5.4): doubling the
bandwidth matters, one Mbit/s more does not. Values are rounded to steps that matter to nobody,
which makes chromosomes readable and lets equal scenarios be recognised. A :class:`Choice` has a
list of values, such as the names of queueing disciplines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ccbench.base import dataclass_dicts, validation
from ccbench.raygen.quantities import NUMBERS, WORDS, Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

__all__ = ["VALUE_FORM", "Choice", "Gene", "Number", "Value", "read_gene", "shown"]

#: What a gene has in one scenario.
Value: TypeAlias = "float | str"

#: How numbers are printed, everywhere alike: they were rounded when they were chosen.
VALUE_FORM = ".12g"

#: More values than this are not told apart, and more decimals than that no number has.
_MOST_STEPS, _MOST_PLACES = 10**15, 300

_SCALES = '"log", "linear" or "choice"'


class Gene(ABC):
    """One property of a scenario that a search varies.

    Attributes
    ----------
    name : str
        One of :mod:`ccbench.raygen.quantities`.
    """

    name: str

    @property
    def unit(self) -> str:
        """The unit of its values, for people; empty if they have none."""
        return NUMBERS[self.name].unit if self.name in NUMBERS else ""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values it has."""

    def random(self, rng: Random) -> Value:
        """Return a random value, uniform on the gene's scale."""
        return self.at(rng.random())

    @abstractmethod
    def at(self, place: float) -> Value:
        """Return the value that is `place` (0 to 1) of the way along the gene's scale."""

    @abstractmethod
    def levels(self, count: int) -> tuple[Value, ...]:
        """Return up to `count` values, evenly spaced on the gene's scale from end to end.

        One alone is the middle. All of them if `count` is the :attr:`size` or more.
        """

    @abstractmethod
    def blend(self, ours: Value, theirs: Value, weight: float) -> Value:
        """Return the value that is `weight` (0 to 1) of the way from `ours` to `theirs`."""

    @abstractmethod
    def moved(self, value: Value, rng: Random, step: float) -> Value:
        """Return a random neighbour, about `step` (a part of the gene's scale) from `value`."""

    @abstractmethod
    def includes(self, value: Value) -> bool:
        """Whether the gene can have this value."""

    @abstractmethod
    def coordinates(self, value: Value) -> tuple[float, ...]:
        """Return where `value` lies, as numbers from 0 to 1 by which distances can be taken."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the gene as a table of TOML; :func:`read_gene` reads it."""


@dataclass(frozen=True, kw_only=True)
class Number(Gene):
    """A number and its range.

    Parameters
    ----------
    name : str
        One of :data:`ccbench.raygen.quantities.NUMBERS`.
    low, high : float
        Least and greatest value. Equal ones fix the gene.
    scale : str
        ``"log"`` or ``"linear"``.
    decimals : int, optional
        Values are rounded to this many; left out, to as many as matter for the quantity, and to
        more where the range is of smaller numbers.

    Raises
    ------
    InputError
        If there is no such number or its range is empty or does not fit its scale.

    Examples
    --------
    >>> rtt = Number(name="rtt_ms", low=10, high=320)
    >>> rtt.blend(10, 160, 0.25), rtt.unit
    (20.0, 'ms')
    >>> rtt.levels(6)
    (10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
    >>> Number(name="alpha_flows", low=1, high=5).levels(3)
    (1, 2, 5)
    """

    name: str
    low: float
    high: float
    scale: Literal["log", "linear"] = "log"
    decimals: int | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.name in WORDS:
            step = f'write scale = "choice" and values = ["{WORDS[self.name]}"]'
            raise validation.bad(f"{self.name}.scale", self.scale, '"choice"', step)
        if self.scale not in ("log", "linear"):
            raise validation.bad(
                f"{self.name}.scale", self.scale, _SCALES, 'write for example scale = "log"'
            )
        if self.decimals is not None:
            validation.whole(
                f"{self.name}.decimals", self.decimals, validation.Range(0, 12), example=1
            )
        for end in ("low", "high"):
            value = _checked(self.name, end, getattr(self, end))
            if self.scale == "log" and value <= 0:
                allowed = 'above 0 on the scale "log"'
                step = 'raise it, or write scale = "linear"'
                raise validation.bad(f"{self.name}.{end}", value, allowed, step)
            object.__setattr__(self, end, value)
        if self.low > self.high:
            allowed = f"at least {self.name}.low = {self.low:g}"
            raise validation.bad(f"{self.name}.high", self.high, allowed, "exchange the two")

    @property
    def size(self) -> int:
        """How many values it has."""
        steps = (self.high - self.low) * 10.0**self._places
        return round(min(steps, _MOST_STEPS)) + 1

    def at(self, place: float) -> float:
        """Return the value that is `place` (0 to 1) of the way along the gene's scale."""
        start, end = self._ends()
        position = start + place * (end - start)
        value = math.exp(position) if self.scale == "log" else position
        if self._quantity.whole:
            return min(max(math.floor(value), self.low), self.high)
        return self._rounded(value)

    def levels(self, count: int) -> tuple[Value, ...]:
        """Return up to `count` values, evenly spaced on the gene's scale from low to high.

        One alone is the middle. There are fewer where neighbours are rounded to the same value,
        and all of them if `count` is the :attr:`size`.
        """
        if self._quantity.whole and count >= self.size:
            return tuple(range(int(self.low), int(self.high) + 1))
        weights = [i / (count - 1) for i in range(count)] if count > 1 else [0.5]
        return tuple(dict.fromkeys(self.blend(self.low, self.high, w) for w in weights))

    def blend(self, ours: Value, theirs: Value, weight: float) -> float:
        """Return the value that is `weight` (0 to 1) of the way from `ours` to `theirs`."""
        first, second = cast("float", ours), cast("float", theirs)
        if self.scale == "linear":
            return self._rounded(first - weight * (first - second))
        log_first, log_second = math.log(first), math.log(second)
        return self._rounded(math.exp(log_first - weight * (log_first - log_second)))

    def moved(self, value: Value, rng: Random, step: float) -> float:
        """Return a random neighbour, normally distributed by `step` times the gene's scale."""
        (place,) = self.coordinates(value)
        return self.at(min(max(place + rng.gauss(0, step), 0.0), 1.0))

    def includes(self, value: Value) -> bool:
        """Whether it is a number from low to high."""
        return isinstance(value, int | float) and self.low <= value <= self.high

    def coordinates(self, value: Value) -> tuple[float, ...]:
        """Return how far along the gene's scale `value` is, 0 to 1: the inverse of :meth:`at`."""
        number = cast("float", value)
        start, end = self._ends()
        if self.scale == "linear":
            position = number + self._quantity.whole / 2  # the middle of its part
        elif self._quantity.whole:
            position = (math.log(number) + math.log(number + 1)) / 2  # likewise
        else:
            position = math.log(number)
        return ((position - start) / (end - start) if end > start else 0.0,)

    def to_dict(self) -> dict[str, Any]:
        """Return the gene as a table of TOML, with its unit."""
        table = {"name": self.name, "low": self.low, "high": self.high, "scale": self.scale}
        if self.decimals is not None:
            table["decimals"] = self.decimals
        return table | ({"unit": self.unit} if self.unit else {})

    @property
    def _quantity(self) -> Quantity:
        return NUMBERS[self.name]

    @property
    def _places(self) -> int:
        if self.decimals is not None:
            return self.decimals
        usual = self._quantity.decimals
        finest = self.low if self.scale == "log" else (self.high - self.low) / 10
        if self._quantity.whole or not finest:
            return usual
        wanted = 1 - math.floor(math.log10(finest))  # two digits of the smallest step
        return max(usual, min(wanted, _MOST_PLACES))

    def _ends(self) -> tuple[float, float]:
        """Return where the gene's scale starts and ends."""
        # Whole number n stands for [n, n + 1), so that on a log scale 1 to 5 are all drawn by the
        # same law, P(n) ~ log(1 + 1/n). To round would give the two ends half of their due.
        high = self.high + self._quantity.whole
        return (math.log(self.low), math.log(high)) if self.scale == "log" else (self.low, high)

    def _rounded(self, value: float) -> float:
        if self._quantity.whole and self.scale == "log":
            below = math.floor(value)
            # The border between two whole numbers is their middle on the log scale: to round at
            # the plain middle would favour small numbers generation after generation.
            rounded: float = below if value * value < below * (below + 1) else below + 1
        elif self._quantity.whole:
            rounded = round(value)
        else:
            rounded = round(value, self._places)
        return min(max(rounded, self.low), self.high)


@dataclass(frozen=True, kw_only=True)
class Choice(Gene):
    """One of a few values: words, or numbers between which there is nothing.

    Parameters
    ----------
    name : str
        One of :mod:`ccbench.raygen.quantities`.
    values : tuple of str or float
        What it may be, each once. Numbers are put in ascending order.

    Raises
    ------
    InputError
        If there is no such gene, or it cannot have one of the values.

    Examples
    --------
    >>> qdisc = Choice(name="qdisc", values=("droptail", "fq_codel", "pie"))
    >>> qdisc.blend("droptail", "pie", 0.7)
    'pie'
    """

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        given: object = self.values
        example = WORDS.get(self.name) or [NUMBERS[self.name].example]
        if not isinstance(given, tuple | list) or not given:
            step = f"write for example values = {[example]!r}"
            raise validation.bad(f"{self.name}.values", given, "a list of one value or more", step)
        values = [_checked(self.name, f"values[{i}]", value) for i, value in enumerate(given)]
        if len(set(values)) < len(values):
            raise validation.bad(
                f"{self.name}.values", values, "all different", "remove the copies"
            )
        ordered = values if self.name in WORDS else sorted(values)
        object.__setattr__(self, "values", tuple(ordered))

    @property
    def size(self) -> int:
        """How many values it has."""
        return len(self.values)

    def at(self, place: float) -> Value:
        """Return the value whose equal part of the scale `place` (0 to 1) is in."""
        return self.values[min(int(place * self.size), self.size - 1)]

    def levels(self, count: int) -> tuple[Value, ...]:
        """Return up to `count` values, evenly spaced in their order."""
        return tuple(dict.fromkeys(self.at((i + 0.5) / count) for i in range(count)))

    def blend(self, ours: Value, theirs: Value, weight: float) -> Value:
        """Return `ours` or, for a `weight` of half or more, `theirs`: there is nothing between."""
        return ours if weight < 0.5 else theirs  # noqa: PLR2004

    def moved(self, value: Value, rng: Random, step: float) -> Value:
        """Return another value with the probability `step`: all are neighbours."""
        return rng.choice(self.values) if rng.random() < step else value

    def includes(self, value: Value) -> bool:
        """Whether it is one of the values."""
        return value in self.values

    def coordinates(self, value: Value) -> tuple[float, ...]:
        """Return the place of a number in its order; a word has a coordinate of its own.

        Two different words are 1 apart, as the ends of a number's range are; whole numbers stand in
        the middle of their parts of the range, so the ends of few are nearer.
        """
        if self.name in WORDS:
            return tuple(math.sqrt(0.5) * (value == other) for other in self.values)
        return (self.values.index(value) / max(self.size - 1, 1),)

    def to_dict(self) -> dict[str, Any]:
        """Return the gene as a table of TOML."""
        return {"name": self.name, "scale": "choice", "values": list(self.values)}


def shown(value: Value) -> str:
    """Return a gene's value for people: the same in every table, figure and sentence.

    Examples
    --------
    >>> shown(0.5), shown(188.6), shown("droptail")
    ('0.5', '188.6', 'droptail')
    """
    return value if isinstance(value, str) else format(value, VALUE_FORM)


def read_gene(table: Mapping[str, object]) -> Gene:
    """Make a gene of a table of TOML.

    Raises
    ------
    InputError
        If it is none; the message names the setting.

    Examples
    --------
    >>> read_gene({"name": "rtt_ms", "low": 10, "high": 100, "scale": "linear", "unit": "ms"})
    Number(name='rtt_ms', low=10.0, high=100.0, scale='linear', decimals=None)
    >>> read_gene({"name": "qdisc", "scale": "choice", "values": ["droptail", "pie"]})
    Choice(name='qdisc', values=('droptail', 'pie'))
    """
    settings = {key: value for key, value in table.items() if key != "unit"}
    gene: Gene
    if settings.get("scale") == "choice":
        del settings["scale"]
        gene = dataclass_dicts.build(Choice, settings, {})
    else:
        gene = dataclass_dicts.build(Number, settings, {})
    if "unit" in table and table["unit"] != gene.unit:
        step = f"write unit = {gene.unit!r}, or remove it"
        raise validation.bad(f"{gene.name}.unit", table["unit"], repr(gene.unit), step)
    return gene


def _check_name(name: object) -> None:
    known = [*NUMBERS, *WORDS]
    if not isinstance(name, str):
        raise validation.bad("name", name, "a name", 'write for example name = "rtt_ms"')
    if name not in known:
        raise validation.unknown_key(name, known)


def _checked(name: str, field: str, value: object) -> Any:
    """Check a value of a gene."""
    where = f"{name}.{field}"
    if name in WORDS:
        return validation.text(where, value, r"\S.*", "a name", example=WORDS[name])
    quantity = NUMBERS[name]
    check: Any = validation.whole if quantity.whole else validation.number
    return check(where, value, quantity.limits, example=quantity.example)
