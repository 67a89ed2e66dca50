# SPDX-License-Identifier: Apache-2.0
"""Throughput of both sides of an experiment over time."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from ccbench.base.figures import Figure
from ccbench.harm.experiment import flow_names
from ccbench.raygen.figures.style import ALPHA_COLOUR, BETA_COLOUR

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.raygen.objective import Case
    from ccbench.raygen.timeline import Timeline

__all__ = ["throughput_figure"]

#: Maximum characters in a line of a title.
_TITLE_COLUMNS = 60


def throughput_figure(experiment: Case, timeline: Timeline, *, title: str) -> Figure:
    """Draw the throughput of both sides over time, and that of beta alone.

    Parameters
    ----------
    experiment : Experiment or Trial
    timeline : Timeline
        Throughput of its runs.
    title : str
        Title, which may be wrapped.

    Returns
    -------
    Figure
        Thick lines are the sums over the flows of a side, thin lines single flows. The dotted line
        is beta alone, the dashed line its mean. Harm was measured over the shaded time.

    Examples
    --------
    >>> from ccbench.raygen.timeline import Timeline
    >>> timeline = Timeline.of(config.maximised, experiment, solo, competing)  # doctest: +SKIP
    >>> figure = throughput_figure(experiment, timeline, title="Worst")  # doctest: +SKIP
    >>> len(figure.axes)  # doctest: +SKIP
    1
    """
    harm = timeline.harm
    figure = Figure(figsize=(5.5, 3.8), layout="constrained")
    axes = figure.subplots()
    # Transparent, for light and dark pages.
    axes.axvspan(harm.from_s, harm.to_s, color="0.5", alpha=0.12, linewidth=0, label="measured")
    alpha_name, beta_name = flow_names(experiment.alpha), flow_names(experiment.beta)
    _draw_side(axes, timeline.alpha, alpha_name, ALPHA_COLOUR)
    if len(timeline.beta.columns):
        _draw_side(axes, timeline.beta, beta_name, BETA_COLOUR)
    alone = timeline.alone.sum(axis=1)
    axes.plot(alone.index, alone, color=BETA_COLOUR, linestyle=":", label=f"{beta_name} alone")
    axes.plot(
        (harm.from_s, harm.to_s),
        (harm.solo_mbps, harm.solo_mbps),
        color=BETA_COLOUR,
        linestyle="--",
        label=f"{beta_name} alone, mean",
    )
    axes.set_title(_wrapped(title), fontsize="medium")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("throughput (Mbit/s)")
    axes.set_xlim(0, experiment.duration_s)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", fontsize="small", ncols=3, frameon=False)
    return figure


def _wrapped(title: str) -> str:
    """Break a title into lines, between the parts that commas separate."""
    parts = (part.replace(" ", "\N{NO-BREAK SPACE}") for part in title.split(", "))
    return fill(", ".join(parts), _TITLE_COLUMNS).replace("\N{NO-BREAK SPACE}", " ")


def _draw_side(axes: Axes, throughput: pd.DataFrame, name: str, colour: str) -> None:
    total = throughput.sum(axis=1)
    axes.plot(total.index, total, color=colour, linewidth=2, label=name)
    if throughput.shape[1] > 1:
        labels = [f"each of {name}", *[None] * (throughput.shape[1] - 1)]
        axes.plot(
            throughput.index, throughput.to_numpy(), color=colour, linewidth=0.6, alpha=0.6,
            label=labels,
        )  # fmt: skip
