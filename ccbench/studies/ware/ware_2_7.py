# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the nearest training trace (Ware 2024, Figures 2.7, 2.9 and 2.12).

The accuracy is given by setting, by length of the traces, and under conditions that the thesis does
not have: millisecond clocks, cross traffic, and loss. A trace's label is that of the nearest
training trace. For 20 s, the length that ``ccbench classify`` uses, labels of the packaged training
set are included. A trace beyond its limits is unknown; the label of a server is the answer
of the second stage.

The thesis states an accuracy over nine settings, with traces of 60 s, and names the four settings
with the highest accuracy, which it then uses. This study has these four, and traces of up to 50 s.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.classify.classifier import CCAClassifier
from ccbench.classify.occupancy import DURATION_S, STEP_S
from ccbench.classify.vote import vote
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, percentage, similar, unbounded
from ccbench.studies.shades import WORSE_BELOW
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.traces import (
    CLEAN,
    KNOWN,
    SERVER,
    VOTED,
    confusions,
    judged,
    measure,
    test_scenarios,
    training_scenarios,
    training_set,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.studies.published import Published

_LENGTHS_S = (10.0, 20.0, 30.0, 40.0, 50.0)
#: Used instead of a statement for conditions that the thesis does not have.
_NOT_THERE = unbounded("not in the thesis", "nowhere")
#: Maximum number of kinds of errors named in a note.
_NAMED = 6


def _conclude(table: pd.DataFrame) -> Findings:
    is_known = table["condition"] == KNOWN
    trained, others = table[is_known], table[~is_known]
    points = len(table["trace"].iloc[0])
    lengths_s = [length for length in _LENGTHS_S if _points(length) <= points]
    nearest = pd.concat(
        [_with_votes(_nearest(trained, others, length_s)) for length_s in lengths_s],
        ignore_index=True,
    )
    training = training_set()
    labels = judged(others, lambda _cca: training).assign(length_s=DURATION_S)
    keys = [*SERVER, "setting", "length_s"]
    labelled = nearest.merge(labels[[*keys, "label"]], on=keys, how="left")
    return Findings(table=labelled, figure=_figure(labelled), comparisons=_comparisons(labelled))


def _points(length_s: float) -> int:
    return round(length_s / STEP_S)


def _nearest(trained: pd.DataFrame, others: pd.DataFrame, length_s: float) -> pd.DataFrame:
    """Return a row per test trace with the CCA of its nearest training trace."""
    parts = []
    for setting, own in others.groupby("setting", sort=False):
        examples = trained[trained["setting"] == setting]
        classifier = CCAClassifier().fit(_cut(examples, length_s), examples["cca"].tolist())
        distances, indices = classifier.kneighbors(_cut(own, length_s))
        parts.append(
            own[SERVER].assign(
                setting=setting,
                length_s=length_s,
                nearest=classifier.labels_[indices[:, 0]],
                distance_packets=distances[:, 0],
            )
        )
    return pd.concat(parts)


def _cut(table: pd.DataFrame, length_s: float) -> list[npt.NDArray[np.float32]]:
    return [trace[: _points(length_s)] for trace in table["trace"]]


def _with_votes(labelled: pd.DataFrame) -> pd.DataFrame:
    """Add a row per server with the votes of its traces."""
    votes = []
    for server, own in labelled.groupby(SERVER, sort=False):
        distances = own["distance_packets"].tolist()
        votes.append(
            {
                **dict(zip(SERVER, server, strict=True)),
                "setting": VOTED,
                "length_s": own["length_s"].iloc[0],
                "nearest": vote(own["nearest"].tolist(), distances),
                "distance_packets": math.nan,
            }
        )
    return pd.concat([labelled, pd.DataFrame(votes)])


def _comparisons(labelled: pd.DataFrame) -> tuple[Comparison, ...]:
    usual = labelled[labelled["length_s"] == DURATION_S]
    clean = labelled[labelled["condition"] == CLEAN]
    traces = clean[clean["setting"] != VOTED]
    lengths_s = [length_s for length_s in _LENGTHS_S if length_s in set(traces["length_s"])]
    right = [_right(traces[traces["length_s"] == length_s], "nearest") for length_s in lengths_s]
    usual_at = lengths_s.index(DURATION_S)
    longest_s = max(_LENGTHS_S)
    return (
        _accuracy(
            traces[traces["length_s"] == longest_s],
            f"clean, {longest_s:g} s: nearest of all traces",
            at_least(96, "section 2.3.3.2", text="96 in nine settings; these are the best"),
        ),
        _accuracy(
            traces[traces["length_s"] == DURATION_S],
            f"clean, {DURATION_S:g} s: nearest of all traces",
            similar(100, "caption of Figure 2.9", text="near perfect"),
        ),
        Comparison(
            quantity=f"clean, nearest of all traces: {lengths_s[0]:g} s minus {DURATION_S:g} s",
            measured=right[0] - right[usual_at],
            published=at_most(0, "section 2.3.3.3", text="a modest dip"),
            unit="points",
        ),
        Comparison(
            quantity=f"clean, nearest of all traces, from {DURATION_S:g} s on: largest "
            "difference between lengths",
            measured=max(right[usual_at:]) - min(right[usual_at:]),
            published=similar(0, "section 2.3.3.3", text="relatively indistinguishable"),
            unit="points",
        ),
        _votes(
            clean[clean["length_s"] == DURATION_S],
            f"clean, {DURATION_S:g} s: answers",
            percentage(100, "section 2.4"),
        ),
        *(
            _votes(rows, f"{condition}, {DURATION_S:g} s: answers", _NOT_THERE)
            for condition, rows in usual.groupby("condition", sort=False)
            if condition != CLEAN
        ),
    )


def _right(rows: pd.DataFrame, column: str) -> float:
    """Return the percentage of rows with the correct label; NaN if there are none."""
    return 100 * float((rows[column] == rows["cca"]).mean()) if len(rows) else math.nan


def _accuracy(rows: pd.DataFrame, quantity: str, published: Published) -> Comparison:
    return Comparison(
        quantity=quantity,
        measured=_right(rows, "nearest"),
        published=published,
        unit="%",
        note=_confusions(rows, "nearest"),
    )


def _votes(rows: pd.DataFrame, quantity: str, published: Published) -> Comparison:
    own = rows[rows["setting"] == VOTED]
    return Comparison(
        quantity=quantity,
        measured=_right(own, "label"),
        published=published,
        unit="%",
        note=_confusions(own, "label"),
    )


def _confusions(rows: pd.DataFrame, column: str) -> str:
    """Return a description of the most frequent wrong labels."""
    wrong = rows[rows[column] != rows["cca"]]
    if wrong.empty:
        return ""
    named = confusions(wrong, column, most=_NAMED)
    return f"{len(wrong)} of {len(rows)} are wrong: {named}."


def _figure(labelled: pd.DataFrame) -> Figure:
    """Draw accuracy by setting and length for each condition, as in Figures 2.7 and 2.9."""
    right = labelled.assign(right=100.0 * (labelled["nearest"] == labelled["cca"]))
    settings = list(dict.fromkeys(right["setting"]))
    conditions = list(dict.fromkeys(right["condition"]))
    lengths_s = list(dict.fromkeys(right["length_s"]))
    figure = Figure(figsize=(2.1 * len(lengths_s) + 2.5, 0.32 * len(conditions) + 2.2))
    figure.set_layout_engine("constrained")
    for i, (axes, length_s) in enumerate(
        zip(figure.subplots(1, len(lengths_s), squeeze=False)[0], lengths_s, strict=True)
    ):
        own = right[right["length_s"] == length_s]
        shares = own.pivot_table("right", "condition", "setting").loc[conditions, settings]
        axes.imshow(shares, vmin=40, vmax=100, cmap=WORSE_BELOW, aspect="auto")
        for (row, column), share in np.ndenumerate(shares.to_numpy()):
            axes.text(column, row, f"{share:.0f}", ha="center", va="center", fontsize=7)
        axes.set_xticks(range(len(settings)), settings, rotation=90, fontsize=7)
        axes.set_yticks(range(len(conditions)), conditions if i == 0 else [], fontsize=8)
        axes.set_title(f"{length_s:g} s", fontsize="medium")
    figure.suptitle("traces nearest to their own CCA, and votes that are right (%)", fontsize=10)
    return figure


STUDY = Study(
    info=info("ware-2.7"),
    scenarios=test_scenarios,
    measure=measure,
    conclude=_conclude,
    references=training_scenarios,
)
