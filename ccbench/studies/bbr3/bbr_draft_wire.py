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

#: Separates the study from its own name of a scenario.
_OF = ": "


def _marked(name: str, scenario: Scenario) -> Scenario:
    """Return a scenario of a study, with the study's name in its own."""
    return replace(scenario, name=f"{name}{_OF}{scenario.name}")


def _of_study(run: Run) -> tuple[str, Run]:
    """Return the name of a run's study, and the run as that study has named it."""
    study, _, name = run.scenario.name.partition(_OF)
    return study, run.named_as(replace(run.scenario, name=name))


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        _marked(name, scenario)
        for name, study in _STUDIES.items()
        for (scenario,) in study.groups(quick=quick)
    )


def _measure(run: Run) -> Rows:
    name, own = _of_study(run)
    return [{"judged": name, **row} for row in _STUDIES[name].measure(own)]


def _follow_ups(run: Run) -> tuple[Scenario, ...]:
    name, own = _of_study(run)
    follow_ups = _STUDIES[name].follow_ups
    return () if follow_ups is None else tuple(_marked(name, each) for each in follow_ups(own))


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
    axes.barh(labels, same["size"], color="C3", label="other verdict")
    axes.barh(labels, same["sum"], color="C2", label="same verdict")
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
