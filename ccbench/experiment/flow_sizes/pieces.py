# SPDX-License-Identifier: Apache-2.0
"""Pieces of distributions of flow sizes: bounded power laws, truncated lognormals and points."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import special

from ccbench.base import validation
from ccbench.base.checked_fields import check_fields, number, set_field
from ccbench.base.validation import Range

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BYTES", "ROUNDING", "LogNormal", "Piece", "Points", "PowerLaw"]

#: Allowed sizes in bytes.
BYTES = Range(1, 2**53)
#: Tolerance of floating-point comparisons.
ROUNDING = 1e-9

_MEASURED_BYTES = Range(0, 2**53)
_INDEX = Range(-100, 100)
_SIGMA = Range(0.001, 100)


class Piece(Protocol):
    """A distribution between two sizes."""

    @property
    def low_bytes(self) -> float:
        """Smallest size."""

    @property
    def high_bytes(self) -> float:
        """Largest size."""

    @property
    def mean_bytes(self) -> float:
        """Mean size."""

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles in bytes at shares of 0 to 1."""

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows up to a size."""


@dataclass(frozen=True)
class PowerLaw:
    """Bounded Pareto distribution, with a density proportional to x^-(1 + `tail_index`).

    Parameters
    ----------
    low_bytes, high_bytes : float
        Bounds. If they are equal, all flows have this size.
    tail_index : float
        0 gives a log-uniform distribution, -1 a uniform one.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> PowerLaw(10_000, 15_000, -1).mean_bytes
    12500.0
    """

    low_bytes: float = field(metadata=number(BYTES, example=10_000))
    high_bytes: float
    tail_index: float = field(default=0.0, metadata=number(_INDEX, example=1.1))

    def __post_init__(self) -> None:
        check_fields(self)
        low = self.low_bytes
        allowed = Range(low, BYTES.high)
        high = validation.number("high_bytes", self.high_bytes, allowed, example=low)
        set_field(self, "high_bytes", high)

    @property
    def mean_bytes(self) -> float:
        """Mean size."""
        ratio = math.log(self.high_bytes / self.low_bytes)
        if ratio == 0:
            return self.low_bytes
        powers = 1 - self.tail_index, -self.tail_index
        first, zeroth = (_integral(power, ratio) for power in powers)
        return self.low_bytes * first / zeroth

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles in bytes at shares of 0 to 1."""
        ratio = math.log(self.high_bytes / self.low_bytes)
        if abs(self.tail_index * ratio) < ROUNDING:
            return np.asarray(self.low_bytes * np.exp(shares * ratio))
        factor = -np.expm1(-self.tail_index * ratio)
        return np.asarray(self.low_bytes * np.exp(-np.log1p(-shares * factor) / self.tail_index))

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows up to a size."""
        if size_bytes >= self.high_bytes:
            return 1.0
        if size_bytes <= self.low_bytes:
            return 0.0
        ratio, part = (math.log(x / self.low_bytes) for x in (self.high_bytes, size_bytes))
        return _integral(-self.tail_index, part) / _integral(-self.tail_index, ratio)


@dataclass(frozen=True)
class LogNormal:
    """Truncated lognormal distribution.

    Parameters
    ----------
    low_bytes, high_bytes : float
        Bounds, `low_bytes` below `high_bytes`.
    median_bytes : float
        Median before truncation.
    sigma : float
        Standard deviation of the natural logarithm before truncation.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> round(LogNormal(1, 1e9, 10_000, 1).mean_bytes)  # the median times the square root of e
    16487
    """

    low_bytes: float = field(metadata=number(BYTES, example=1))
    high_bytes: float
    median_bytes: float = field(metadata=number(BYTES, example=10_000))
    sigma: float = field(metadata=number(_SIGMA, example=1.3))

    def __post_init__(self) -> None:
        check_fields(self)
        above = Range(self.low_bytes, BYTES.high, low_open=True)
        high = validation.number("high_bytes", self.high_bytes, above, example=133_000)
        set_field(self, "high_bytes", high)

    @property
    def mean_bytes(self) -> float:
        """Mean size."""
        normal = NormalDist()
        low, high = self._scores
        shift = self.sigma
        part = normal.cdf(high - shift) - normal.cdf(low - shift)
        whole = normal.cdf(high) - normal.cdf(low)
        return self.median_bytes * math.exp(shift**2 / 2) * part / whole

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles in bytes at shares of 0 to 1."""
        below, up_to = (NormalDist().cdf(score) for score in self._scores)
        scores = special.ndtri(below + shares * (up_to - below))
        sizes = self.median_bytes * np.exp(self.sigma * scores)
        return np.asarray(np.clip(sizes, self.low_bytes, self.high_bytes))

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows up to a size."""
        below, up_to = (NormalDist().cdf(score) for score in self._scores)
        size = min(max(size_bytes, self.low_bytes), self.high_bytes)
        return (NormalDist().cdf(self._score(size)) - below) / (up_to - below)

    @property
    def _scores(self) -> tuple[float, float]:
        return self._score(self.low_bytes), self._score(self.high_bytes)

    def _score(self, size_bytes: float) -> float:
        return math.log(size_bytes / self.median_bytes) / self.sigma


@dataclass(frozen=True)
class Points:
    """Measured distribution function, interpolated linearly between its points.

    Parameters
    ----------
    points : tuple of (float, float)
        Sizes in bytes, ascending, and the share of flows up to each, not descending; the last share
        is 1. The share of the first point is that of flows of exactly this size.

    Raises
    ------
    InputError
        If a value is out of range or out of order.

    Examples
    --------
    >>> round(Points(((0, 0), (10_000, 0.9), (100_000, 1))).mean_bytes)
    10000
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        size, share = -1.0, 0.0
        for i, point in enumerate(self.points):
            above = Range(max(size, _MEASURED_BYTES.low), _MEASURED_BYTES.high, low_open=i > 0)
            size = validation.number(f"the size of points[{i}]", point[0], above, example=1500)
            within = Range(share, 1)
            share = validation.number(f"the share of points[{i}]", point[1], within, example=1)
        if share != 1:
            raise validation.bad("the last share of points", share, "1", "add the largest flows")

    @property
    def low_bytes(self) -> float:
        """Smallest size."""
        return self.points[0][0]

    @property
    def high_bytes(self) -> float:
        """Largest size."""
        return self.points[-1][0]

    @property
    def mean_bytes(self) -> float:
        """Mean size."""
        sizes, shares = self._columns
        middles = np.append(sizes[0], (sizes[1:] + sizes[:-1]) / 2)
        return float(np.diff(shares, prepend=0.0) @ middles)

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles in bytes at shares of 0 to 1."""
        sizes, up_to = self._columns
        return np.interp(shares, up_to, sizes)

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows up to a size."""
        sizes, up_to = self._columns
        return float(np.interp(size_bytes, sizes, up_to, left=0.0))

    @property
    def _columns(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        table = np.array(self.points, dtype=float)
        return table[:, 0], table[:, 1]


def _integral(power: float, log_ratio: float) -> float:
    """Return the integral of x^(`power` - 1) from 1 to exp(`log_ratio`)."""
    return log_ratio if abs(power * log_ratio) < ROUNDING else math.expm1(power * log_ratio) / power
