# SPDX-License-Identifier: Apache-2.0
"""Classification of servers with BBRv1 and with BBRv3.

The servers are those of ``noisy-paths``: four traces of 20 s, on paths and with seeds that no
training has seen. They are judged as by ``ccbench classify``, with the packaged training set, and
with the set without one of the two versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.base.share import Share
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge
from ccbench.classify.vote import UNKNOWN
from ccbench.studies.bbr3.coexistence import NOT_STATED, VERSIONS
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_most
from ccbench.studies.study import Comparison, Findings, Study
from ccbench.studies.ware.traces import measure, noisy_test_scenarios, servers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.experiment.scenario import Scenario

#: The two versions must not be confused: the goal, set before the runs.
_NONE = at_most(0, "goal")
_OTHERS = "another CCA"
_ANSWERS = (*VERSIONS, _OTHERS, UNKNOWN)


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return noisy_test_scenarios(quick=quick, ccas=VERSIONS)


def _conclude(table: pd.DataFrame) -> Findings:
    packaged = TrainingSet.load(PACKAGED)
    sets = {"": packaged} | {cca: packaged.without(cca) for cca in VERSIONS}
    verdicts = pd.DataFrame(
        {**server, "left_out": left_out, "label": judge(traces, training).label}
        for server, traces in servers(table)
        for left_out, training in sets.items()
    )
    known = verdicts["label"].isin(_ANSWERS)
    verdicts["answer"] = verdicts["label"].where(known, _OTHERS)
    return Findings(
        table=verdicts,
        figure=_figure(verdicts),
        comparisons=tuple(_comparisons(verdicts)),
    )


def _comparisons(verdicts: pd.DataFrame) -> Iterator[Comparison]:
    complete = verdicts[verdicts["left_out"] == ""]
    for cca in VERSIONS:
        (other,) = VERSIONS.keys() - {cca}
        own = complete[complete["cca"] == cca]
        name = f"servers with {VERSIONS[cca]}"
        yield _share(own, cca, f"{name} that are classified as such")
        yield _share(own, other, f"{name} that are classified as {VERSIONS[other]}", of_goal=True)
        left_out = verdicts[(verdicts["left_out"] == cca) & (verdicts["cca"] == cca)]
        yield _share(left_out, UNKNOWN, f"{name} that are unknown if it is not in the training set")


def _share(
    verdicts: pd.DataFrame, answer: str, quantity: str, *, of_goal: bool = False
) -> Comparison:
    """Return the percentage of servers with an answer."""
    return Comparison(
        quantity=quantity,
        measured=Share(int((verdicts["answer"] == answer).sum()), len(verdicts)),
        published=_NONE if of_goal else NOT_STATED,
        unit="%",
    )


def _figure(verdicts: pd.DataFrame) -> Figure:
    """Draw the answers by condition, one panel for each version and training set."""
    kinds = [(cca, left_out) for cca in VERSIONS for left_out in ("", cca)]
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    panels = figure.subplots(1, len(kinds), sharey=True)
    for axes, (cca, left_out) in zip(panels, kinds, strict=True):
        own = verdicts[(verdicts["cca"] == cca) & (verdicts["left_out"] == left_out)]
        counts = pd.crosstab(own["condition"], own["answer"], normalize="index")
        counts = counts.reindex(index=own["condition"].unique(), columns=list(_ANSWERS))
        base = pd.Series(0.0, index=counts.index)
        for answer, shares in counts.fillna(0).items():
            axes.bar(counts.index, 100 * shares, bottom=100 * base, label=answer)
            base += shares
        axes.set_title(f"{VERSIONS[cca]}{', not trained' if left_out else ''}", fontsize="medium")
        axes.tick_params(axis="x", rotation=90, labelsize=7)
    panels[0].set_ylabel("servers (%)")
    panels[-1].legend(fontsize="small", title="classified as")
    return figure


STUDY = Study(
    info=info("bbr3-classify"),
    scenarios=_scenarios,
    measure=measure,
    conclude=_conclude,
)
