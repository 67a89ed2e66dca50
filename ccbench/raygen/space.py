# SPDX-License-Identifier: Apache-2.0
"""The search space: the numbers that make a scenario, and their ranges (Ware section 5.4).

The thesis's ranges are "log scale because CCA behavior varies by factors of change": doubling the
bandwidth matters, one Mbit/s more does not. So random values and blends are taken on the logarithm.
Values are rounded to steps that matter to nobody, which makes chromosomes readable and lets equal
scenarios be recognised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ccbench import _validate

if TYPE_CHECKING:
    import random

__all__ = ["DEFAULT_SPACE", "Chromosome", "Gene", "Space"]

#: One value for each gene of a space, in its order.
Chromosome: TypeAlias = tuple[float, ...]

#: What an experiment is made from, with an example of each.
_GENES = {"bandwidth_mbps": 100, "rtt_ms": 40, "queue_bdp": 1, "alpha_flows": 1, "beta_flows": 1}


@dataclass(frozen=True, kw_only=True)
class Gene:
    """One number of a scenario and its range.

    Parameters
    ----------
    name : str
        ``"bandwidth_mbps"``, ``"rtt_ms"``, ``"queue_bdp"``, ``"alpha_flows"`` or ``"beta_flows"``.
    low, high : float
        Least and greatest value. Equal ones fix the gene.
    scale : str
        ``"log"``, ``"linear"`` or ``"int-log"`` (whole numbers on a log scale).
    unit : str
        For people.
    decimals : int
        Values are rounded to this many.

    Raises
    ------
    InputError
        If there is no such gene or its range is empty or does not fit its scale.

    Examples
    --------
    >>> rtt = Gene(name="rtt_ms", low=10, high=320, unit="ms")
    >>> rtt.blend(10, 160, 0.25)
    20.0
    """

    name: str
    low: float
    high: float
    scale: Literal["log", "linear", "int-log"] = "log"
    unit: str = ""
    decimals: int = 1

    def __post_init__(self) -> None:
        if self.name not in _GENES:
            raise _validate.unknown_key(self.name, _GENES)
        if self.scale not in {"log", "linear", "int-log"}:
            allowed = '"log", "linear" or "int-log"'
            raise _validate.bad(f"{self.name}.scale", self.scale, allowed, 'write scale = "log"')
        example = _GENES[self.name]
        lowest = (
            _validate.Range(1) if self.scale == "int-log" else _validate.Range(0, low_open=True)
        )
        for end in ("low", "high"):
            field = f"{self.name}.{end}"
            if self.scale == "int-log":
                _validate.whole(field, getattr(self, end), lowest, example=example)
            else:
                _validate.number(field, getattr(self, end), lowest, example=example)
        if self.low > self.high:
            allowed = f"at least {self.name}.low = {self.low:g}"
            raise _validate.bad(f"{self.name}.high", self.high, allowed, "exchange the two")

    @property
    def size(self) -> int:
        """How many values it has."""
        if self.scale == "int-log":
            return int(self.high - self.low) + 1
        return round((self.high - self.low) * 10.0**self.decimals) + 1

    def random(self, rng: random.Random) -> float:
        """Return a random value, uniform on the gene's scale."""
        return self.at(rng.random())

    def at(self, unit: float) -> float:
        """Return the value that is `unit` (0 to 1) of the way along the gene's scale."""
        start, end = self._ends()
        position = start + unit * (end - start)
        if self.scale == "linear":
            return self._rounded(position)
        if self.scale == "log":
            return self._rounded(math.exp(position))
        return min(max(math.floor(math.exp(position)), self.low), self.high)

    def unit_value(self, value: float) -> float:
        """Return how far along the gene's scale `value` is, 0 to 1: the inverse of :meth:`at`."""
        start, end = self._ends()
        if self.scale == "linear":
            position = value
        elif self.scale == "log":
            position = math.log(value)
        else:
            position = (math.log(value) + math.log(value + 1)) / 2  # the middle of its part
        return (position - start) / (end - start) if end > start else 0.0

    def levels(self, count: int) -> tuple[float, ...]:
        """Return up to `count` values, evenly spaced on the gene's scale from low to high.

        One alone is the middle. There are fewer where neighbours are rounded to the same value,
        and all of them if `count` is the :attr:`size`.

        Examples
        --------
        >>> Gene(name="rtt_ms", low=10, high=320).levels(6)
        (10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
        >>> Gene(name="alpha_flows", low=1, high=5, scale="int-log").levels(3)
        (1, 2, 5)
        """
        if self.scale == "int-log" and count >= self.size:
            return tuple(range(int(self.low), int(self.high) + 1))
        weights = [i / (count - 1) for i in range(count)] if count > 1 else [0.5]
        return tuple(dict.fromkeys(self.blend(self.low, self.high, w) for w in weights))

    def blend(self, ours: float, theirs: float, weight: float) -> float:
        """Return the value that is `weight` (0 to 1) of the way from `ours` to `theirs`."""
        if self.scale == "linear":
            return self._rounded(ours - weight * (ours - theirs))
        log_ours, log_theirs = math.log(ours), math.log(theirs)
        return self._rounded(math.exp(log_ours - weight * (log_ours - log_theirs)))

    def _ends(self) -> tuple[float, float]:
        """Return where the gene's scale starts and ends."""
        if self.scale == "linear":
            return self.low, self.high
        # Whole number n stands for [n, n + 1), so that 1 to 5 are all drawn by the same law, P(n)
        # ~ log(1 + 1/n). To round would give the two ends half of their due.
        return math.log(self.low), math.log(self.high + (self.scale == "int-log"))

    def _rounded(self, value: float) -> float:
        if self.scale == "int-log":
            below = math.floor(value)
            # The border between two whole numbers is their middle on the log scale: to round at
            # the plain middle would favour small numbers generation after generation.
            rounded: float = below if value * value < below * (below + 1) else below + 1
        else:
            rounded = round(value, self.decimals)
        return min(max(rounded, self.low), self.high)


@dataclass(frozen=True)
class Space:
    """All genes of a search.

    Parameters
    ----------
    genes : tuple of Gene
        Every gene once, in any order.

    Raises
    ------
    InputError
        If a gene is missing or is there twice.

    Examples
    --------
    >>> DEFAULT_SPACE.values((100.0, 40.0, 1.0, 1, 2))["beta_flows"]
    2
    """

    genes: tuple[Gene, ...]

    def __post_init__(self) -> None:
        names = [gene.name for gene in self.genes]
        for name in _GENES:
            if names.count(name) != 1:
                raise _validate.bad(
                    f"number of genes {name}", names.count(name), "1", "name it once"
                )

    def random(self, rng: random.Random) -> Chromosome:
        """Return a random chromosome."""
        return tuple(gene.random(rng) for gene in self.genes)

    def unit_values(self, chromosome: Chromosome) -> tuple[float, ...]:
        """Return how far along its scale each value is, 0 to 1: see :meth:`Gene.unit_value`.

        Examples
        --------
        >>> DEFAULT_SPACE.unit_values((400.0, 320.0, 0.25, 1, 1))[:3]
        (1.0, 1.0, 0.0)
        """
        return tuple(
            gene.unit_value(value) for gene, value in zip(self.genes, chromosome, strict=True)
        )

    def values(self, chromosome: Chromosome) -> dict[str, float]:
        """Return the chromosome's values by the names of the genes."""
        return {gene.name: value for gene, value in zip(self.genes, chromosome, strict=True)}


#: The thesis's ranges (section 5.4).
DEFAULT_SPACE = Space(
    (
        Gene(name="bandwidth_mbps", low=25.0, high=400.0, unit="Mbit/s"),
        Gene(name="rtt_ms", low=10.0, high=320.0, unit="ms"),
        Gene(name="queue_bdp", low=0.25, high=5.0, unit="BDP", decimals=2),
        Gene(name="alpha_flows", low=1, high=5, scale="int-log", unit="flows"),
        Gene(name="beta_flows", low=1, high=5, scale="int-log", unit="flows"),
    )
)
