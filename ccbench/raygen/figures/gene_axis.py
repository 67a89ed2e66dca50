# SPDX-License-Identifier: Apache-2.0
"""A gene as an axis of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator

from ccbench.raygen.gene import Number, shown
from ccbench.raygen.quantities import NUMBERS

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.raygen.gene import Gene, Value

__all__ = ["GeneAxis"]

_Array: TypeAlias = "npt.NDArray[np.float64]"

#: Cells of a heat map along the axis of a gene with a range.
_CELLS = 24
#: Whole numbers that are no more than this have a cell each.
_MOST_CELLS = 20


class GeneAxis:
    """An axis from 0 to 1 along the scale of a gene.

    A gene with a range has it divided into equal parts of its scale. A choice, or a few whole
    numbers, has a part for each value.
    """

    def __init__(self, gene: Gene) -> None:
        self.gene = gene
        self._single: tuple[Value, ...] | None = None
        if not isinstance(gene, Number) or (NUMBERS[gene.name].whole and gene.size <= _MOST_CELLS):
            self._single = gene.levels(gene.size)
        count = _CELLS if self._single is None else len(self._single)
        #: The middles of its cells.
        self.centres: _Array = (np.arange(count) + 0.5) / count

    def cells(self) -> list[Value]:
        """Return the value in the middle of each cell."""
        if self._single is not None:
            return list(self._single)
        return [self.gene.at(float(centre)) for centre in self.centres]

    def places(self, table: pd.DataFrame) -> _Array:
        """Return where the experiments of a table lie.

        Within the cell of a single value they are spread, or they would hide each other.
        """
        values: list[Value] = table[self.gene.name].tolist()
        if self._single is None:
            return np.array([self.gene.coordinates(value)[0] for value in values])
        # Multiples of the golden ratio spread evenly, however many they are.
        spread = (table["number"].to_numpy() * 0.6180339887 % 1 - 0.5) * 0.7
        centres = np.array([self.centres[self._single.index(value)] for value in values])
        return centres + spread / len(self._single)

    def ticks(self) -> tuple[list[float], list[str]]:
        """Return places and labels of round values."""
        if self._single is not None or not isinstance(self.gene, Number):
            return list(self.centres), [shown(value) for value in self._single or ()]
        low, high = self.gene.low, self.gene.high
        locator = LogLocator(subs=(1, 2, 5)) if self.gene.scale == "log" else MaxNLocator(5)
        places = {low: 0.0, high: 1.0}
        for value in map(float, locator.tick_values(low, high)):
            if low < value < high:
                (place,) = self.gene.coordinates(value)
                if min(place, 1 - place) > 0.1:  # noqa: PLR2004 - or its label meets that of an end
                    places[value] = place
        return list(places.values()), [shown(value) for value in places]
