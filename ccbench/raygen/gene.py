# SPDX-License-Identifier: Apache-2.0
"""Genes: the quantities that a search varies, with their ranges.

A :class:`Number` has a range, and a scale on which values are drawn and blended. That of the thesis
is logarithmic "because CCA behavior varies by factors of change" (Ware section 5.4): doubling the
bandwidth matters, adding 1 Mbit/s does not. Values are rounded to irrelevantly small steps, which
makes chromosomes readable and detects equal scenarios. A :class:`Choice` has a list of values, such
as the names of queueing disciplines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ccbench.base import dataclass_dicts, validation
from ccbench.raygen.perturbations import is_of_perturbations
from ccbench.raygen.quantities import NUMBERS, WORDS, Quantity, is_of_flows, is_setting, quantity_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

__all__ = ["VALUE_FORM", "Choice", "Gene", "Number", "Value", "read_gene", "shown"]

#: Value of a gene in one scenario.
Value: TypeAlias = "float | str"

#: Format of printed values, which are already rounded.
VALUE_FORM = ".12g"

#: Maximum number of distinct values, and maximum number of decimals.
_MAX_STEPS, _MAX_PLACES = 10**15, 300

_SCALES = '"log", "linear" or "choice"'


class Gene(ABC):
    """One property of a scenario that a search varies.

    Attributes
    ----------
    name : str
        One of :mod:`ccbench.raygen.quantities`: a short name, or the path of a setting.
    """

    name: str

    @property
    def unit(self) -> str:
        """Unit of the values; empty if they have none."""
        return "" if self.name in WORDS else quantity_of(self.name).unit

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of values."""

    def random(self, rng: Random) -> Value:
        """Return a random value, uniform on the gene's scale."""
        return self.at(rng.random())

    @abstractmethod
    def at(self, place: float) -> Value:
        """Return the value at `place` (0 to 1) on the gene's scale."""

    @abstractmethod
    def levels(self, count: int) -> tuple[Value, ...]:
        """Return up to `count` values, evenly spaced on the gene's scale from end to end.

        A single level is the middle. If `count` is at least the :attr:`size`, all values.
        """

    @abstractmethod
    def blend(self, first: Value, second: Value, weight: float) -> Value:
        """Return the value `weight` (0 to 1) of the way from `first` to `second`."""

    @abstractmethod
    def moved(self, value: Value, rng: Random, step: float) -> Value:
        """Return a random neighbour about `step` (a fraction of the gene's scale) from `value`."""

    @abstractmethod
    def includes(self, value: Value) -> bool:
        """Return whether the gene can have this value."""

    @abstractmethod
    def coordinates(self, value: Value) -> tuple[float, ...]:
        """Return the coordinates of `value`, from 0 to 1, for computing distances."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the gene as a TOML table for :func:`read_gene`."""


@dataclass(frozen=True, kw_only=True)
class Number(Gene):
    """A number and its range.

    Parameters
    ----------
    name : str
        One of :data:`ccbench.raygen.quantities.NUMBERS`, or the path of a setting.
    low, high : float
        Minimum and maximum. Equal values fix the gene.
    scale : str
        ``"log"`` or ``"linear"``.
    decimals : int, optional
        Decimals of values; by default those of the quantity, and more for a range of smaller
        numbers.

    Raises
    ------
    InputError
        If the quantity does not exist, or its range is empty or does not fit the scale.

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
        """Number of values."""
        steps = (self.high - self.low) * 10.0**self._places
        return round(min(steps, _MAX_STEPS)) + 1

    def at(self, place: float) -> float:
        """Return the value at `place` (0 to 1) on the gene's scale."""
        start, end = self._ends
        position = start + place * (end - start)
        value = math.exp(position) if self.scale == "log" else position
        if self._quantity.whole:
            return min(max(math.floor(value), self.low), self.high)
        return self._rounded(value)

    def levels(self, count: int) -> tuple[Value, ...]:
        """Return up to `count` values, evenly spaced on the gene's scale from low to high.

        A single level is the middle. There are fewer levels if neighbours are rounded to the same
        value, and all whole numbers if `count` is at least the :attr:`size`.
        """
        if self._quantity.whole and count >= self.size:
            return tuple(range(int(self.low), int(self.high) + 1))
        weights = [i / (count - 1) for i in range(count)] if count > 1 else [0.5]
        return tuple(dict.fromkeys(self.blend(self.low, self.high, w) for w in weights))

    def blend(self, first: Value, second: Value, weight: float) -> float:
        """Return the value `weight` (0 to 1) of the way from `first` to `second`."""
        start, end = cast("float", first), cast("float", second)
        if self.scale == "linear":
            return self._rounded(start - weight * (start - end))
        log_start, log_end = math.log(start), math.log(end)
        return self._rounded(math.exp(log_start - weight * (log_start - log_end)))

    def moved(self, value: Value, rng: Random, step: float) -> float:
        """Return a normally distributed neighbour with standard deviation `step` on the scale."""
        (place,) = self.coordinates(value)
        return self.at(min(max(place + rng.gauss(0, step), 0.0), 1.0))

    def includes(self, value: Value) -> bool:
        """Return whether `value` is a number from low to high."""
        return isinstance(value, int | float) and self.low <= value <= self.high

    def coordinates(self, value: Value) -> tuple[float, ...]:
        """Return the position of `value` on the gene's scale, 0 to 1: the inverse of :meth:`at`."""
        number = cast("float", value)
        start, end = self._ends
        if self.scale == "linear":
            position = number + self._quantity.whole / 2  # the middle of [n, n + 1)
        elif self._quantity.whole:
            position = (math.log(number) + math.log(number + 1)) / 2  # its middle on the log scale
        else:
            position = math.log(number)
        return ((position - start) / (end - start) if end > start else 0.0,)

    def to_dict(self) -> dict[str, Any]:
        """Return the gene as a TOML table, with its unit."""
        table = {"name": self.name, "low": self.low, "high": self.high, "scale": self.scale}
        if self.decimals is not None:
            table["decimals"] = self.decimals
        return table | ({"unit": self.unit} if self.unit else {})

    @cached_property
    def _quantity(self) -> Quantity:
        return quantity_of(self.name)

    @cached_property
    def _places(self) -> int:
        if self.decimals is not None:
            return self.decimals
        usual = self._quantity.decimals
        finest = self.low if self.scale == "log" else (self.high - self.low) / 10
        if self._quantity.whole or not finest:
            return usual
        wanted = 1 - math.floor(math.log10(finest))  # two digits of the smallest step
        return max(usual, min(wanted, _MAX_PLACES))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return the start and end of the gene's scale."""
        # A whole number n stands for [n, n + 1), so that on a log scale P(n) ~ log(1 + 1/n) for all
        # of 1 to 5. Rounding would halve the probability of both ends.
        high = self.high + self._quantity.whole
        return (math.log(self.low), math.log(high)) if self.scale == "log" else (self.low, high)

    def _rounded(self, value: float) -> float:
        if self._quantity.whole and self.scale == "log":
            below = math.floor(value)
            # Two whole numbers are separated at their middle on the log scale: rounding at the
            # arithmetic mean would favour small numbers in each generation.
            rounded: float = below if value * value < below * (below + 1) else below + 1
        elif self._quantity.whole:
            rounded = round(value)
        else:
            rounded = round(value, self._places)
        return min(max(rounded, self.low), self.high)


@dataclass(frozen=True, kw_only=True)
class Choice(Gene):
    """One of a list of words or numbers.

    Parameters
    ----------
    name : str
        One of :mod:`ccbench.raygen.quantities`: a short name, or the path of a setting.
    values : tuple of str or float
        Distinct values. Numbers are sorted.

    Raises
    ------
    InputError
        If the quantity does not exist, or a value is invalid.

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
        example = WORDS.get(self.name) or [quantity_of(self.name).example]
        if not isinstance(given, tuple | list) or not given:
            step = f"write for example values = {[example]!r}"
            raise validation.bad(f"{self.name}.values", given, "a list of one value or more", step)
        values = [_checked(self.name, f"values[{i}]", value) for i, value in enumerate(given)]
        if len(set(values)) < len(values):
            raise validation.bad(
                f"{self.name}.values", values, "all different", "remove the copies"
            )
        ordered = sorted(values) if self.is_numeric else values
        object.__setattr__(self, "values", tuple(ordered))

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return all(isinstance(value, int | float) for value in self.values)

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    def at(self, place: float) -> Value:
        """Return the value at `place` (0 to 1) on a scale with equal parts for all values."""
        return self.values[min(int(place * self.size), self.size - 1)]

    def levels(self, count: int) -> tuple[Value, ...]:
        """Return up to `count` values, evenly spaced in their order."""
        return tuple(dict.fromkeys(self.at((i + 0.5) / count) for i in range(count)))

    def blend(self, first: Value, second: Value, weight: float) -> Value:
        """Return `first`, or `second` for a `weight` of at least 0.5."""
        return first if weight < 0.5 else second  # noqa: PLR2004

    def moved(self, value: Value, rng: Random, step: float) -> Value:
        """Return a random value with the probability `step`: all values are neighbours."""
        return rng.choice(self.values) if rng.random() < step else value

    def includes(self, value: Value) -> bool:
        """Return whether `value` is one of the values."""
        return value in self.values

    def coordinates(self, value: Value) -> tuple[float, ...]:
        """Return the position of a number among the values, or one coordinate for each word.

        The distance between two different words is 1, that between the ends of a number's range.
        The ends of a :class:`Number` of few whole numbers are closer, as each number is in the
        middle of its part of the range.
        """
        if not self.is_numeric:
            return tuple(math.sqrt(0.5) * (value == other) for other in self.values)
        return (self.values.index(value) / max(self.size - 1, 1),)

    def to_dict(self) -> dict[str, Any]:
        """Return the gene as a TOML table."""
        return {"name": self.name, "scale": "choice", "values": list(self.values)}


def shown(value: Value) -> str:
    """Return a gene's value as text for tables, figures and sentences.

    Examples
    --------
    >>> shown(0.5), shown(188.6), shown("droptail")
    ('0.5', '188.6', 'droptail')
    """
    return value if isinstance(value, str) else format(value, VALUE_FORM)


def read_gene(table: Mapping[str, object]) -> Gene:
    """Create a gene from a TOML table.

    Raises
    ------
    InputError
        If the table is invalid; the message names the setting.

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
        gene = dataclass_dicts.build(Choice, settings)
    else:
        gene = dataclass_dicts.build(Number, settings)
    if "unit" in table and table["unit"] != gene.unit:
        step = f"write unit = {gene.unit!r}, or remove it"
        raise validation.bad(f"{gene.name}.unit", table["unit"], repr(gene.unit), step)
    return gene


def _check_name(name: object) -> None:
    names = [*NUMBERS, *WORDS]
    if not isinstance(name, str):
        raise validation.bad("name", name, "a name", 'write for example name = "rtt_ms"')
    is_path = is_setting(name) or is_of_flows(name) or is_of_perturbations(name)
    if name not in names and not is_path:
        raise validation.unknown_key(name, names)


def _checked(name: str, field: str, value: object) -> Any:
    """Check a value of a gene; the scenario checks the values of settings by their paths."""
    where = f"{name}.{field}"
    if name in WORDS or (name not in NUMBERS and field.startswith("values")):
        if name not in WORDS and isinstance(value, bool | int | float):
            return value
        return validation.text(where, value, r"\S.*", "a name", example=WORDS.get(name, "pie"))
    quantity = quantity_of(name)
    check: Any = validation.whole if quantity.whole else validation.number
    return check(where, value, quantity.limits, example=quantity.example)
