# SPDX-License-Identifier: Apache-2.0
"""Plots of runs.

Every plot is a matplotlib ``Figure`` without a window or global state. Notebooks display it;
:func:`save` writes it to a file. :func:`draw` draws one or several runs: the kind of plot
(:data:`KINDS`) turns them into panels, which are data, and one function renders panels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from ccbench.plots.files import FORMATS, check_path, save
    from ccbench.plots.first_difference import around_difference
    from ccbench.plots.kinds import BY, KINDS, PlotKind, draw
    from ccbench.plots.overview import throughput_and_queue
    from ccbench.plots.quantities import QUANTITIES, PlottedQuantity

__all__ = [
    "BY",
    "FORMATS",
    "KINDS",
    "QUANTITIES",
    "PlotKind",
    "PlottedQuantity",
    "around_difference",
    "check_path",
    "draw",
    "save",
    "throughput_and_queue",
]

# Imported on first use: commands check the path of a plot before they run, and matplotlib, which
# takes longer to import than many an answer, is only needed to draw.
__getattr__ = lazy_names(
    __name__,
    {
        "BY": "ccbench.plots.kinds",
        "FORMATS": "ccbench.plots.files",
        "KINDS": "ccbench.plots.kinds",
        "QUANTITIES": "ccbench.plots.quantities",
        "PlotKind": "ccbench.plots.kinds",
        "PlottedQuantity": "ccbench.plots.quantities",
        "around_difference": "ccbench.plots.first_difference",
        "check_path": "ccbench.plots.files",
        "draw": "ccbench.plots.kinds",
        "save": "ccbench.plots.files",
        "throughput_and_queue": "ccbench.plots.overview",
    },
)
