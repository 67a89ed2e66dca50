# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random
import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.raygen import DEFAULT_SPACE, Number, Space
from ccbench.raygen.analysis.predictor import Predictor
from ccbench.raygen.strategies.random import RandomSearch
from ccbench.raygen.strategies.surrogate import Surrogate, most_promising

if TYPE_CHECKING:
    from ccbench.raygen import Chromosome, Strategy

#: The maximum of :func:`_hill`.
PEAK = (60.0, 160.0, 0.5, 4, 2)


def _hill(chromosome: Chromosome) -> float:
    """Return a smooth harm: 1 at the peak, decreasing with the distance on the genes' scales."""
    distance = math.dist(DEFAULT_SPACE.coordinates(chromosome), DEFAULT_SPACE.coordinates(PEAK))
    return math.exp(-((distance / 0.5) ** 2))


def _best(strategy: Strategy) -> float:
    """Return the greatest harm that a strategy finds on the hill."""
    best = 0.0
    while candidates := strategy.ask():
        harms = [_hill(candidate.chromosome) for candidate in candidates]
        strategy.tell(harms)
        best = max(best, *harms)
    return best


class TestSurrogate:
    def test_finds_more_with_less(self) -> None:
        """With 48 experiments it comes nearer to the peak than random search with 320."""
        measured, chance = [], []
        for seed in range(5):
            measured.append(_best(Surrogate(DEFAULT_SPACE, budget=48, population=16, seed=seed)))
            chance.append(_best(RandomSearch(DEFAULT_SPACE, budget=320, population=16, seed=seed)))
        assert median(chance) < median(measured) <= 1

    def test_nothing_is_tried_twice(self) -> None:
        """While the space has something new, nothing is proposed again."""
        search = Surrogate(DEFAULT_SPACE, budget=40, population=16, seed=1)
        proposed: list[Chromosome] = []
        while candidates := search.ask():
            proposed += [candidate.chromosome for candidate in candidates]
            search.tell([_hill(candidate.chromosome) for candidate in candidates])
        assert len(set(proposed)) == len(proposed) == 40

    def test_nothing_new_is_left(self) -> None:
        """In a space of four scenarios it tries all of them, and still runs to its end."""
        sizes = {"alpha_flows": 2, "beta_flows": 2}
        space = Space(
            tuple(
                Number(name=gene.name, low=1, high=sizes.get(gene.name, 1))
                for gene in DEFAULT_SPACE.genes
            )
        )
        search = Surrogate(space, budget=12, population=4, seed=1)
        proposed = []
        while candidates := search.ask():
            proposed += [candidate.chromosome for candidate in candidates]
            search.tell([float(candidate.chromosome[-1]) for candidate in candidates])
        assert 12 == len(proposed)
        assert 4 == len(set(proposed))

    def test_lazy_import(self) -> None:
        """The learning library is imported only when it is used."""
        code = "import sys, ccbench.raygen; sys.exit('sklearn' in sys.modules)"
        assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


class TestPredictor:
    def test_reproduces_measurements(self) -> None:
        """Predictions equal measurements where there are some, and are near elsewhere."""
        rng = random.Random(1)
        measurements = {c: _hill(c) for c in (DEFAULT_SPACE.random(rng) for _ in range(100))}
        predictor = Predictor(DEFAULT_SPACE, measurements)
        mean, _ = predictor.predict(list(measurements))
        assert mean == pytest.approx(list(measurements.values()), abs=0.02)
        new = [DEFAULT_SPACE.random(rng) for _ in range(100)]
        mean, covariance = predictor.predict(new)
        error = mean - [_hill(chromosome) for chromosome in new]
        assert np.sqrt(np.mean(error**2)) < 0.1
        deviation = np.sqrt(covariance.diagonal())
        assert np.mean(np.abs(error) < 2 * deviation) > 0.8

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many experiments only a part is fitted, but all measurements are reproduced."""
        monkeypatch.setattr("ccbench.raygen.analysis.predictor._MAX_FITTED", 50)
        rng = random.Random(1)
        measurements = {c: _hill(c) for c in (DEFAULT_SPACE.random(rng) for _ in range(200))}
        mean, _ = Predictor(DEFAULT_SPACE, measurements).predict(list(measurements))
        assert mean == pytest.approx(list(measurements.values()), abs=0.02)

    def test_uncertainty_grows_with_distance(self) -> None:
        """The uncertainty grows with the distance from the measurements."""
        measurements: dict[Chromosome, float]
        measurements = {
            (bandwidth, 40.0, 1.0, 2, 2): bandwidth / 100 for bandwidth in (25.0, 35.0, 50.0)
        }
        farther = [(bandwidth, 40.0, 1.0, 2, 2) for bandwidth in (50.0, 70.0, 140.0, 400.0)]
        _, covariance = Predictor(DEFAULT_SPACE, measurements).predict(farther)
        variance = covariance.diagonal().tolist()
        assert variance == sorted(variance)

    def test_noise(self) -> None:
        """Scatter that no gene explains is treated as noise, not as harm."""
        rng = random.Random(1)
        measurements = {DEFAULT_SPACE.random(rng): rng.gauss(0, 0.1) for _ in range(150)}
        predictor = Predictor(DEFAULT_SPACE, measurements)
        assert predictor.noise == pytest.approx(0.01, rel=0.3)

    def test_no_scatter(self) -> None:
        """Constant harm is predicted everywhere."""
        rng = random.Random(1)
        measurements = {DEFAULT_SPACE.random(rng): 0.25 for _ in range(20)}
        mean, _ = Predictor(DEFAULT_SPACE, measurements).predict([DEFAULT_SPACE.random(rng)])
        assert mean == pytest.approx([0.25])


class TestMostPromising:
    def test_uncertainty_counts(self) -> None:
        """Of two equal predictions the less certain one is tried first."""
        assert [1, 0] == most_promising(np.zeros(2), np.diag([0.01, 0.04]), noise=0.01, n=2)

    def test_harm_counts(self) -> None:
        """Of two equally certain predictions the more harmful is tried first."""
        assert [1, 0] == most_promising(np.array([0.1, 0.2]), np.eye(2), noise=0.01, n=2)

    def test_likes_are_not_tried_together(self) -> None:
        """Candidates correlated with a chosen one come after the others."""
        alike = np.array([[1.0, 0.99, 0.0], [0.99, 1.0, 0.0], [0.0, 0.0, 1.0]])
        order = most_promising(np.array([0.2, 0.19, 0.1]), alike, noise=0.01, n=3)
        assert [0, 2, 1] == order
