# SPDX-License-Identifier: Apache-2.0
"""Figure of the iterations of Algorithm 1, as Figure 5.8 of Ware's thesis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.figures import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ccbench.convergence.algorithm import Step
    from ccbench.convergence.times import FlowConvergence

__all__ = ["convergence_figure"]


def convergence_figure(flow: FlowConvergence) -> Figure:
    """Plot the iterations of Algorithm 1 on one flow, side by side.

    Parameters
    ----------
    flow : FlowConvergence
        A flow of a :class:`~ccbench.convergence.Convergence`.

    Returns
    -------
    Figure
        One panel per iteration: the rolling deviation in Mbit/s over the time of the windows in
        seconds, the possible convergence point, the validation breakpoint, and the mean deviation
        on each side of it.

    Raises
    ------
    InputError
        If the flow's trace is too short for an iteration.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from ccbench.convergence import Convergence
    >>> swings = np.where(np.arange(180) % 2, 4.0, 6.0)
    >>> throughput = pd.DataFrame({0: swings}, index=np.arange(1.0, 181.0))
    >>> len(convergence_figure(Convergence.of(throughput).flows[0]).axes)
    1
    """
    count = len(flow.steps)
    if count == 0:
        allowed, step = "1 or more", "run for more than a window and two shortest parts"
        raise validation.bad("iterations of Algorithm 1", count, allowed, step)
    figure = Figure(figsize=(max(5.0, 3.2 * count), 3.6), layout="constrained")
    panels = figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0]
    for number, (axes, step_) in enumerate(zip(panels, flow.steps, strict=True), start=1):
        _draw(axes, flow, step_)
        verdict = "converged" if step_.converged else "continues"
        axes.set_title(f"iteration {number}: {verdict}", fontsize="medium")
    panels[0].set_ylabel("deviation over a window (Mbit/s)")
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=3,
        fontsize="small",
        frameon=False,
    )
    return figure


def _draw(axes: Axes, flow: FlowConvergence, step: Step) -> None:
    times_s = flow.deviation.index
    start_s, breakpoint_s = times_s[step.start], times_s[step.breakpoint]
    axes.plot(times_s, flow.deviation, color="0.35", label="deviation")
    axes.axvline(start_s, color="tab:green", label="convergence point")
    axes.axvline(breakpoint_s, color="tab:red", linestyle="--", label="validation breakpoint")
    left, right = f"left mean {step.left_mean:.2f}", f"right mean {step.right_mean:.2f}"
    axes.hlines(step.left_mean, start_s, breakpoint_s, color="tab:blue", label="left mean")
    axes.hlines(step.right_mean, breakpoint_s, times_s[-1], color="tab:orange", label="right mean")
    axes.set_xlabel(f"time (s)\n{left}, {right}", fontsize="small")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
