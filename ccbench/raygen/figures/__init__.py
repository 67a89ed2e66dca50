# SPDX-License-Identifier: Apache-2.0
"""Figures of a search.

Each function returns a matplotlib ``Figure`` without a window or global state;
:mod:`ccbench.plots` saves it.

Harm is red where alpha takes more than its fair share, and blue where it takes less: two colours
that are safe for colour-blind readers.
"""

from ccbench.raygen.figures.heat_map import (
    check_heat_map,
    heat_map_figure,
    is_trusted,
    predictor_of,
)
from ccbench.raygen.figures.parallel import parallel_figure
from ccbench.raygen.figures.progress import progress_figure, progress_table
from ccbench.raygen.figures.style import quantity_name
from ccbench.raygen.figures.throughput import throughput_figure
from ccbench.raygen.figures.top import TOP, distances_figure, top_figure

__all__ = [
    "TOP",
    "check_heat_map",
    "distances_figure",
    "heat_map_figure",
    "is_trusted",
    "parallel_figure",
    "predictor_of",
    "progress_figure",
    "progress_table",
    "quantity_name",
    "throughput_figure",
    "top_figure",
]
