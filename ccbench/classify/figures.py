# SPDX-License-Identifier: Apache-2.0
"""Figures of the traces behind a verdict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.classify.occupancy import STEP_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.verdict import Verdict

__all__ = ["traces_over_each", "traces_over_nearest"]

#: Number of panels side by side.
_COLUMNS = 5


def traces_over_nearest(
    traces: Sequence[QueueTrace],
    verdict: Verdict,
    training_set: TrainingSet,
    *,
    title: str = "",
) -> Figure:
    """Draw each trace over the nearest trace of the training set.

    Parameters
    ----------
    traces : sequence of QueueTrace
    verdict : Verdict
        The verdict of :func:`~ccbench.classify.verdict.judge` on the traces.
    training_set : TrainingSet
        The training set of the verdict.
    title : str

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> from ccbench.classify.verdict import judge
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> traces = training_set.samples[:1]
    >>> len(traces_over_nearest(traces, judge(traces, training_set), training_set).axes)
    1
    """
    figure = Figure(figsize=(9, 0.6 + 1.9 * len(traces)), layout="constrained")
    panels = figure.subplots(len(traces), squeeze=False)[:, 0]
    for axes, trace, vote in zip(panels, traces, verdict.traces, strict=True):
        title = f"{trace.setting.name}: {vote.label}"
        if vote.threshold is not None:
            classifier = training_set.classifier(trace.setting)
            _, ((nearest,),) = classifier.kneighbors([trace.points], 1)
            points = classifier.traces_[nearest]
            times_s = np.arange(len(points)) * STEP_S
            label = f"nearest: {vote.nearest}"
            axes.plot(times_s, points, linewidth=0.9, color="tab:orange", label=label)
            title += f" (distance {vote.distance:.2f}, limit {vote.threshold:.2f})"
        times_s = np.arange(len(trace.points)) * STEP_S
        axes.plot(times_s, trace.points, linewidth=0.9, color="0.15", label="observed")
        axes.set_title(title, loc="left", fontsize="small")
        axes.set_ylim(0, trace.setting.queue_packets * 1.08)
        axes.set_xlim(0, len(trace.points) * STEP_S)
        axes.set_ylabel("packets")
        axes.grid(alpha=0.3)
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.2,
            ncols=2,
            fontsize="x-small",
            frameon=False,
        )
    panels[-1].set_xlabel("time (s)")
    if title:
        figure.suptitle(title)
    return figure


def traces_over_each(
    names: Sequence[str],
    traces: Sequence[QueueTrace],
    training_set: TrainingSet,
) -> Figure:
    """Draw each trace over the nearest trace of each CCA, in order of distance.

    Parameters
    ----------
    names : sequence of str
        Titles of the traces.
    traces : sequence of QueueTrace
    training_set : TrainingSet

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> traces = training_set.samples[:1]
    >>> sum(len(part.axes) for part in traces_over_each(["a"], traces, training_set).subfigs)
    16
    """
    rows = math.ceil(len(training_set.ccas) / _COLUMNS)
    figure = Figure(figsize=(11, 1.9 * rows * len(traces)), layout="constrained")
    parts = figure.subfigures(len(traces), squeeze=False)[:, 0]
    for part, name, trace in zip(parts, names, traces, strict=True):
        classifier = training_set.classifier(trace.setting)
        (distances,), (indices,) = classifier.nearest_of_classes([trace.points])
        title = "observed (black), and the nearest trace of each CCA with its distance in packets"
        part.suptitle(f"{name}, {trace.setting.name}: {title}", fontsize="medium")
        panels = part.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False).flat
        for cca, axes in zip(np.argsort(distances, kind="stable"), panels, strict=False):
            nearest = classifier.traces_[indices[cca]]
            for points, colour in ((nearest, "tab:orange"), (trace.points, "0.15")):
                axes.plot(np.arange(len(points)) * STEP_S, points, linewidth=0.7, color=colour)
            label = f"{classifier.classes_[cca]} {distances[cca]:.2f}"
            axes.set_title(label, loc="left", fontsize="small")
        for axes in panels:  # the rest
            axes.remove()
        part.supxlabel("time (s)", fontsize="small")
        part.supylabel("packets", fontsize="small")
    return figure
