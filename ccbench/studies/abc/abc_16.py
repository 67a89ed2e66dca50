# SPDX-License-Identifier: Apache-2.0
"""ABC and others over Wi-Fi whose MCS index is a Brownian motion (Goyal et al. 2020, Figure 16).

The link and the schemes are those of Figure 9 with one user (:mod:`ccbench.studies.abc.wifi`). The
MCS index changes every two seconds and stays between 3 and 7, as stated in appendix D.

Choices left open by the paper: the motion begins in the middle and is reflected at both ends; its
steps have a standard deviation of 1; the index is the nearest whole number. Each of three runs has
a motion of its own, which is the same for all schemes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.base.random_streams import stream
from ccbench.studies.abc.tradeoff import draw_tradeoff
from ccbench.studies.abc.wifi import (
    COMPARED,
    DURATION_S,
    MCS_MBPS,
    SEEDS,
    STEP_S,
    beaten,
    measure,
    scenario,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly
from ccbench.studies.study import Findings, Study

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.experiment.scenario import Scenario

_LOWEST, _HIGHEST = 3, 7
_QUICK_S = 8.0
_NONE = exactly(0, "caption of Figure 16", text="none: ABC outperforms all other schemes")


def mcs_indices(seed: int, count: int) -> tuple[int, ...]:
    """Return the MCS indices of a run.

    Examples
    --------
    >>> indices = mcs_indices(1, 1000)
    >>> min(indices), max(indices)
    (3, 7)
    """
    middle, span = (_LOWEST + _HIGHEST) / 2, _HIGHEST - _LOWEST
    moved = middle - _LOWEST + np.cumsum([0, *stream(seed, "MCS index").normal(size=count - 1)])
    # Reflected at both ends: a triangle wave of the position.
    within = span - np.abs(moved % (2 * span) - span)
    return tuple(np.rint(_LOWEST + within).astype(int).tolist())


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    seeds, duration_s = (SEEDS[:1], _QUICK_S) if quick else (SEEDS, DURATION_S)
    steps = int(np.ceil(DURATION_S / STEP_S))
    return tuple(
        scenario(
            scheme,
            [MCS_MBPS[index] for index in mcs_indices(seed, steps)],
            users=1,
            seed=seed,
            duration_s=duration_s,
        )
        for scheme in COMPARED
        for seed in seeds
    )


def _conclude(table: pd.DataFrame) -> Findings:
    means = table.groupby("scheme", sort=False)[["throughput_mbps", "p95_ms"]].mean()
    figure = Figure(figsize=(6, 4), layout="constrained")
    draw_tradeoff(figure.subplots(), means, "throughput_mbps", "throughput (Mbit/s)")
    return Findings(table=table, figure=figure, comparisons=(beaten(means, "one user", _NONE),))


STUDY = Study(
    info=info("abc-16"),
    scenarios=_scenarios,
    measure=measure,
    conclude=_conclude,
)
