# SPDX-License-Identifier: Apache-2.0
"""Pictures of what a verdict stands on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ccbench.classify.occupancy import STEP_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.verdict import Verdict

__all__ = ["traces_over_nearest"]


def traces_over_nearest(
    traces: Sequence[tuple[Setting, npt.ArrayLike]],
    verdict: Verdict,
    known: TrainingSet,
    *,
    title: str = "",
) -> Figure:
    """Each trace over its nearest one of the training set.

    Parameters
    ----------
    traces : sequence of (Setting, array_like of shape (n_points,))
        The traces.
    verdict : Verdict
        What :func:`~ccbench.classify.verdict.judge` says of them.
    known : TrainingSet
        What they were compared with.
    title : str
        Whose traces these are.

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> from ccbench.classify.verdict import judge
    >>> known = TrainingSet.load(PACKAGED)
    >>> traces = [(known.settings[0], known.samples[0].trace)]
    >>> len(traces_over_nearest(traces, judge(traces, known), known).axes)
    1
    """
    figure = Figure(figsize=(9, 0.6 + 1.9 * len(traces)), layout="constrained")
    panels = figure.subplots(len(traces), squeeze=False)[:, 0]
    for axes, (setting, trace), said in zip(panels, traces, verdict.traces, strict=True):
        classifier = known.classifier(setting)
        _, ((nearest,),) = classifier.kneighbors([trace], 1)
        for points, look in (
            (
                classifier.traces_[nearest],
                {"color": "tab:orange", "label": f"nearest: {said.nearest}"},
            ),
            (np.asarray(trace), {"color": "0.15", "label": "observed"}),
        ):
            axes.plot(np.arange(len(points)) * STEP_S, points, linewidth=0.9, **look)
        far = f"distance {said.distance:.2f}, limit {said.threshold:.2f}"
        axes.set_title(f"{setting.name}: {said.label} ({far})", loc="left", fontsize="small")
        axes.set_ylim(0, setting.queue_packets * 1.08)
        axes.set_xlim(0, len(np.asarray(trace)) * STEP_S)
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
