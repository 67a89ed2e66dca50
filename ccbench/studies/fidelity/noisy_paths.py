# SPDX-License-Identifier: Apache-2.0
"""Classification on paths with loss and cross traffic: the effect of each part of the method.

The runs are of 20 s under the conditions of ``ware-2.7``, with seeds that no training has seen, and
three times as many. They are judged by the packaged training set, and by parts of it: by the
nearest trace only, with its limits, by trees that have learnt the paths of the first stage only
(hardly any noise), by trees with noisy paths too, with the limits of confidence, and with those of
distance, as in ``ccbench classify``. The parts with limits also judge the traces of each CCA
without it in the training set; they should be unknown.

The bounds of right and wrong votes are goals set before the method was built; that of CCAs that are
left out was set later.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.base.share import Share
from ccbench.classify.reactions import opinion
from ccbench.classify.verdict import TraceVerdict, decided, judge
from ccbench.classify.vote import UNKNOWN, vote
from ccbench.studies.catalogue import info
from ccbench.studies.published import Published, at_least, at_most
from ccbench.studies.shades import WORSE_ABOVE, WORSE_BELOW
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.traces import (
    CLEAN,
    confusions,
    measure,
    noisy_test_scenarios,
    servers,
    training_set,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.classify.trace import QueueTrace
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.verdict import Verdict

#: Least percentage of right votes, by condition.
_GOALS = {
    CLEAN: 100,
    "others 2%": 100,
    "others 5%": 97,
    "others 10%": 95,
    "loss 0.02%": 97,
    "loss 0.10%": 90,
    "loss 0.50%": 70,
}
_MOST_WRONG = 1
#: Pairs of CCAs that a note names.
_PAIRS = 4
#: Greatest percentage of the servers of left-out CCAs with a label.
_MOST_NAMED = 5
_WHERE = "goal"

#: The parts of the method, each with those above it.
_NEAREST, _WITHIN = "nearest trace", "with its limits"
_CLEAN_TREES, _TREES = "trees, clean paths", "trees, noisy paths"
_CONFIDENT, _FINAL = "with confidence", "and distance"
_METHODS = (_NEAREST, _WITHIN, _CLEAN_TREES, _TREES, _CONFIDENT, _FINAL)


def _conclude(table: pd.DataFrame) -> Findings:
    training = training_set()
    clean = replace(training, noisy=())
    without = {cca: training.without(cca) for cca in training.ccas}
    rows = []
    for server, traces in servers(table):
        verdict = judge(traces, training)
        cca = server["cca"]
        left_out = _limited(_left_out(verdict, traces, without[cca], cca))
        rows += [
            {**server, "method": method, "label": label, "left_out": left_out.get(method)}
            for method, label in _labels(verdict, traces, clean).items()
        ]
    labelled = pd.DataFrame(rows)
    labelled["right"] = 100.0 * (labelled["label"] == labelled["cca"])
    is_wrong = (labelled["label"] != labelled["cca"]) & (labelled["label"] != UNKNOWN)
    labelled["wrong"] = 100.0 * is_wrong
    is_named = (labelled["left_out"] != UNKNOWN).astype(float)
    labelled["left_out_named"] = 100.0 * is_named.where(labelled["left_out"].notna())
    return Findings(table=labelled, figure=_figure(labelled), comparisons=_comparisons(labelled))


def _labels(verdict: Verdict, traces: Sequence[QueueTrace], clean: TrainingSet) -> dict[str, str]:
    """Return the label of each method."""
    distances = [trace.distance for trace in verdict.traces]
    assert verdict.reactions is not None
    return {
        _NEAREST: vote([trace.nearest for trace in verdict.traces], distances),
        _CLEAN_TREES: _by_trees(traces, clean),
        _TREES: verdict.reactions.label,
        **_limited(verdict),
    }


def _limited(verdict: Verdict) -> dict[str, str]:
    """Return the label of each method with limits."""
    second = verdict.reactions
    assert second is not None
    distances = [trace.distance for trace in verdict.traces]
    return {
        _WITHIN: vote([trace.label for trace in verdict.traces], distances),
        _CONFIDENT: second.label if second.is_confident else UNKNOWN,
        _FINAL: verdict.label,
    }


def _left_out(
    verdict: Verdict, traces: Sequence[QueueTrace], without: TrainingSet, cca: str
) -> Verdict:
    """Return the verdict by a training set without a CCA."""
    votes = tuple(
        TraceVerdict.of(
            trace.setting,
            {name: distance for name, distance in trace.distances.items() if name != cca},
            without.thresholds[trace.setting].limits,
        )
        for trace in verdict.traces
    )
    return decided(votes, traces, without)


def _by_trees(traces: Sequence[QueueTrace], training: TrainingSet) -> str:
    """Return the label of the second stage alone."""
    trees = [training.reactions(trace.setting) for trace in traces]
    known = [each for each in trees if each is not None]
    assert training.limits is not None
    return opinion(known, [trace.measured for trace in traces], training.limits).label


def _comparisons(labelled: pd.DataFrame) -> tuple[Comparison, ...]:
    final = labelled[labelled["method"] == _FINAL]
    conditions = [name for name in _GOALS if name in set(final["condition"])]
    right = [_compared(final, name, "right", at_least(_GOALS[name], _WHERE)) for name in conditions]
    wrong = [_compared(final, name, "wrong", at_most(_MOST_WRONG, _WHERE)) for name in conditions]
    named = [_named(final[final["condition"] == name], name) for name in conditions]
    return (*right, *wrong, *named)


def _compared(final: pd.DataFrame, condition: str, column: str, goal: Published) -> Comparison:
    own = final[final["condition"] == condition]
    return Comparison(
        quantity=f"{condition}: votes that are {column}",
        measured=Share(int((own[column] > 0).sum()), len(own)),
        published=goal,
        unit="%",
        note=confusions(own[own["wrong"] > 0]) if column == "wrong" else "",
    )


def _named(own: pd.DataFrame, condition: str) -> Comparison:
    named = own[own["left_out"] != UNKNOWN]
    return Comparison(
        quantity=f"{condition}: left-out CCAs with a label",
        measured=Share(len(named), len(own)),
        published=at_most(_MOST_NAMED, _WHERE),
        unit="%",
        note=confusions(named, "left_out", most=_PAIRS),
    )


def _figure(labelled: pd.DataFrame) -> Figure:
    """Draw the percentages of each method and condition."""
    conditions = list(dict.fromkeys(labelled["condition"]))
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    titles = {
        "right": "right (%)",
        "wrong": "wrong (%)",
        "left_out_named": "left-out CCAs with a label (%)",
    }
    for i, (axes, (column, title)) in enumerate(
        zip(figure.subplots(1, len(titles)), titles.items(), strict=True)
    ):
        shares = labelled.pivot_table(column, "method", "condition", dropna=False)
        shares = shares.loc[list(_METHODS), conditions]
        # White is as it should be: one hue, for colour-blind readers and in grey.
        colours, most = (WORSE_BELOW, 100) if column == "right" else (WORSE_ABOVE, 50)
        axes.imshow(shares, vmin=0, vmax=most, cmap=colours)
        for (row, at), share in np.ndenumerate(shares.to_numpy()):
            text = "–" if np.isnan(share) else f"{share:.0f}"  # a method without unknown CCAs
            axes.text(at, row, text, ha="center", va="center", fontsize=7)
        axes.set_xticks(range(len(conditions)), conditions, rotation=90, fontsize=7)
        axes.set_yticks(range(len(_METHODS)), _METHODS if i == 0 else [], fontsize=8)
        axes.set_title(title, fontsize="medium")
    return figure


STUDY = Study(
    info=info("noisy-paths"),
    scenarios=noisy_test_scenarios,
    measure=measure,
    conclude=_conclude,
)
