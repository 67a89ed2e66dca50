# SPDX-License-Identifier: Apache-2.0
"""Distributions of flow sizes: how many bytes a short flow sends.

A distribution is made of pieces in ascending order: power laws, lognormal pieces and measured
points, each between two sizes; so its mean and its quantiles are closed, and a draw is the quantile
of a uniform number.

Where the papers leave room:

- **"caida"** is Nimbus's cross traffic (Goyal et al. 2022, section 7.1): flows of a backbone router
  (CAIDA, 21 January 2016), as six points of their distribution function. These are the ones that
  the paper's first author published with a traffic generator (file ``CAIDA_CDF`` of
  github.com/akshayknarayan/empirical-traffic-gen, 3 September 2017; the same in
  github.com/bundler-project/evaluation), together with what the paper states of the experiment:
  100,000 flows, 48 Mbit/s, a link of 96 Mbit/s and 50 ms with room for 800 packets. Between two
  points that generator spreads sizes evenly. The mean is 21.0 KB, where the text has 22 KB: what
  is drawn varies, that of 100,000 by 2.6 KB. "From 10 KB to 100 MB" are the points; 97.6 % of flows
  are up to 10 KB, which have 23 % of the bytes, and flows above 5 MB have a half.
- **"heavy-tailed"** is what the text alone says of it: sizes from 10 KB to 100 MB with a mean of 22
  KB, 100,000 in an experiment, and flows up to the initial window of ten packets, 15 KB, short.
  Here these are evenly spread from 10 to 15 KB, and those above follow one power law up to 100 MB,
  without that bound just one of 100,000 beyond it. These facts determine both of its parameters:
  9.0 % of flows are above 15 KB, with the tail index 1.034, and they carry 48 % of all bytes.
- **"pareto"** is the simplest one with that mean and those bounds: a single bounded Pareto
  distribution, of index 1.833. Its largest of 100,000 flows is about 6 MB, and elastic flows are
  always there: other traffic than the paper's, to compare with.
- **"web"** stands for RAPID's transfers (Konda and Kaur, section IV-B), which an empirical
  generator of those days made, from data that the paper does not give. These are the sizes of files
  on web servers as Barford and Crovella ("Generating representative web workloads for network and
  server performance evaluation", SIGMETRICS 1998) fitted them: 93 % lognormal, and above 133 KB a
  Pareto tail of index 1.1, here up to 100 MB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import special

from ccbench import _validate
from ccbench._arrays import numbers
from ccbench._validate import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

__all__ = ["SIZES", "FlowSizes", "LogNormal", "Piece", "Points", "PowerLaw", "find"]

_BYTES = Range(1, 2**53)
_MEASURED_BYTES = Range(0, 2**53)
_INDEX = Range(-100, 100)
_SIGMA = Range(0.001, 100)
_WEIGHT = Range(0, 1, low_open=True)
_LOAD = Range(0, 100_000, low_open=True)
_SHARES = Range(0, 1)
#: Sums of weights differ from 1 by rounding only.
_ROUNDING = 1e-9


class Piece(Protocol):
    """A distribution between two sizes."""

    @property
    def low_bytes(self) -> float:
        """The smallest size."""

    @property
    def high_bytes(self) -> float:
        """The largest size."""

    @property
    def mean_bytes(self) -> float:
        """The mean."""

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sizes that these shares of flows do not exceed."""

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows that do not exceed a size."""


@dataclass(frozen=True)
class PowerLaw:
    """Sizes x whose density falls with x to the power of -(1 + `tail_index`), a bounded Pareto.

    Parameters
    ----------
    low_bytes, high_bytes : float
        Bounds; where they are equal, all flows have this size.
    tail_index : float
        0 spreads sizes evenly on a logarithmic axis, -1 on a linear one.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> PowerLaw(10_000, 15_000, -1).mean_bytes
    12500.0
    """

    low_bytes: float
    high_bytes: float
    tail_index: float = 0.0

    def __post_init__(self) -> None:
        number = _validate.number
        low = number("low_bytes", self.low_bytes, _BYTES, example=10_000)
        high = number("high_bytes", self.high_bytes, Range(low, _BYTES.high), example=low)
        index = number("tail_index", self.tail_index, _INDEX, example=1.1)
        names = "low_bytes", "high_bytes", "tail_index"
        for name, value in zip(names, (low, high, index), strict=True):
            object.__setattr__(self, name, value)

    @property
    def mean_bytes(self) -> float:
        """The mean in bytes."""
        ratio = math.log(self.high_bytes / self.low_bytes)
        if ratio == 0:
            return self.low_bytes
        powers = 1 - self.tail_index, -self.tail_index
        first, zeroth = (_integral(power, ratio) for power in powers)
        return self.low_bytes * first / zeroth

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sizes that these shares of flows do not exceed."""
        ratio = math.log(self.high_bytes / self.low_bytes)
        if abs(self.tail_index * ratio) < _ROUNDING:
            return np.asarray(self.low_bytes * np.exp(shares * ratio))
        falls = -np.expm1(-self.tail_index * ratio)
        return np.asarray(self.low_bytes * np.exp(-np.log1p(-shares * falls) / self.tail_index))

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows that do not exceed a size."""
        if size_bytes >= self.high_bytes:
            return 1.0
        if size_bytes <= self.low_bytes:
            return 0.0
        ratio, part = (math.log(x / self.low_bytes) for x in (self.high_bytes, size_bytes))
        return _integral(-self.tail_index, part) / _integral(-self.tail_index, ratio)


@dataclass(frozen=True)
class LogNormal:
    """Sizes whose logarithms are normal, between two bounds.

    Parameters
    ----------
    low_bytes, high_bytes : float
        Bounds, `low_bytes` below `high_bytes`.
    median_bytes : float
        The median without the bounds.
    sigma : float
        Standard deviation of the natural logarithm without the bounds.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> round(LogNormal(1, 1e9, 10_000, 1).mean_bytes)  # times the root of e
    16487
    """

    low_bytes: float
    high_bytes: float
    median_bytes: float
    sigma: float

    def __post_init__(self) -> None:
        number = _validate.number
        low = number("low_bytes", self.low_bytes, _BYTES, example=1)
        above = Range(low, _BYTES.high, low_open=True)
        values = {
            "low_bytes": low,
            "high_bytes": number("high_bytes", self.high_bytes, above, example=133_000),
            "median_bytes": number("median_bytes", self.median_bytes, _BYTES, example=10_000),
            "sigma": number("sigma", self.sigma, _SIGMA, example=1.3),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def mean_bytes(self) -> float:
        """The mean in bytes."""
        normal = NormalDist()
        low, high = self._scores
        shift = self.sigma
        part = normal.cdf(high - shift) - normal.cdf(low - shift)
        whole = normal.cdf(high) - normal.cdf(low)
        return self.median_bytes * math.exp(shift**2 / 2) * part / whole

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sizes that these shares of flows do not exceed."""
        below, up_to = (NormalDist().cdf(score) for score in self._scores)
        scores = special.ndtri(below + shares * (up_to - below))
        sizes = self.median_bytes * np.exp(self.sigma * scores)
        return np.asarray(np.clip(sizes, self.low_bytes, self.high_bytes))

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows that do not exceed a size."""
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
    """Sizes that were measured: points of a distribution function, and evenly spread in between.

    Parameters
    ----------
    points : tuple of (float, float)
        Sizes in bytes, ascending, and the share of flows up to each, not descending; the last is 1.
        As many flows have the first size as its share says.

    Raises
    ------
    InputError
        If a value is out of range or out of order.

    Examples
    --------
    >>> Points(((0, 0), (10_000, 0.9), (100_000, 1))).mean_bytes
    10000.0
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        size, share = -1.0, 0.0
        for i, point in enumerate(self.points):
            above = Range(max(size, _MEASURED_BYTES.low), _MEASURED_BYTES.high, low_open=i > 0)
            size = _validate.number(f"the size of points[{i}]", point[0], above, example=1500)
            within = Range(share, 1)
            share = _validate.number(f"the share of points[{i}]", point[1], within, example=1)
        if share != 1:
            raise _validate.bad("the last share of points", share, "1", "add the largest flows")

    @property
    def low_bytes(self) -> float:
        """The smallest size."""
        return self.points[0][0]

    @property
    def high_bytes(self) -> float:
        """The largest size."""
        return self.points[-1][0]

    @property
    def mean_bytes(self) -> float:
        """The mean in bytes."""
        sizes, shares = self._columns
        middles = np.append(sizes[0], (sizes[1:] + sizes[:-1]) / 2)
        return float(np.diff(shares, prepend=0.0) @ middles)

    def quantile(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sizes that these shares of flows do not exceed."""
        sizes, up_to = self._columns
        return np.interp(shares, up_to, sizes)

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows that do not exceed a size."""
        sizes, up_to = self._columns
        return float(np.interp(size_bytes, sizes, up_to, left=0.0))

    @property
    def _columns(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        table = np.array(self.points, dtype=float)
        return table[:, 0], table[:, 1]


@dataclass(frozen=True)
class FlowSizes:
    """A distribution of flow sizes, piece by piece.

    Parameters
    ----------
    pieces : tuple of (float, Piece)
        The share of flows that each has, and the piece; in ascending order of size, without
        overlap. The shares add up to 1.

    Raises
    ------
    InputError
        If pieces overlap or their shares do not add up to 1.

    Examples
    --------
    >>> sizes = SIZES["heavy-tailed"]
    >>> round(sizes.mean_bytes), round(sizes.share_up_to(15_000), 3)
    (22000, 0.91)
    >>> sizes.quantile([0, 0.5, 0.99, 1]).round(-2).tolist()
    [10000.0, 12700.0, 125500.0, 100000000.0]
    """

    pieces: tuple[tuple[float, Piece], ...]

    def __post_init__(self) -> None:
        total, largest = 0.0, 0.0
        for i, (share, piece) in enumerate(self.pieces):
            total += _validate.number(f"pieces[{i}]", share, _WEIGHT, example=0.5)
            if piece.low_bytes < largest:
                allowed = f"at least {largest:g}, where the piece before it ends"
                name, step = f"pieces[{i}].low_bytes", "sort the pieces"
                raise _validate.bad(name, piece.low_bytes, allowed, step)
            largest = piece.high_bytes
        if abs(total - 1) > _ROUNDING:
            raise _validate.bad("pieces", total, "shares that add up to 1", "correct them")

    @classmethod
    def fixed(cls, size_bytes: float) -> FlowSizes:
        """Return the distribution of flows that all have one size.

        Examples
        --------
        >>> FlowSizes.fixed(20_000).mean_bytes
        20000.0
        """
        size = _validate.number("size_bytes", size_bytes, _BYTES, example=20_000)
        return cls(((1.0, PowerLaw(size, size)),))

    @property
    def low_bytes(self) -> float:
        """The smallest size."""
        return self.pieces[0][1].low_bytes

    @property
    def high_bytes(self) -> float:
        """The largest size."""
        return self.pieces[-1][1].high_bytes

    @property
    def mean_bytes(self) -> float:
        """The mean in bytes."""
        return sum(share * piece.mean_bytes for share, piece in self.pieces)

    def flows_per_s(self, load_mbps: float) -> float:
        """Return how many flows a second offer a load, in Mbit/s of payload.

        Examples
        --------
        The paper's 100,000 flows in 360 s:

        >>> round(360 * SIZES["heavy-tailed"].flows_per_s(48))
        98182
        """
        load = _validate.number("load_mbps", load_mbps, _LOAD, example=48)
        return load * 1e6 / (8 * self.mean_bytes)

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows that do not exceed a size."""
        return sum(share * piece.share_up_to(size_bytes) for share, piece in self.pieces)

    def quantile(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Return the sizes that these shares of flows, 0 to 1, do not exceed.

        Raises
        ------
        InputError
            If a share is out of range.
        """
        wanted = numbers("shares", shares, _SHARES, example=0.5)
        result = np.full(wanted.shape, self.high_bytes)
        below = 0.0
        for share, piece in self.pieces:
            inside = (wanted >= below) & (wanted < below + share)
            result[inside] = piece.quantile(np.clip((wanted[inside] - below) / share, 0, 1))
            below += share
        return result

    def at(self, shares: ArrayLike) -> NDArray[np.int64]:
        """Return the quantiles of these shares in whole bytes, at least 1.

        Examples
        --------
        >>> SIZES["caida"].at([0, 0.488, 0.995]).tolist()
        [1, 5000, 100000]
        """
        return np.maximum(np.rint(self.quantile(shares)), 1).astype(np.int64)

    def sample(self, count: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Draw sizes in whole bytes.

        Examples
        --------
        >>> SIZES["pareto"].sample(3, np.random.default_rng(1)).tolist()
        [14789, 51539, 10887]
        """
        return self.at(random.random(count))


def find(name: str | float) -> FlowSizes:
    """Return a distribution by its name, or of one size in bytes.

    Raises
    ------
    InputError
        If there is none of this name.

    Examples
    --------
    >>> find("web") is SIZES["web"], find(1500).mean_bytes
    (True, 1500.0)
    """
    if not isinstance(name, str):
        return FlowSizes.fixed(_validate.number("sizes", name, _BYTES, example=20_000))
    if name not in SIZES:
        allowed = f"one of {', '.join(SIZES)}, or a number of bytes"
        raise _validate.bad("sizes", name, allowed, _validate.choice_hint(name, SIZES))
    return SIZES[name]


def _integral(power: float, log_ratio: float) -> float:
    """Return the integral of x to the power of (`power` - 1) from 1 to e to the `log_ratio`."""
    return (
        log_ratio if abs(power * log_ratio) < _ROUNDING else math.expm1(power * log_ratio) / power
    )


#: Distributions by name.
SIZES: Mapping[str, FlowSizes] = {
    "heavy-tailed": FlowSizes(
        (
            (1 - 0.09008087978, PowerLaw(10e3, 15e3, -1)),
            (0.09008087978, PowerLaw(15e3, 100e6, 1.03418593041)),
        )
    ),
    "caida": FlowSizes(
        (
            (
                1.0,
                Points(
                    (
                        (0, 0),
                        (10e3, 0.976),
                        (100e3, 0.995),
                        (1e6, 0.999),
                        (5e6, 0.9998),
                        (100e6, 1),
                    )
                ),
            ),
        )
    ),
    "pareto": FlowSizes(((1.0, PowerLaw(10e3, 100e6, 1.83261987563)),)),
    "web": FlowSizes(
        (
            (0.93, LogNormal(1, 133e3, math.exp(9.357), 1.318)),
            (0.07, PowerLaw(133e3, 100e6, 1.1)),
        )
    ),
}
