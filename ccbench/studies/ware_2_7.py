# SPDX-License-Identifier: Apache-2.0
"""How often a trace is nearest to one of its own CCA (Ware 2024, Figures 2.7, 2.9 and 2.12).

By setting, by length of the traces, and under conditions that the thesis does not have: clocks of
milliseconds, the traffic of others, and loss. A trace's label is that of the nearest known one.
For 20 s, the length that ``ccbench classify`` takes, there are also the labels with the packaged
limits, beyond which a trace is unknown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ccbench.classify.classifier import CCAClassifier
from ccbench.classify.occupancy import DURATION_S, STEP_S
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.vote import vote
from ccbench.studies.catalogue import about
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware_traces import CLEAN, KNOWN, SERVER, classified, known, labels, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

_LENGTHS_S = (10.0, 20.0, 30.0, 40.0, 50.0)
#: The setting of a row that has the vote of all.
_VOTED = "voted"

#: What the published column says of conditions that are ours.
_NOT_THERE = "not in the thesis"
#: How many kinds of errors a note names.
_NAMED = 6


def _conclude(table: pd.DataFrame) -> Findings:
    is_known = table["condition"] == KNOWN
    trained, others = table[is_known], table[~is_known]
    limits = {
        setting.name: one.limits for setting, one in TrainingSet.load(PACKAGED).thresholds.items()
    }
    points = len(table["trace"].iloc[0])
    lengths_s = [length for length in _LENGTHS_S if _points(length) <= points]
    labelled = pd.concat(
        [_with_votes(_labelled(trained, others, length_s, limits)) for length_s in lengths_s],
        ignore_index=True,
    )
    return Findings(table=labelled, figure=_figure(labelled), comparisons=_comparisons(labelled))


def _points(length_s: float) -> int:
    return round(length_s / STEP_S)


def _labelled(
    trained: pd.DataFrame,
    others: pd.DataFrame,
    length_s: float,
    limits: Mapping[str, Mapping[str, float]],
) -> pd.DataFrame:
    """Return a row for each of the others: the nearest label, and that with the limit."""
    parts = []
    for setting, own in others.groupby("setting", sort=False):
        examples = trained[trained["setting"] == setting]
        classifier = CCAClassifier().fit(_cut(examples, length_s), examples["cca"].tolist())
        distances, indices = classifier.kneighbors(_cut(own, length_s))
        nearest = classifier.labels_[indices[:, 0]]
        label = labels(nearest, distances[:, 0], limits[str(setting)])
        found = own[SERVER].assign(
            setting=setting,
            length_s=length_s,
            nearest=nearest,
            distance_packets=distances[:, 0],
            label=label if length_s == DURATION_S else None,
        )
        parts.append(found)
    return pd.concat(parts)


def _cut(table: pd.DataFrame, length_s: float) -> list[npt.NDArray[np.float32]]:
    return [trace[: _points(length_s)] for trace in table["trace"]]


def _with_votes(labelled: pd.DataFrame) -> pd.DataFrame:
    """Add a row for each server, with the votes of its traces."""
    votes = []
    for server, own in labelled.groupby(SERVER, sort=False):
        distances = own["distance_packets"].tolist()
        has_labels = own["label"].notna().all()
        votes.append(
            {
                **dict(zip(SERVER, server, strict=True)),
                "setting": _VOTED,
                "length_s": own["length_s"].iloc[0],
                "nearest": vote(own["nearest"].tolist(), distances),
                "distance_packets": math.nan,
                "label": vote(own["label"].tolist(), distances) if has_labels else None,
            }
        )
    return pd.concat([labelled, pd.DataFrame(votes)])


def _comparisons(labelled: pd.DataFrame) -> tuple[Comparison, ...]:
    usual = labelled[labelled["length_s"] == DURATION_S]
    conditions = list(dict.fromkeys(usual["condition"]))
    clean = usual[usual["condition"] == CLEAN]
    settings = [name for name in dict.fromkeys(clean["setting"]) if name != _VOTED]
    return (
        _accuracy(clean, "clean, 20 s: nearest of all traces", "96", 96),
        *(
            _accuracy(
                clean[clean["setting"] == name], f"the same, {name}", "above 96: among the best", 96
            )
            for name in settings
        ),
        *(_by_length(labelled, length_s) for length_s in _LENGTHS_S if length_s != DURATION_S),
        _votes(clean, "clean, 20 s: nearest, voted", "100"),
        _accuracy(clean, "clean, 20 s: traces with limits", "nearly all", 95, column="label"),
        _votes(clean, "clean, 20 s: voted with limits", "100", column="label"),
        *(
            comparison
            for condition in conditions
            if condition != CLEAN
            for own in [usual[usual["condition"] == condition]]
            for comparison in (
                _accuracy(own, f"{condition}, 20 s: nearest of all traces", _NOT_THERE, 96),
                _votes(own, f"{condition}, 20 s: voted with limits", _NOT_THERE, column="label"),
            )
        ),
    )


def _by_length(labelled: pd.DataFrame, length_s: float) -> Comparison:
    """Compare the accuracy of traces of a length with that of the usual one."""
    clean = labelled[labelled["condition"] == CLEAN]
    less = _share(clean, length_s) - _share(clean, DURATION_S)
    short = length_s < DURATION_S
    return Comparison(
        what=f"clean, nearest of all traces: {length_s:g} s less {DURATION_S:g} s",
        ours=less,
        published="a modest dip" if short else "hardly a difference",
        accepted=(-10, 0) if short else (-2, 2),
        unit="%",
    )


def _share(table: pd.DataFrame, length_s: float) -> float:
    return _right(table[(table["length_s"] == length_s) & (table["setting"] != _VOTED)], "nearest")


def _right(rows: pd.DataFrame, column: str) -> float:
    """Return how many percent of the rows have the right label; NaN if there are none."""
    return 100 * float((rows[column] == rows["cca"]).mean()) if len(rows) else math.nan


def _accuracy(
    rows: pd.DataFrame, what: str, published: str, least: float, *, column: str = "nearest"
) -> Comparison:
    own = rows[rows["setting"] != _VOTED]
    return Comparison(
        what=what,
        ours=_right(own, column),
        published=published,
        accepted=(least, 100),
        unit="%",
        note=_confusions(own, column),
    )


def _votes(rows: pd.DataFrame, what: str, published: str, *, column: str = "nearest") -> Comparison:
    own = rows[rows["setting"] == _VOTED]
    return Comparison(
        what=what,
        ours=_right(own, column),
        published=published,
        accepted=(100, 100),
        unit="%",
        note=_confusions(own, column),
    )


def _confusions(rows: pd.DataFrame, column: str) -> str:
    """Say which labels are wrong most often."""
    wrong = rows[rows[column] != rows["cca"]]
    counts = (wrong["cca"] + " as " + wrong[column]).value_counts()
    if not len(counts):
        return ""
    named = ", ".join(f"{error} {n}" for error, n in counts.head(_NAMED).items())
    return (
        f"{len(wrong)} of {len(rows)} are wrong: {named}{'' if len(counts) <= _NAMED else ', ...'}."
    )


def _figure(labelled: pd.DataFrame) -> Figure:
    """Draw Figures 2.7 and 2.9 in one: accuracy by setting and length, for each condition."""
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
        axes.imshow(shares, vmin=40, vmax=100, cmap="RdYlGn", aspect="auto")
        for (row, column), share in np.ndenumerate(shares.to_numpy()):
            axes.text(column, row, f"{share:.0f}", ha="center", va="center", fontsize=7)
        axes.set_xticks(range(len(settings)), settings, rotation=90, fontsize=7)
        axes.set_yticks(range(len(conditions)), conditions if i == 0 else [], fontsize=8)
        axes.set_title(f"{length_s:g} s", fontsize="medium")
    figure.suptitle("traces nearest to their own CCA, and votes that are right (%)", fontsize=10)
    return figure


STUDY = Study(
    about=about("ware-2.7"),
    scenarios=classified,
    measure=measure,
    conclude=_conclude,
    references=known,
)
