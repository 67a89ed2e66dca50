# SPDX-License-Identifier: Apache-2.0
"""Axis of a figure along a gene."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator

from ccbench.raygen.gene import Number, shown
from ccbench.raygen.quantities import quantity_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.raygen.gene import Gene, Value

__all__ = ["GeneAxis"]

_Array: TypeAlias = "npt.NDArray[np.float64]"

#: Number of cells of a heat map along a gene with a range.
_CELLS = 24
#: Maximum number of whole numbers with a cell each.
_MAX_CELLS = 20


class GeneAxis:
    """An axis from 0 to 1 along the scale of a gene.

    The scale of a range is divided into equal cells. A choice, or a gene of few whole numbers, has
    a cell for each value.
    """

    def __init__(self, gene: Gene) -> None:
        self.gene = gene
        self._single: tuple[Value, ...] | None = None
        if not isinstance(gene, Number) or (
            quantity_of(gene.name).whole and gene.size <= _MAX_CELLS
        ):
            self._single = gene.levels(gene.size)
        count = _CELLS if self._single is None else len(self._single)
        #: Centres of the cells.
        self.centres: _Array = (np.arange(count) + 0.5) / count

    def cells(self) -> list[Value]:
        """Return the value at the centre of each cell."""
        if self._single is not None:
            return list(self._single)
        return [self.gene.at(float(centre)) for centre in self.centres]

    def positions(self, table: pd.DataFrame) -> _Array:
        """Return the positions of the experiments in a table.

        Within the cell of a single value, they are spread to avoid overlaps.
        """
        values: list[Value] = table[self.gene.name].tolist()
        if self._single is None:
            return np.array([self.gene.coordinates(value)[0] for value in values])
        # Multiples of the golden ratio modulo 1 are evenly spread for any number of points.
        spread = (table["number"].to_numpy() * 0.6180339887 % 1 - 0.5) * 0.7
        centres = np.array([self.centres[self._single.index(value)] for value in values])
        return centres + spread / len(self._single)

    def ticks(self) -> tuple[list[float], list[str]]:
        """Return positions and labels of round values."""
        if self._single is not None or not isinstance(self.gene, Number):
            return list(self.centres), [shown(value) for value in self._single or ()]
        low, high = self.gene.low, self.gene.high
        locator = LogLocator(subs=(1, 2, 5)) if self.gene.scale == "log" else MaxNLocator(5)
        positions = {low: 0.0, high: 1.0}
        for value in map(float, locator.tick_values(low, high)):
            if low < value < high:
                (position,) = self.gene.coordinates(value)
                if min(position, 1 - position) > 0.1:  # noqa: PLR2004 - labels must not overlap
                    positions[value] = position
        return list(positions.values()), [shown(value) for value in positions]
