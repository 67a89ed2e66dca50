# SPDX-License-Identifier: Apache-2.0
"""Figures of the traces behind a verdict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.figures import Figure
from ccbench.classify.barycentre import barycentre
from ccbench.classify.occupancy import STEP_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from ccbench.classify.setting import Setting
    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.verdict import Verdict

__all__ = ["traces_of_each", "traces_over_each", "traces_over_nearest"]

#: Number of panels side by side.
_COLUMNS = 5

_OBSERVED = {"color": "0.15", "linewidth": 0.7}
_NEAREST = {"color": "tab:orange", "linewidth": 0.7}
_BARYCENTRE = {"color": "tab:blue", "linewidth": 1.0, "linestyle": "--"}
#: Many lines, which are drawn as a bitmap in vector formats.
_OTHERS = {"color": "0.6", "linewidth": 0.4, "alpha": 0.5, "rasterized": True}


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
    *,
    barycentres: bool = False,
) -> Figure:
    """Draw each trace over the nearest trace of each CCA, in order of distance.

    Parameters
    ----------
    names : sequence of str
        Titles of the traces.
    traces : sequence of QueueTrace
    training_set : TrainingSet
    barycentres : bool
        Whether to draw the barycentre of the traces of each CCA too, which needs tslearn.

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
    of_ccas = {
        setting: _barycentres(training_set, setting) if barycentres else {}
        for setting in dict.fromkeys(trace.setting for trace in traces)
    }
    title = "observed (black); of each CCA the nearest trace (orange) with its distance in packets"
    title += ", and barycentre (blue)" if barycentres else ""
    for part, name, trace in zip(parts, names, traces, strict=True):
        classifier = training_set.classifier(trace.setting)
        (distances,), (indices,) = classifier.nearest_of_classes([trace.points])
        part.suptitle(f"{name}, {trace.setting.name}: {title}", fontsize="small")
        panels = part.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False).flat
        for i, axes in zip(np.argsort(distances, kind="stable"), panels, strict=False):
            cca = str(classifier.classes_[i])
            _draw(axes, classifier.traces_[indices[i]], _NEAREST)
            _draw(axes, trace.points, _OBSERVED)
            if cca in of_ccas[trace.setting]:
                _draw(axes, of_ccas[trace.setting][cca], _BARYCENTRE)
            axes.set_title(f"{cca} {distances[i]:.2f}", loc="left", fontsize="small")
        for axes in panels:  # the rest
            axes.remove()
        part.supxlabel("time (s)", fontsize="small")
        part.supylabel("packets", fontsize="small")
    return figure


def traces_of_each(training_set: TrainingSet) -> Figure:
    """Draw the training traces of each CCA and their barycentre, in each setting.

    Parameters
    ----------
    training_set : TrainingSet

    Raises
    ------
    MissingRequirement
        If tslearn is not installed.

    Examples
    --------
    .. code-block:: python

        traces_of_each(TrainingSet.load(PACKAGED)).savefig("training.png")
    """
    rows = math.ceil(len(training_set.ccas) / _COLUMNS)
    settings = training_set.settings
    figure = Figure(figsize=(11, 1.9 * rows * len(settings)), layout="constrained")
    parts = figure.subfigures(len(settings), squeeze=False)[:, 0]
    for part, setting in zip(parts, settings, strict=True):
        title = "training traces of each CCA (grey) and their barycentre (blue)"
        part.suptitle(f"{setting.name}: {title}", fontsize="medium")
        panels = part.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False).flat
        of_ccas = _barycentres(training_set, setting)
        for (cca, average), axes in zip(of_ccas.items(), panels, strict=False):
            for points in _traces_of(training_set, setting, cca):
                _draw(axes, points, _OTHERS)
            _draw(axes, average, _BARYCENTRE)
            axes.set_title(cca, loc="left", fontsize="small")
        for axes in panels:  # the rest
            axes.remove()
        part.supxlabel("time (s)", fontsize="small")
        part.supylabel("packets", fontsize="small")
    return figure


def _barycentres(training_set: TrainingSet, setting: Setting) -> dict[str, npt.NDArray[np.float64]]:
    """Return the barycentre of the traces of each CCA in a setting."""
    ccas = sorted({sample.cca for sample in training_set.samples_of(setting)})
    return {cca: barycentre(_traces_of(training_set, setting, cca)) for cca in ccas}


def _traces_of(
    training_set: TrainingSet, setting: Setting, cca: str
) -> list[npt.NDArray[np.float32]]:
    return [each.points for each in training_set.samples_of(setting) if each.cca == cca]


def _draw(axes: Axes, points: npt.NDArray[np.floating], style: dict[str, Any]) -> None:
    axes.plot(np.arange(len(points)) * STEP_S, points, **style)
