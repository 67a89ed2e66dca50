# SPDX-License-Identifier: Apache-2.0
"""Classification with estimators of other libraries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sklearn.neighbors import KNeighborsClassifier

from ccbench.base.errors import InputError
from ccbench.classify.classifier import CCAClassifier
from ccbench.classify.estimator import judge_with
from ccbench.classify.filters import Filters
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from ccbench.classify.training import Sample


@pytest.fixture(scope="module")
def training_set() -> TrainingSet:
    """Give three CCAs of the packaged set."""
    packaged = TrainingSet.load(PACKAGED)
    return packaged.without(*(set(packaged.ccas) - {"bbr", "cubic", "vegas"}))


def server(training_set: TrainingSet, cca: str) -> list[Sample]:
    """Return a plain trace of a CCA in two settings."""
    return [
        next(
            sample
            for sample in training_set.samples_of(setting)
            if (sample.cca, sample.variation.name) == (cca, "plain")
        )
        for setting in SETTINGS[:2]
    ]


@pytest.mark.parametrize("cca", ["bbr", "cubic", "vegas"])
@pytest.mark.parametrize("estimator", [KNeighborsClassifier(1), CCAClassifier()])
def test_nearest(training_set: TrainingSet, estimator: BaseEstimator, cca: str) -> None:
    """The nearest neighbour of a training trace is that trace, by any distance."""
    assert (cca, (cca, cca)) == judge_with(estimator, server(training_set, cca), training_set)


def test_vote(training_set: TrainingSet) -> None:
    """The server has the label of most of its traces."""
    traces = [*server(training_set, "cubic"), server(training_set, "bbr")[0]]
    label, votes = judge_with(KNeighborsClassifier(1), traces, training_set)
    assert ("cubic", ("cubic", "cubic", "bbr")) == (label, votes)


def test_not_fitted(training_set: TrainingSet) -> None:
    """The given estimator stays as it is; each setting has its own."""
    estimator = KNeighborsClassifier(1)
    judge_with(estimator, server(training_set, "bbr"), training_set)
    assert not hasattr(estimator, "classes_")


def test_tslearn(training_set: TrainingSet) -> None:
    """A time series classifier of tslearn finds the CCA."""
    neighbors = pytest.importorskip("tslearn.neighbors", reason="tslearn is not installed")
    estimator = neighbors.KNeighborsTimeSeriesClassifier(n_neighbors=1, metric="euclidean")
    label, _ = judge_with(estimator, server(training_set, "vegas"), training_set)
    assert "vegas" == label


@pytest.mark.filterwarnings("ignore:2-Dimensional data passed")
def test_tslearn_early(training_set: TrainingSet) -> None:
    """An early classifier of tslearn finds the CCA in filtered traces."""
    early = pytest.importorskip("tslearn.early_classification", reason="tslearn is not installed")
    coarse = Filters(step_s=1)
    traces = [
        replace(trace, points=coarse.points(trace.points))
        for trace in server(training_set, "vegas")
    ]
    estimator = early.NonMyopicEarlyClassifier(cost_time_parameter=0.01, random_state=0)
    judged = judge_with(estimator, traces, coarse.applied_to(training_set, SETTINGS[:2]))
    assert ("vegas", ("vegas", "vegas")) == judged


def test_no_traces(training_set: TrainingSet) -> None:
    """Without traces a label is an input error, as it is in an unknown setting."""
    with pytest.raises(InputError, match="traces is"):
        judge_with(KNeighborsClassifier(1), [], training_set)
    elsewhere = replace(SETTINGS[0], rtt_ms=20)
    (first, _) = server(training_set, "bbr")
    with pytest.raises(InputError, match="setting is"):
        judge_with(KNeighborsClassifier(1), [replace(first, setting=elsewhere)], training_set)
