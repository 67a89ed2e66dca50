# SPDX-License-Identifier: Apache-2.0
"""CCAnalyzer's classifier, on series at known distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ccbench.base.errors import InputError
from ccbench.classify import dtw
from ccbench.classify.classifier import CCAClassifier
from ccbench.classify.vote import UNKNOWN

#: Levels: the distance between two constant series is their difference, per point.
LEVELS = {"low": (10.0, 11.0), "middle": (20.0, 21.0), "high": (40.0, 41.0)}


def flat(level: float, points: int = 30) -> list[float]:
    """Return a constant series."""
    return [level] * points


@pytest.fixture
def labelled() -> tuple[list[list[float]], list[str]]:
    """Give two series for each label."""
    pairs = [(flat(level), name) for name, levels in LEVELS.items() for level in levels]
    return [series for series, _ in pairs], [name for _, name in pairs]


@pytest.fixture
def classifier(labelled: tuple[list[list[float]], list[str]]) -> CCAClassifier:
    """Give a classifier fitted to them."""
    return CCAClassifier().fit(*labelled)


class TestPredict:
    def test_nearest(self, classifier: CCAClassifier) -> None:
        """A trace gets the label of the nearest trace."""
        actual = classifier.predict([flat(0), flat(15.9), flat(29), flat(100)])
        assert ["low", "middle", "middle", "high"] == actual.tolist()

    def test_stretched(self) -> None:
        """A trace played at another speed is at distance 0."""
        saw = list(range(20)) * 2
        slow = [level for level in saw for _ in range(2)]
        classifier = CCAClassifier(thresholds=0).fit([saw, flat(10, 40)], ["saw", "flat"])
        assert ["saw"] == classifier.predict([slow]).tolist()

    @pytest.mark.parametrize(
        ("threshold", "expected"), [(2.0, UNKNOWN), (3.0, "low"), (4.0, "low")]
    )
    def test_threshold(self, labelled: Any, threshold: float, expected: str) -> None:
        """A trace farther than the threshold from all others is unknown."""
        classifier = CCAClassifier(thresholds=threshold).fit(*labelled)
        assert [expected] == classifier.predict([flat(7)]).tolist()

    def test_own_thresholds(self, labelled: Any) -> None:
        """With a threshold for each label, that of the nearest trace counts."""
        limits = {"low": 2.0, "middle": 0.0, "high": 8.0}
        classifier = clone(CCAClassifier(thresholds=limits)).fit(*labelled)
        actual = classifier.predict([flat(7), flat(8), flat(22), flat(48), flat(50)])
        assert [UNKNOWN, "low", UNKNOWN, "high", UNKNOWN] == actual.tolist()

    def test_length(self, labelled: Any) -> None:
        """A threshold has the same meaning for traces of any length."""
        classifier = CCAClassifier(thresholds=3.0).fit(*labelled)
        short, long = flat(7, 30), flat(7, 60)
        assert ["low", "low"] == classifier.predict([short, long]).tolist()
        distances, _ = classifier.kneighbors([flat(7, 60), flat(7, 30)])
        assert distances.ravel() == pytest.approx(3.0)

    def test_several(self) -> None:
        """Several neighbours vote, and the nearest decides a tie."""
        levels = {"one": 10.0, "two": 11.0, "also two": 11.5}
        labels = ["one", "two", "two"]
        series = [flat(level) for level in levels.values()]
        assert ["two"] == CCAClassifier(3).fit(series, labels).predict([flat(10)]).tolist()
        assert ["one"] == CCAClassifier(2).fit(series, labels).predict([flat(10)]).tolist()


class TestNeighbors:
    def test_distances(self, classifier: CCAClassifier, labelled: Any) -> None:
        """Neighbours are the nearest by :mod:`ccbench.classify.dtw`, per point."""
        rng = np.random.default_rng(1)
        queries = rng.uniform(0, 50, (5, 30))
        distances, indices = classifier.kneighbors(queries, 6)
        expected = dtw.distances(queries, labelled[0]) / 30
        assert np.argsort(expected, axis=1, kind="stable").tolist() == indices.tolist()
        np.testing.assert_allclose(distances, np.sort(expected, axis=1), rtol=1e-6)

    def test_decision(self, classifier: CCAClassifier) -> None:
        """The nearest class has the largest decision value."""
        queries = [flat(level) for level in (0, 16, 24, 33, 90)]
        values = classifier.decision_function(queries)
        assert (5, 3) == values.shape
        actual = classifier.classes_[values.argmax(axis=1)]
        assert classifier.predict(queries).tolist() == actual.tolist()
        assert values.max(axis=1) == pytest.approx([-10, -4, -3, -7, -49])


class TestScikitLearn:
    def test_parameters(self) -> None:
        """Parameters can be read, changed and cloned without the fitted state."""
        classifier = CCAClassifier(2, thresholds=1.5, window=7, n_jobs=1)
        expected = {"n_neighbors": 2, "thresholds": 1.5, "window": 7, "n_jobs": 1}
        assert expected == classifier.get_params() == clone(classifier).get_params()
        assert 3 == classifier.set_params(n_neighbors=3).n_neighbors

    def test_pipeline(self, labelled: Any) -> None:
        """The classifier works in pipelines, cross-validation and parameter searches."""
        series, labels = np.array(labelled[0] * 2), labelled[1] * 2
        pipeline = make_pipeline(FunctionTransformer(np.sqrt), CCAClassifier())
        assert 1.0 == cross_val_score(pipeline, series, labels, cv=2).mean()
        search = GridSearchCV(CCAClassifier(), {"thresholds": [0.1, 5.0]}, cv=2).fit(series, labels)
        assert 1.0 == search.best_score_

    def test_threads(self, labelled: Any) -> None:
        """Results do not depend on the number of threads."""
        queries = np.random.default_rng(2).uniform(0, 50, (20, 30))
        one, many = (CCAClassifier(n_jobs=n).fit(*labelled).kneighbors(queries) for n in (1, 4))
        assert one[0].tolist() == many[0].tolist()
        assert one[1].tolist() == many[1].tolist()


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "X", "y", "message"),
        [
            ({}, [[1.0]], ["a", "b"], "y is .*; it must be 1 labels"),
            ({}, [], [], "X is .*; it must be one or more traces"),
            ({"n_neighbors": 2}, [[1.0]], ["a"], "n_neighbors is 2"),
            ({"thresholds": -1.0}, [[1.0]], ["a"], "thresholds is -1.0"),
            ({"thresholds": {"a": -1.0}}, [[1.0]], ["a"], r"thresholds\['a'\] is -1.0"),
            ({"thresholds": {"b": 1.0}}, [[1.0]], ["a"], "give one for a too"),
            ({}, [[1.0]], [UNKNOWN], "y is 'unknown'"),
        ],
    )
    def test_fit(self, arguments: dict[str, Any], X: Any, y: list[str], message: str) -> None:  # noqa: N803
        """Invalid training data or parameters are an input error that names the field."""
        with pytest.raises(InputError, match=message):
            CCAClassifier(**arguments).fit(X, y)

    def test_predict(self, classifier: CCAClassifier) -> None:
        """An invalid trace is an input error."""
        with pytest.raises(InputError, match="nan"):
            classifier.predict([[1.0, float("nan")]])
