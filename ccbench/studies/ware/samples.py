# SPDX-License-Identifier: Apache-2.0
"""Samples of chapter 2: several traces of each CCA in a setting, as the thesis has them.

The paths of a CCA's samples are the same; the seed of the noise differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ccbench.classify import dtw
from ccbench.classify.implementation import CCAS
from ccbench.classify.occupancy import DURATION_S, STEP_S
from ccbench.classify.setting import Setting
from ccbench.classify.training import VARIATIONS, Variation, scenario, trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.base.figures import Figure
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.study import Rows

__all__ = [
    "PLAIN",
    "SAMPLES",
    "Samples",
    "draw_examples",
    "draw_trace",
    "is_same",
    "per_point",
    "times_s",
]

#: A path as in a laboratory.
PLAIN: Variation = VARIATIONS[0]
#: Samples of each CCA in the thesis's training set.
SAMPLES = 3

_COLUMNS = 5


@dataclass(frozen=True, kw_only=True)
class Samples:
    """Samples of CCAs in settings, and their traces.

    Parameters
    ----------
    settings : tuple of Setting
    ccas : tuple of str
    count : int
        Number of samples of each CCA and setting.
    first_seed : int
        Seed of the first.
    variation : Variation
        Their path.
    duration_s : float
        Length of the traces in seconds.
    quick_ccas : tuple of str
        CCAs of the quick version.
    quick_count : int
        Samples of each in the quick version.

    Examples
    --------
    >>> setting = Setting.named("5bw-85rtt-64q")
    >>> len(Samples(settings=(setting,), count=3).scenarios())
    45
    """

    settings: tuple[Setting, ...]
    ccas: tuple[str, ...] = CCAS
    count: int = SAMPLES
    first_seed: int = 1
    variation: Variation = PLAIN
    duration_s: float = DURATION_S
    quick_ccas: tuple[str, ...] = ("bbr", "cubic")
    quick_count: int = 2

    def scenarios(self, *, quick: bool = False) -> tuple[Scenario, ...]:
        """Return the scenarios; if `quick`, few samples of few CCAs in the first setting."""
        settings, count = (
            (self.settings[:1], self.quick_count) if quick else (self.settings, self.count)
        )
        ccas = self.quick_ccas if quick else self.ccas
        return tuple(
            scenario(
                setting,
                cca,
                self.variation,
                seed=self.first_seed + number,
                duration_s=DURATION_S if quick else self.duration_s,
            )
            for setting, cca, number in product(settings, ccas, range(count))
        )

    def measure(self, run: Run) -> Rows:
        """Return the row of a run: ``cca``, ``setting`` and ``trace`` (packets)."""
        setting = Setting.within(run.scenario.name)
        assert setting is not None
        length_s = min(self.duration_s, run.scenario.duration_s - 1)
        return [
            {
                "cca": run.scenario.flows[0].cca,
                "setting": setting.name,
                "trace": trace(run, self.variation, duration_s=length_s),
            }
        ]


def per_point(traces: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float64]:
    """Return the distances between all traces, in packets per point of a trace.

    Examples
    --------
    >>> traces = [np.float32([0, 2]), np.float32([1, 3])]
    >>> per_point(traces).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return dtw.per_point(dtw.pairwise(traces), traces)


def is_same(ccas: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return for each pair of samples whether both are of one CCA.

    Examples
    --------
    >>> is_same(["bbr", "cubic"]).tolist()
    [[True, False], [False, True]]
    """
    names = np.asarray(ccas)
    same: npt.NDArray[np.bool_] = names[:, None] == names[None, :]
    return same


def times_s(points: int) -> npt.NDArray[np.float64]:
    """Return the times of the points of a trace in seconds.

    Examples
    --------
    >>> times_s(2).tolist()
    [0.0, 0.02]
    """
    return np.arange(points, dtype=np.float64) * STEP_S


def draw_examples(figure: Figure, table: pd.DataFrame) -> None:
    """Draw the first trace of each CCA, one panel each."""
    first = table.groupby("cca", sort=False)["trace"].first()
    columns = min(_COLUMNS, len(first))
    rows = -(-len(first) // columns)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten()
    for axes, (cca, points) in zip(panels, first.items(), strict=False):
        draw_trace(axes, str(cca), points)
    for axes in panels[len(first) :]:
        axes.remove()
    figure.supxlabel("time (s)", fontsize="small")
    figure.supylabel("packets in the queue", fontsize="small")


def draw_trace(axes: Axes, title: str, points: npt.NDArray[np.float32]) -> None:
    """Draw a trace."""
    axes.plot(times_s(len(points)), points, color="#0072b2", linewidth=0.8)
    axes.set_title(title, fontsize="small")
    axes.tick_params(labelsize="x-small")
