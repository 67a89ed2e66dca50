# SPDX-License-Identifier: Apache-2.0
"""Plots of runs.

Every plot is a matplotlib ``Figure`` without a window or global state. Notebooks display it;
:func:`save` writes it to a file. :func:`draw` draws one or several runs: the kind of plot
(:data:`KINDS`) turns them into panels, which are data, and one function renders panels.
"""

from ccbench.plots.files import FORMATS, check_path, save
from ccbench.plots.first_difference import around_difference
from ccbench.plots.kinds import BY, KINDS, Kind, draw
from ccbench.plots.overview import throughput_and_queue
from ccbench.plots.quantities import QUANTITIES, Quantity

__all__ = [
    "BY",
    "FORMATS",
    "KINDS",
    "QUANTITIES",
    "Kind",
    "Quantity",
    "around_difference",
    "check_path",
    "draw",
    "save",
    "throughput_and_queue",
]
