# SPDX-License-Identifier: Apache-2.0
"""Labels of CCAs absent from the training set (Ware 2024, Figure 2.11 and Table 2.3).

Each CCA in turn is removed from the packaged training set, and its traces are classified with the
packaged limits, which were determined with other traces. The thesis's formula sums distances along
a path with an unstated number of points; distances here are per point of a trace, in packets, so
that the two cannot be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.classify.vote import UNKNOWN
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly, fraction, unbounded
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.traces import (
    VOTED,
    clean_test_scenarios,
    confusions,
    judged,
    measure,
    training_set,
)

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.classify.threshold import Threshold

#: Table 2.3: the quantile of each setting.
_QUANTILES = {
    "5bw-85rtt-64q": 0.95,
    "5bw-130rtt-64q": 0.90,
    "10bw-85rtt-128q": 0.94,
    "10bw-130rtt-128q": 0.90,
}
#: CCAs that the thesis's vote labels although they are left out.
_TAKEN_FOR_OTHERS = ("bic", "cdg", "scalable")
_WHERE = "caption of Figure 2.11"


def _conclude(table: pd.DataFrame) -> Findings:
    training = training_set()
    limits = {setting.name: limit for setting, limit in training.thresholds.items()}
    without = {cca: training.without(cca) for cca in training.ccas}
    labelled = judged(table, without.__getitem__)
    return Findings(
        table=labelled,
        figure=_figure(labelled),
        comparisons=(*_limits(limits), *_unknown(labelled)),
    )


def _limits(limits: dict[str, Threshold]) -> list[Comparison]:
    return [
        Comparison(
            quantity=f"{name}: quantile of the distances within a CCA",
            measured=limits[name].quantile,
            published=fraction(published, "Table 2.3", text=f"{published:.2f}"),
            note=f"Its distance is {limits[name].distance:.2f} packets per point.",
        )
        for name, published in _QUANTILES.items()
        if name in limits
    ]


def _unknown(labelled: pd.DataFrame) -> list[Comparison]:
    """Return comparisons of the CCAs whose majority of votes is unknown when left out."""
    is_voted = labelled["setting"] == VOTED
    voted, traces = labelled[is_voted], labelled[~is_voted]
    unknown = (voted["label"] == UNKNOWN).groupby(voted["cca"]).mean() > 0.5  # noqa: PLR2004
    is_taken = unknown.index.isin(_TAKEN_FOR_OTHERS)
    taken, others = unknown[is_taken], unknown[~is_taken]
    return [
        Comparison(
            quantity="left-out CCAs except BIC, CDG and Scalable that are unknown",
            measured=float(others.sum()),
            published=exactly(12, _WHERE, text="all 12"),
            unit="CCAs",
            note=_instead(voted[~voted["cca"].isin(_TAKEN_FOR_OTHERS)]),
        ),
        Comparison(
            quantity="BIC, CDG and Scalable left out: those with a known label",
            measured=float((~taken).sum()),
            published=exactly(3, _WHERE, text="all 3"),
            unit="CCAs",
            note=_instead(voted[voted["cca"].isin(_TAKEN_FOR_OTHERS)]),
        ),
        Comparison(
            quantity="traces of left-out CCAs that are unknown",
            measured=100 * float((traces["label"] == UNKNOWN).mean()),
            published=unbounded("not stated", "Figure 2.11"),
            unit="%",
        ),
    ]


def _instead(votes: pd.DataFrame) -> str:
    """Return a description of the votes for known labels."""
    labelled = votes[votes["label"] != UNKNOWN]
    return "" if labelled.empty else f"Of {len(votes)} votes: {confusions(labelled)}."


def _figure(labelled: pd.DataFrame) -> Figure:
    every = labelled.assign(unknown=100.0 * (labelled["label"] == UNKNOWN))
    settings = list(dict.fromkeys(every["setting"]))
    shares = every.pivot_table("unknown", "cca", "setting")[settings]
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(settings)
    for i, name in enumerate(settings):
        at = np.arange(len(shares)) + (i - (len(settings) - 1) / 2) * width
        axes.bar(at, shares[name], width, label=name, color="black" if name == VOTED else f"C{i}")
    axes.set_xticks(range(len(shares)), shares.index, rotation=45, ha="right")
    axes.set_ylabel("called unknown (%)")
    figure.legend(loc="outside upper center", ncols=len(settings), fontsize="small")
    axes.grid(axis="y", alpha=0.3)
    return figure


STUDY = Study(
    info=info("ware-2.11"),
    scenarios=clean_test_scenarios,
    measure=measure,
    conclude=_conclude,
)
