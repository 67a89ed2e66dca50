# SPDX-License-Identifier: Apache-2.0
"""Piecewise distribution of flow sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import numbers
from ccbench.base.validation import RATE_MBPS, Range
from ccbench.experiment.flow_sizes.pieces import BYTES, ROUNDING, PowerLaw

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ccbench.experiment.flow_sizes.pieces import Piece

__all__ = ["FlowSizes"]

_WEIGHT = Range(0, 1, low_open=True)
_LOAD = Range(0, RATE_MBPS.high, low_open=True)
_SHARES = Range(0, 1)


@dataclass(frozen=True)
class FlowSizes:
    """A piecewise distribution of flow sizes.

    Parameters
    ----------
    pieces : tuple of (float, Piece)
        Share of flows and distribution of each piece, in ascending order of size and without
        overlap. The shares add up to 1.

    Raises
    ------
    InputError
        If pieces overlap or their shares do not add up to 1.

    Examples
    --------
    >>> from ccbench.experiment.flow_sizes import SIZES
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
            total += validation.number(f"pieces[{i}]", share, _WEIGHT, example=0.5)
            if piece.low_bytes < largest:
                allowed = f"at least {largest:g}, the end of the previous piece"
                name, step = f"pieces[{i}].low_bytes", "sort the pieces"
                raise validation.bad(name, piece.low_bytes, allowed, step)
            largest = piece.high_bytes
        if abs(total - 1) > ROUNDING:
            raise validation.bad("pieces", total, "shares that add up to 1", "correct them")

    @classmethod
    def fixed(cls, size_bytes: float) -> FlowSizes:
        """Return the distribution of flows of a single size.

        Examples
        --------
        >>> FlowSizes.fixed(20_000).mean_bytes
        20000.0
        """
        size = validation.number("size_bytes", size_bytes, BYTES, example=20_000)
        return cls(((1.0, PowerLaw(size, size)),))

    @property
    def low_bytes(self) -> float:
        """Smallest size."""
        return self.pieces[0][1].low_bytes

    @property
    def high_bytes(self) -> float:
        """Largest size."""
        return self.pieces[-1][1].high_bytes

    @property
    def mean_bytes(self) -> float:
        """Mean size."""
        return sum(share * piece.mean_bytes for share, piece in self.pieces)

    def flows_per_s(self, load_mbps: float) -> float:
        """Return the arrival rate of flows that offer a load in Mbit/s of payload.

        Examples
        --------
        Nimbus's 100,000 flows in 360 s:

        >>> from ccbench.experiment.flow_sizes import SIZES
        >>> round(360 * SIZES["heavy-tailed"].flows_per_s(48))
        98182
        """
        load = validation.number("load_mbps", load_mbps, _LOAD, example=48)
        return load * 1e6 / (8 * self.mean_bytes)

    def share_up_to(self, size_bytes: float) -> float:
        """Return the share of flows up to a size."""
        return sum(share * piece.share_up_to(size_bytes) for share, piece in self.pieces)

    def quantile(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Return the quantiles in bytes at shares of 0 to 1.

        Raises
        ------
        InputError
            If a share is out of range.
        """
        levels = numbers("shares", shares, _SHARES, example=0.5)
        result = np.full(levels.shape, self.high_bytes)
        below = 0.0
        for share, piece in self.pieces:
            inside = (levels >= below) & (levels < below + share)
            result[inside] = piece.quantile(np.clip((levels[inside] - below) / share, 0, 1))
            below += share
        return result

    def at(self, shares: ArrayLike) -> NDArray[np.int64]:
        """Return the quantiles in whole bytes, at least 1.

        Examples
        --------
        >>> from ccbench.experiment.flow_sizes import SIZES
        >>> SIZES["caida"].at([0, 0.488, 0.995]).tolist()
        [1, 5000, 100000]
        """
        return np.maximum(np.rint(self.quantile(shares)), 1).astype(np.int64)

    def sample(self, count: int, random: np.random.Generator) -> NDArray[np.int64]:
        """Draw sizes in whole bytes.

        Examples
        --------
        >>> from ccbench.experiment.flow_sizes import SIZES
        >>> SIZES["pareto"].sample(3, np.random.default_rng(1)).tolist()
        [14789, 51539, 10887]
        """
        return self.at(random.random(count))
