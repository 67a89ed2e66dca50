# SPDX-License-Identifier: Apache-2.0
"""Rules that describe a set of scenarios."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ccbench.raygen.gene import Choice, Number, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from ccbench.raygen.gene import Gene

__all__ = ["Between", "Condition", "OneOf", "Side", "spanning"]

#: Side on which a number is bounded.
Side: TypeAlias = Literal["low", "high"]

#: Phrase for each quantity; its values replace the unnamed braces.
_PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "bandwidth_mbps": "link of {} Mbit/s",
        "trace": "link {}",
        "rtt_ms": "RTT of {} ms",
        "queue_bdp": "queue of {} BDP",
        "queue_packets": "queue of {} packets",
        "alpha_flows": "{} {alpha} flows",
        "beta_flows": "{} {beta} flows",
        "alpha_start_s": "{alpha} starting {} s into the run",
        "beta_start_s": "{beta} starting {} s into the run",
        "alpha_rtt_ratio": "RTT of {alpha} {} times that of {beta}",
        "loss": "random loss of {} %",
        "qdisc": "queueing discipline {}",
        "workload": "{} {beta} flows",
    }
)
#: Significant digits of bounds; more would suggest a precision that was not measured.
_DIGITS = 2


class Condition(ABC):
    """A condition on the values of one gene.

    Attributes
    ----------
    gene : Gene
    """

    gene: Gene

    @abstractmethod
    def holds(self, table: pd.DataFrame) -> pd.Series[bool]:
        """Return for each row of a table whether it satisfies the condition."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the condition as a dictionary of JSON-able values."""

    def words(self, alpha: str = "alpha", beta: str = "beta") -> str:
        """Return the condition in words.

        Parameters
        ----------
        alpha, beta : str
            Names of the two CCAs.
        """
        values = self._values()
        usual = f"{self.gene.name} of {{}} {self.gene.unit}".rstrip()
        phrase = _PHRASES.get(self.gene.name, usual).format(values, alpha=alpha, beta=beta)
        return phrase.removesuffix("s") if phrase.endswith(" flows") and values == "1" else phrase

    @abstractmethod
    def _values(self) -> str:
        """Return the values in words, without their unit."""

    def _shown(self, value: Value) -> str:
        if isinstance(value, str):
            return value
        return f"{value * 100 if self.gene.name == 'loss' else value:g}"


@dataclass(frozen=True, kw_only=True)
class Between(Condition):
    """A number is from `low` to `high`, both included.

    Parameters
    ----------
    gene : Number
    low, high : float
        Bounds; those of the gene's range on an unbounded side.

    Examples
    --------
    >>> Between(gene=Number(name="rtt_ms", low=10, high=320), low=140.0, high=320.0).words()
    'RTT of at least 140 ms'
    >>> flows = Number(name="alpha_flows", low=1, high=5)
    >>> Between(gene=flows, low=1, high=2).words(alpha="bbr")
    '1 or 2 bbr flows'
    """

    gene: Number
    low: float
    high: float

    def holds(self, table: pd.DataFrame) -> pd.Series[bool]:
        """Return for each row of a table whether its value is in the range."""
        return table[self.gene.name].between(self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the range as a dictionary of JSON-able values."""
        return {"gene": self.gene.name, "low": self.low, "high": self.high}

    def _values(self) -> str:
        low, high = self._shown(self.low), self._shown(self.high)
        if self.low == self.high:
            return low
        if isinstance(self.low, int) and self.high == self.low + 1:
            return f"{low} or {high}"
        if self.high == self.gene.high:
            return f"at least {low}"
        if self.low == self.gene.low:
            return f"at most {high}"
        return f"{low} to {high}"


@dataclass(frozen=True, kw_only=True)
class OneOf(Condition):
    """A choice is one of `values`.

    Parameters
    ----------
    gene : Choice
    values : tuple of str or float
        Values in the order of the gene.

    Examples
    --------
    >>> qdisc = Choice(name="qdisc", values=("droptail", "codel", "pie"))
    >>> OneOf(gene=qdisc, values=("codel", "pie")).words()
    'queueing discipline codel or pie'
    """

    gene: Choice
    values: tuple[Value, ...]

    def holds(self, table: pd.DataFrame) -> pd.Series[bool]:
        """Return for each row of a table whether its value is one of these."""
        return table[self.gene.name].isin(self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary of JSON-able values."""
        return {"gene": self.gene.name, "values": list(self.values)}

    def _values(self) -> str:
        *most, last = map(self._shown, self.values)
        return f"{', '.join(most)} or {last}" if most else last


def spanning(gene: Gene, values: Sequence[Value], sides: Collection[Side]) -> Condition | None:
    """Return the narrowest condition that `values` satisfy; None if all values of the gene do.

    Parameters
    ----------
    gene : Gene
    values : sequence
        Values of some scenarios; at least one.
    sides : collection of {"low", "high"}
        Sides on which a number is bounded. Bounds are rounded outwards to two digits.

    Examples
    --------
    >>> rtt = Number(name="rtt_ms", low=10, high=320)
    >>> spanning(rtt, [143.2, 151.7], {"low"}).to_dict()
    {'gene': 'rtt_ms', 'low': 140.0, 'high': 320.0}
    """
    if isinstance(gene, Choice):
        present = tuple(value for value in gene.values if value in values)
        return OneOf(gene=gene, values=present) if len(present) < gene.size else None
    assert isinstance(gene, Number)
    low = _outwards(min(values), ROUND_FLOOR) if "low" in sides else gene.low
    high = _outwards(max(values), ROUND_CEILING) if "high" in sides else gene.high
    number = type(gene.low)  # whole numbers remain whole
    low, high = number(max(low, gene.low)), number(min(high, gene.high))
    if (low, high) == (gene.low, gene.high):
        return None
    return Between(gene=gene, low=low, high=high)


def _outwards(value: Any, rounding: str) -> float:
    return float(Context(prec=_DIGITS, rounding=rounding).create_decimal(repr(float(value))))
