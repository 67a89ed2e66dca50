# SPDX-License-Identifier: Apache-2.0
"""Votes of the traces of each CCA (Ware 2024, Figure 2.13b).

The traces are the first 20 s of those of clean paths in ``ware-2.7``, classified with the packaged
training set and its limits, like ``ccbench classify`` does. ``ware-2.7`` compares the accuracy of
the votes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.figures import Figure
from ccbench.classify.vote import UNKNOWN
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly, unbounded
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

#: The outcomes of a trace, and their colours.
_OUTCOMES = {"right": "C2", UNKNOWN: "0.7", "wrong": "C3"}
_WHERE = "section 2.4.1"


def _conclude(table: pd.DataFrame) -> Findings:
    training = training_set()
    every = judged(table, lambda _cca: training)
    every["outcome"] = np.select(
        [every["label"] == every["cca"], every["label"] == UNKNOWN],
        ["right", UNKNOWN],
        "wrong",
    )
    is_vote = every["setting"] == VOTED
    labelled, votes = every[~is_vote], every[is_vote]
    return Findings(
        table=every, figure=_figure(labelled), comparisons=_comparisons(labelled, votes)
    )


def _comparisons(labelled: pd.DataFrame, votes: pd.DataFrame) -> tuple[Comparison, ...]:
    wrong = labelled[labelled["outcome"] == "wrong"]
    is_published = (wrong["cca"] == "illinois") & (wrong["label"] == "yeah")
    lost = votes[votes["label"] != votes["cca"]]
    return (
        Comparison(
            quantity="traces with a wrong label, except Illinois as YeAH",
            measured=float((~is_published).sum()),
            published=exactly(0, _WHERE, text="none"),
            unit="traces",
            note=confusions(wrong),
        ),
        Comparison(
            quantity="traces with the right label",
            measured=100 * float((labelled["outcome"] == "right").mean()),
            published=unbounded("accurate, but for some unknown and Illinois", _WHERE),
            unit="%",
        ),
        Comparison(
            quantity="votes that are right",
            measured=100 * (1 - len(lost) / len(votes)),
            published=unbounded("100: compared in ware-2.7", "section 2.4"),
            unit="%",
            note=confusions(lost),
        ),
    )


def _figure(labelled: pd.DataFrame) -> Figure:
    counts = labelled.pivot_table("seed", "cca", "outcome", aggfunc="count", fill_value=0)
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots()
    bottom = np.zeros(len(counts))
    for outcome, colour in _OUTCOMES.items():
        if outcome in counts:
            axes.bar(counts.index, counts[outcome], bottom=bottom, color=colour, label=outcome)
            bottom += counts[outcome]
    axes.tick_params(axis="x", rotation=45)
    axes.set_ylabel("traces")
    figure.legend(loc="outside upper center", ncols=len(_OUTCOMES), fontsize="small")
    return figure


STUDY = Study(
    info=info("ware-2.13"),
    scenarios=clean_test_scenarios,
    measure=measure,
    conclude=_conclude,
)
