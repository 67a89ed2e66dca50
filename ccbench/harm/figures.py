# SPDX-License-Identifier: Apache-2.0
"""Figures of harm; :func:`ccbench.plots.save` writes them to files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure

if TYPE_CHECKING:
    from ccbench.harm.noise_levels import Sensitivity

__all__ = ["sensitivity_figure"]

#: Horizontal distance of single repetitions from their median, to avoid overlap with the interval.
_OFFSET = 0.12


def sensitivity_figure(result: Sensitivity) -> Figure:
    """Plot harm over the level of noise: medians with intervals, and single repetitions.

    Levels are evenly spaced, because a logarithmic scale does not include 0.

    Examples
    --------
    >>> from ccbench import harm, plots
    >>> result = harm.sensitivity(experiment, (0, 1), repetitions=2)  # doctest: +SKIP
    >>> plots.save(sensitivity_figure(result), "noise.png")  # doctest: +SKIP
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for position, harm in enumerate(result.harms):
        values = harm.headline[1].values
        axes.plot([position + _OFFSET] * len(values), values, "o", color="0.6", markersize=3)
    table = result.table()
    errors = np.nan_to_num([table["harm"] - table["low"], table["high"] - table["harm"]])
    axes.errorbar(table.index, table["harm"], yerr=errors, color="tab:red", marker="o", capsize=4)
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.set_xticks(table.index, [f"{level:g}" for level in result.levels])
    multiplied = replace(result.experiment.path.noise, start_spread_ms=0)
    axes.set_xlabel(f"times the {multiplied.describe()}")
    axes.set_ylabel(result.harms[0].headline[0])
    axes.set_title(result.experiment.describe(), fontsize="medium")
    axes.grid(alpha=0.3)
    return figure
