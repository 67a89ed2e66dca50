# SPDX-License-Identifier: Apache-2.0
"""The test cases of the BBR draft by TCP's own state: agreement with the state that bbr3 reports.

``bbr-draft`` judges a congestion control that reports no phase by what TCP shows of it. Here
``bbr3`` is judged both ways. The measured number of a case is the share of its suitable paths on
which both give the same verdict.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from ccbench.base.figures import Figure
from ccbench.base.share import Share
from ccbench.studies.bbr3.bbr_draft import CASES, UNSUITABLE, study_of
from ccbench.studies.bbr3.state import BBR3, Sender
from ccbench.studies.catalogue import info
from ccbench.studies.published import unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

_BY_STATE, _BY_TCP = "by state", "by TCP's own state"
_STUDIES = {_BY_STATE: study_of(BBR3), _BY_TCP: study_of(Sender(BBR3.cca, ()))}
_NOT_STATED = unbounded("not stated", "nowhere")

#: The scenarios of each study by themselves. Equal ones of both studies differ in their names, from
#: which each study reads its own cases.
_planned: dict[str, dict[Scenario, Scenario]] = {name: {} for name in _STUDIES}


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    found: list[Scenario] = []
    for name, study in _STUDIES.items():
        own = study.scenarios(quick=quick)
        _planned[name].update(zip(own, own, strict=True))
        found += own
    return tuple(dict.fromkeys(found))


def _measure(run: Run) -> Rows:
    return [
        {"judged": name, **row}
        for name, study in _STUDIES.items()
        if run.scenario in _planned[name]
        for row in study.measure(_named(run, name))
    ]


def _follow_ups(run: Run) -> tuple[Scenario, ...]:
    follow_ups = _STUDIES[_BY_TCP].follow_ups
    if follow_ups is None or run.scenario not in _planned[_BY_TCP]:
        return ()
    found = follow_ups(_named(run, _BY_TCP))
    _planned[_BY_TCP].update(zip(found, found, strict=True))
    return found


def _named(run: Run, study: str) -> Run:
    """Return a run with the scenario as a study has named it."""
    return replace(run, scenario=_planned[study][run.scenario])


def _conclude(table: pd.DataFrame) -> Findings:
    tables = {
        name: study.conclude(table[table["judged"] == name].drop(columns="judged")).table
        for name, study in _STUDIES.items()
    }
    keys = ["case", "mbps", "rtt_ms"]
    verdicts = pd.DataFrame(
        {name: own.set_index(keys)["verdict"] for name, own in tables.items()}
    ).reset_index()
    verdicts = verdicts[verdicts[_BY_STATE] != UNSUITABLE].reset_index(drop=True)
    return Findings(
        table=verdicts,
        figure=_figure(verdicts),
        comparisons=(
            _agreement("all cases", verdicts),
            *(_agreement(case.label, verdicts[verdicts["case"] == case.name]) for case in CASES),
        ),
    )


def _agreement(label: str, verdicts: pd.DataFrame) -> Comparison:
    """Return the share of paths with the same verdict, and the pairs that differ."""
    same = verdicts[_BY_STATE] == verdicts[_BY_TCP]
    others = (verdicts[_BY_STATE] + ", " + verdicts[_BY_TCP])[~same].value_counts()
    pairs = "".join(f" {n} x {pair}." for pair, n in sorted(others.items()))
    return Comparison(
        quantity=f"{label}: same verdict by TCP's own state",
        measured=Share(int(same.sum()), len(same), is_sample=False),
        published=_NOT_STATED,
        unit="%",
        note=f"{same.sum()} of {len(same)} paths.{pairs}",
    )


def _figure(verdicts: pd.DataFrame) -> Figure:
    """Draw the numbers of paths on which the verdicts agree, or do not, by case."""
    same = (verdicts[_BY_STATE] == verdicts[_BY_TCP]).groupby(verdicts["case"]).agg(["sum", "size"])
    same = same.reindex([case.name for case in CASES])
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots()
    labels = [case.label for case in CASES]
    axes.barh(labels, same["size"], color="tab:red", label="other verdict")
    axes.barh(labels, same["sum"], color="tab:green", label="same verdict")
    axes.invert_yaxis()
    axes.tick_params(labelsize="x-small")
    axes.set_xlabel("suitable paths")
    axes.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("bbr-draft-wire"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
    follow_ups=_follow_ups,
)
