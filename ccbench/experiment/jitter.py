# SPDX-License-Identifier: Apache-2.0
"""Jitter of single packets after a bottleneck, as netem adds it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

from ccbench.base import number_tables, validation
from ccbench.base.checked_fields import (
    check_exactly_one,
    check_fields,
    checked,
    document_form,
    number,
)
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["DISTRIBUTIONS", "QUANTILES", "Jitter"]

#: Names of netem's distributions; the first is the default.
DISTRIBUTIONS = ("uniform", "normal", "pareto")

#: Number of different delays of a distribution, as in ``kernel_modules/link/reorder.c``.
QUANTILES = 2**14

_DELAY = Range(0, 10_000)
_MOST_DELAYS = 1_000_000

#: Shape of the Pareto distribution, as in netem, and its mean and standard deviation from 1 on.
_SHAPE = 3
_PARETO_MEAN = _SHAPE / (_SHAPE - 1)
_PARETO_DEVIATION = math.sqrt(_SHAPE / (_SHAPE - 2)) / (_SHAPE - 1)


def _delays(name: str, value: object) -> tuple[float, ...]:
    """Check recorded delays; their order has no meaning."""
    if value == ():
        return ()
    step = f"write for example {name} = [2, 2.5, 11]"
    several = validation.several(name, value, "a list of delays", step)
    if not 1 <= len(several) <= _MOST_DELAYS:
        raise validation.bad(name, len(several), f"1 to {_MOST_DELAYS} delays", step)
    delays = (
        validation.number(f"{name}[{i}]", delay, _DELAY, example=2)
        for i, delay in enumerate(several)
    )
    return tuple(sorted(delays))


def _read_delays(_: str, value: object, base_dir: Path) -> object:
    return number_tables.column(value, base_dir, "delays", "delay_ms", float)


@dataclass(frozen=True, kw_only=True)
class Jitter:
    """Additional delays of packets after a bottleneck, at random, so that they are reordered.

    Every packet has a delay of its own, and packets arrive in the order of their times.

    Parameters
    ----------
    delay_ms : float, optional
        Mean of the additional delay in milliseconds, 0 to 10,000; required with `jitter_ms`.
    jitter_ms : float, optional
        Variation of the delay. With ``"uniform"``, delays are within this of `delay_ms`; of the
        other distributions it is the standard deviation. Shorter delays than 0 are 0. Exactly one
        of `jitter_ms` and `delays_ms` is required.
    distribution : str
        ``"uniform"``, ``"normal"`` or ``"pareto"`` (of shape 3, as in netem).
    delays_ms : tuple of float
        Recorded delays, 1 to 1,000,000, of which each is as probable as the others. In TOML a list,
        or the name of a CSV file with the column ``delay_ms``.
    correlation : float
        Correlation of successive packets, of any flow, 0 or more and below 1: that of a normal
        process whose values are mapped to the distribution, so that the distribution remains.

    Raises
    ------
    InputError
        If a setting is out of range, missing, or not allowed together with another one.

    Examples
    --------
    >>> round(Jitter(delay_ms=20, jitter_ms=5, distribution="normal").quantile_ms(0.975), 2)
    29.8
    >>> Jitter(delays_ms=(12, 3, 3)).quantile_ms(0.5)
    3.0
    """

    example: ClassVar[str] = "{delay_ms = 10, jitter_ms = 3}"

    delay_ms: float | None = field(default=None, metadata=number(_DELAY, example=10, optional=True))
    jitter_ms: float | None = field(default=None, metadata=number(_DELAY, example=3, optional=True))
    distribution: str = DISTRIBUTIONS[0]
    delays_ms: tuple[float, ...] = field(
        default=(), metadata=checked(_delays) | document_form(read=_read_delays)
    )
    correlation: float = field(
        default=0.0, metadata=number(Range(0, 1, high_open=True), example=0.25)
    )

    def __post_init__(self) -> None:
        check_fields(self)
        validation.one_of("distribution", self.distribution, DISTRIBUTIONS)
        if not self.delays_ms:
            check_exactly_one(self, "jitter_ms", example="jitter_ms = 3, or delays_ms = [2, 11]")
            check_exactly_one(self, "delay_ms", example="delay_ms = 10")
            return
        for name, default in (("delay_ms", None), ("jitter_ms", None), ("distribution", "uniform")):
            if (value := getattr(self, name)) != default:
                raise validation.bad(name, value, "left out with delays_ms", "remove it")

    def quantile_ms(self, share: float) -> float:
        """Return the delay that a share of the packets, above 0 and below 1, does not exceed."""
        if self.delays_ms:
            return self.delays_ms[int(share * len(self.delays_ms))]
        assert self.delay_ms is not None and self.jitter_ms is not None  # noqa: PT018 - both needed
        return max(0.0, self.delay_ms + self.jitter_ms * _deviation(self.distribution, share))

    @property
    def quantiles_ms(self) -> Sequence[float]:
        """Delays of equal probability, ascending: as many as in netem's largest distribution."""
        return [self.quantile_ms((i + 0.5) / QUANTILES) for i in range(QUANTILES)]

    @property
    def longest_ms(self) -> float:
        """The last of `quantiles_ms`, longer than any other delay."""
        return self.quantile_ms(1 - 0.5 / QUANTILES)


def _deviation(distribution: str, share: float) -> float:
    """Return the quantile of a distribution in units of its variation."""
    if distribution == "uniform":
        return 2 * share - 1
    if distribution == "normal":
        return NormalDist().inv_cdf(share)
    return (math.pow(1 - share, -1 / _SHAPE) - _PARETO_MEAN) / _PARETO_DEVIATION
