# SPDX-License-Identifier: Apache-2.0
"""Figures as data: panels with lines, boxes and clouds of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Values: TypeAlias = npt.NDArray[np.float64]

__all__ = ["Box", "Cloud", "Item", "Line", "Panel"]


@dataclass(frozen=True, eq=False)
class Line:
    """A line.

    Attributes
    ----------
    label : str
        Items of the same label have the same colour, in all panels.
    x, y : ndarray
    is_step : bool
        Whether each value holds until the next x.
    """

    label: str
    x: Values
    y: Values
    is_step: bool = False


@dataclass(frozen=True, eq=False)
class Box:
    """A box from the first to the third quartile of some values, with whiskers to 5 and 95 %."""

    label: str
    values: Values


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points, and the ellipse of one standard deviation around their mean."""

    label: str
    x: Values
    y: Values


Item: TypeAlias = Line | Box | Cloud


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel:
    """Axes with their items.

    Attributes
    ----------
    items : tuple of Line, Box or Cloud
    x, y : str
        Quantities on the axes, with their units.
    x_scale : "linear" or "log"
    is_x_reversed : bool
        Whether x falls to the right, for quantities of which less is better.
    from_zero : bool
        Whether the y axis begins at 0.
    """

    items: tuple[Item, ...]
    x: str
    y: str
    x_scale: Literal["linear", "log"] = "linear"
    is_x_reversed: bool = False
    from_zero: bool = True
