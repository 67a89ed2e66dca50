# SPDX-License-Identifier: Apache-2.0
"""The second stage: trees on measurements, and limits for unknown CCAs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.base.random_streams import stream
from ccbench.classify import training_set as sets
from ccbench.classify.directions import Directions
from ccbench.classify.reaction_limits import choose_limits
from ccbench.classify.reactions import Limit, Limits, Opinion, Reactions, noise_level, opinion
from ccbench.classify.setting import SETTINGS
from ccbench.classify.trace import QueueTrace
from ccbench.classify.training import Sample, Variation, noisy_variation
from ccbench.classify.verdict import judge

if TYPE_CHECKING:
    from pathlib import Path

#: CCAs of which each has its own centre of measurements.
CENTRES = {"aimd": 6, "delay": 14, "model": 26}
N_MEASUREMENTS = 30
N_PATHS = 40


def measured(centre: float, spread: float, *words: object) -> np.ndarray:
    """Return measurements around a centre."""
    values = stream(3, "measured", *map(str, words)).normal(centre, spread, N_MEASUREMENTS)
    return np.clip(np.rint(values), 1, 32).astype(np.uint8)


def lossy(values: np.ndarray) -> np.ndarray:
    """Return measurements whose first third, such as the number of decreases, tells of losses."""
    third = np.arange(N_MEASUREMENTS) < N_MEASUREMENTS // 3
    return np.where(third, 32, values).astype(np.uint8)


def sample(cca: str, number: int, setting: int = 0) -> Sample:
    """Return a sample on a path, whose loss widens the measurements and shifts some of them."""
    loss = 0.0 if number % 2 else 5e-3
    own = measured(CENTRES.get(cca, 20), 6 if loss else 2, cca, number, setting)
    return Sample(
        cca=cca,
        setting=SETTINGS[setting],
        variation=Variation(name=f"path {number}", loss=loss),
        seed=number,
        points=np.full(1000, CENTRES.get(cca, 20), dtype=np.float32),
        measured=lossy(own) if loss else own,
    )


@pytest.fixture(scope="module")
def rows() -> list[Sample]:
    """Give samples of three CCAs on paths with and without loss, in two settings."""
    return [
        sample(cca, number, setting)
        for setting in (0, 1)
        for cca in CENTRES
        for number in range(N_PATHS)
    ]


@pytest.fixture(scope="module")
def limits(rows: list[Sample]) -> Limits:
    """Give the limits of the samples."""
    return choose_limits(rows)


@pytest.fixture(scope="module")
def trees(rows: list[Sample]) -> list[Reactions]:
    """Give the trees of both settings."""
    return [
        Reactions([row for row in rows if row.setting == setting], sorted(CENTRES))
        for setting in SETTINGS[:2]
    ]


@pytest.fixture(scope="module")
def training_set(rows: list[Sample]) -> sets.TrainingSet:
    """Give a training set with both stages."""
    calm = [row for row in rows if row.seed % 2]
    noisy = [row for row in rows if not row.seed % 2]
    tested = [replace(row, points=row.points + 1) for row in calm]
    return sets.train(calm, tested, {}, noisy)


def asked(trees: list[Reactions], limits: Limits, centre: float, seed: int) -> Opinion:
    """Return the opinion of a server with these measurements."""
    return opinion(trees, [measured(centre, 2, "asked", seed, i) for i in (0, 1)], limits)


class TestReactions:
    def test_probabilities(self, trees: list[Reactions]) -> None:
        """Probabilities are above 0 for known CCAs only, and their sum is 1."""
        values = np.stack([measured(14, 2, i) for i in range(20)])
        own = Reactions([sample("delay", i) for i in range(9)], sorted(CENTRES))
        assert (own.probabilities(values) == [0, 1, 0]).all()
        np.testing.assert_allclose(1, trees[0].probabilities(values).sum(axis=1))

    def test_noise(self, trees: list[Reactions]) -> None:
        """The noise of measurements like those of lossy paths is that of these paths."""
        values = np.stack([measured(14, 2, "noise", i) for i in range(40)])
        (_, calm), (_, noisy) = (
            trees[0].compare(own, ["delay"] * 40) for own in (values, lossy(values))
        )
        assert calm.max() < 0.1
        assert noisy.min() > 0.8

    def test_distances(self) -> None:
        """A distance is 0 from three equal rows, at most 3, and infinite without rows."""
        one = sample("aimd", 1)
        own = Reactions([one, one, one, sample("aimd", 2)], ["aimd", "none"])
        values = np.stack([one.measured, np.full_like(one.measured, 32), one.measured])
        (same, far, none), _ = own.compare(values, ["aimd", "aimd", "none"])
        assert same == 0 < far <= 3
        assert np.isinf(none)


class TestDirections:
    @pytest.fixture
    def directions(self) -> Directions:
        """Give the directions of two CCAs on a line, and one beside it."""
        rng = stream(5, "directions")
        along = rng.uniform(0, 60, 240)
        rows = rng.normal(100, 1, (240, 4)) + np.stack([along, along, *np.zeros((2, 240))], axis=1)
        names = np.repeat(["left", "right", "beside"], 80)
        rows[names == "right", 0] += 60
        rows[names == "beside", 2] += 60
        return Directions(np.rint(rows).astype(np.uint8), names.tolist(), np.zeros(240))

    def test_along(self, directions: Directions) -> None:
        """Values within a CCA are nearer to it than those beyond it, those beside it farther."""
        middle, beyond, beside = np.full((3, 4), 100, dtype=np.uint8) + np.array(
            [[30, 30, 0, 0], [75, 75, 0, 0], [30, 30, 30, 0]], dtype=np.uint8
        )
        own = directions.distances(np.stack([middle, beyond, beside]), "left")
        assert own[0] < own[1] < own[2]

    def test_others(self, directions: Directions) -> None:
        """Values of a CCA are nearer to it than to others; a CCA without rows is infinitely far."""
        value = np.array([[190, 130, 100, 100]], dtype=np.uint8)
        left, right, none = (directions.distances(value, cca) for cca in ("left", "right", "none"))
        assert right < left < none == np.inf


class TestLimits:
    def test_shares(self, trees: list[Reactions], limits: Limits) -> None:
        """Of traces on unseen paths, 98 % are familiar."""
        one, two = limits.confidences
        assert len(one) == len(two) == len(limits.levels) + 1
        familiar = []
        for cca in CENTRES:
            for number in range(N_PATHS, 2 * N_PATHS):
                own = opinion(trees[:1], [sample(cca, number).measured], limits)
                familiar.append(own.is_familiar)
        assert np.mean(familiar) > 0.9

    def test_more_traces(self, limits: Limits) -> None:
        """The limits of the largest number of traces are those of more traces too."""
        assert limits.of("aimd", 0.1, 2) == limits.of("aimd", 0.1, 7)

    def test_wrong(self) -> None:
        """Labels of two CCAs that cannot be told apart are hardly ever confident."""
        same = [
            replace(sample("aimd", number), cca=cca, measured=measured(14, 4, cca, number))
            for cca in ("one", "two")
            for number in range(80)
        ]
        limits = choose_limits(same)
        trees = Reactions(same, ["one", "two"])
        values = [measured(14, 4, "asked", number) for number in range(100)]
        clear = [opinion([trees], [value], limits).is_confident for value in values]
        assert np.mean(clear) < 0.1


class TestOpinion:
    def test_known(self, trees: list[Reactions], limits: Limits) -> None:
        """A server like a known CCA is labelled with confidence, and familiar."""
        for cca, centre in CENTRES.items():
            own = [asked(trees, limits, centre, seed) for seed in range(10)]
            assert {cca} == {each.label for each in own}
            assert sum(each.is_confident and each.is_familiar for each in own) >= 9

    def test_unknown(self, trees: list[Reactions], limits: Limits) -> None:
        """A server unlike all known CCAs is not confident or not familiar."""
        own = [asked(trees, limits, 20, seed) for seed in range(10)]
        assert not any(each.is_confident and each.is_familiar for each in own)

    def test_deterministic(self, rows: list[Sample], limits: Limits) -> None:
        """Trees of the same rows have the same opinion."""
        first, second = (
            [
                Reactions([row for row in rows if row.setting == one], sorted(CENTRES))
                for one in SETTINGS[:2]
            ]
            for _ in range(2)
        )
        assert asked(first, limits, 10, 1) == asked(second, limits, 10, 1)

    def test_warnings(self, rows: list[Sample]) -> None:
        """Training leaves the process's filters of warnings as they are; threads empty the list."""
        before = list(warnings.filters)
        for _ in range(10):
            Reactions(rows, sorted(CENTRES))
        assert before == list(warnings.filters)


class TestNoiseLevel:
    @pytest.mark.parametrize("loss", [0.0, 1e-6])
    def test_calm(self, loss: float) -> None:
        """A path with no or a negligible loss has level 0."""
        assert 0 == noise_level(Variation(name="calm", loss=loss))

    def test_monotonic(self) -> None:
        """More loss or more cross traffic is more noise, up to 1."""
        by_loss = [noise_level(Variation(name="l", loss=x)) for x in (1e-4, 1e-3, 1e-2, 0.1)]
        by_share = [noise_level(Variation(name="s", cross_share=x)) for x in (0.01, 0.1, 0.2)]
        assert sorted(by_loss) == by_loss
        assert sorted(by_share) == by_share
        assert by_loss[-1] == by_share[-1] == 1


class TestJudge:
    def server(self, points: float, centre: float) -> list[QueueTrace]:
        """Return traces whose occupancy is like one CCA, and their measurements like another."""
        return [
            QueueTrace(
                setting=setting,
                points=np.full(1000, points, dtype=np.float32),
                measured=measured(centre, 2, "server", setting.name),
            )
            for setting in SETTINGS[:2]
        ]

    def test_agreement(self, training_set: sets.TrainingSet) -> None:
        """Two stages that agree on a CCA give its name."""
        assert "delay" == judge(self.server(14, 14), training_set).label

    def test_far_occupancy(self, training_set: sets.TrainingSet) -> None:
        """A trace that is far from all others gets the label of its usual reactions."""
        verdict = judge(self.server(50, 14), training_set)
        assert {"unknown"} == {trace.label for trace in verdict.traces}
        assert "delay" == verdict.label

    def test_added(self, training_set: sets.TrainingSet) -> None:
        """The vote finds a CCA that was added after the limits were chosen."""
        added = [
            replace(sample("late", 1, setting), measured=measured(20, 2, setting))
            for setting in (0, 1)
            for _ in range(2)
        ]
        verdict = judge(self.server(20, 20), sets.extended(training_set, added))
        assert "late" == verdict.label

    def test_agreement_on_a_far_one(self, training_set: sets.TrainingSet) -> None:
        """A label that is not familiar is the answer only if the vote agrees."""
        assert training_set.limits is not None
        strict = replace(training_set, limits=replace(training_set.limits, familiarities=(2, 2)))
        labels = [judge(self.server(points, 14), strict).label for points in (14, 50)]
        assert ["delay", "unknown"] == labels

    def test_unusual_reactions(self, training_set: sets.TrainingSet) -> None:
        """Unusual reactions are unknown, whatever the vote."""
        verdict = judge(self.server(6, 20), training_set)
        assert {"aimd"} == {trace.label for trace in verdict.traces}
        assert "unknown" == verdict.label

    def test_without_measurements(self, training_set: sets.TrainingSet) -> None:
        """Without measurements of all traces, the vote decides."""
        first, second = self.server(6, 20)
        verdict = judge([first, replace(second, measured=second.measured[:0])], training_set)
        assert verdict.reactions is None
        assert "aimd" == verdict.label

    def test_without(self, training_set: sets.TrainingSet) -> None:
        """A CCA that is removed from the training set is in neither stage."""
        reduced = training_set.without("delay")
        assert ("aimd", "model") == reduced.ccas
        verdict = judge(self.server(14, 14), reduced)
        assert verdict.reactions is not None
        assert "delay" not in {verdict.reactions.label, *verdict.traces[0].distances}

    def test_one_cca(self, training_set: sets.TrainingSet) -> None:
        """With one CCA there is no second stage, and the vote decides."""
        verdict = judge(self.server(14, 14), training_set.without("aimd", "model"))
        assert verdict.reactions is None
        assert "delay" == verdict.label

    def test_unnamed_implementation(self, training_set: sets.TrainingSet) -> None:
        """Samples without a variant, or of some settings only, do not hide the others' names."""
        old = tuple(replace(row, variant="old") for row in training_set.samples)
        one = next(row for row in training_set.samples if row.cca == "delay")
        more = (one, replace(one, variant="new"))
        both = replace(training_set, samples=(*old, *more))
        assert "old" == judge(self.server(14, 14), both).variant

    def test_stored(self, training_set: sets.TrainingSet, tmp_path: Path) -> None:
        """A stored training set gives the same verdict, and has the same digest."""
        training_set.save(tmp_path / "set.parquet")
        loaded = sets.TrainingSet.load(tmp_path / "set.parquet")
        assert training_set.digest == loaded.digest
        server = self.server(50, 14)
        assert judge(server, training_set) == judge(server, loaded)

    def test_variant(self, training_set: sets.TrainingSet) -> None:
        """The answer names the implementation that is clearly nearer, and none in between."""
        older = tuple(
            replace(row, variant=variant, points=row.points + more)
            for row in training_set.samples
            for variant, more in (("new", 0), ("old", 4))
        )
        both = replace(training_set, samples=older)
        variants = [judge(self.server(points, 14), both).variant for points in (14, 16, 18)]
        assert ["new", "", "old"] == variants


class TestNoisyVariation:
    def test_independent(self) -> None:
        """Paths of different numbers differ, and their losses and shares are not related."""
        paths = [noisy_variation(number) for number in range(400)]
        assert len({replace(path, name="") for path in paths}) > 390
        loss, rtt = (
            np.array([getattr(path, name) for path in paths]) for name in ("loss", "extra_rtt_ms")
        )
        assert abs(np.corrcoef(loss[:-1], loss[1:])[0, 1]) < 3 / 400**0.5
        assert abs(np.corrcoef(loss, rtt)[0, 1]) < 3 / 400**0.5

    def test_kinds(self) -> None:
        """Most paths have loss, nearly half cross traffic, and no combination is rare."""
        paths = [noisy_variation(number) for number in range(800)]
        assert 0.6 == pytest.approx(np.mean([path.loss > 0 for path in paths]), abs=0.06)
        assert 0.45 == pytest.approx(np.mean([path.cross_share > 0 for path in paths]), abs=0.06)
        for has_loss in (False, True):
            for has_cross in (False, True):
                share = np.mean(
                    [
                        (path.loss > 0, path.cross_share > 0) == (has_loss, has_cross)
                        for path in paths
                    ]
                )
                assert share > 0.15


@pytest.fixture
def two() -> Limits:
    """Give limits of two CCAs, of which the second is less certain with noise."""
    return Limits(
        ccas=("a", "b"),
        weights=(((0, 1, -1), (1, 2, -3)),),
        terms=((1, -2),),
        familiarities=(0.3,),
        levels=(),
        confidences=((0.6,),),
    )


def test_decimals(limits: Limits) -> None:
    """Fitted limits have six decimals: more depend on the order in which a processor adds."""
    values = np.concatenate([np.ravel(part) for part in (limits.weights, limits.terms)])
    values = np.concatenate([values, np.ravel(limits.confidences), limits.familiarities])
    assert values.any()
    assert np.array_equal(values, values.round(6))


def test_confidence(two: Limits) -> None:
    """Confidence rises with the ratio of probabilities, and falls with noise."""
    by_ratio = [two.confidence("b", ratio, 0.2, 3) for ratio in (0, 1, 2)]
    by_noise = [two.confidence("b", 1, noise, 3) for noise in (0.9, 0.5, 0)]
    assert sorted(by_ratio) == by_ratio
    assert sorted(by_noise) == by_noise
    assert two.confidence("a", 0, 0, 1) == 0.5


def test_familiarity(two: Limits) -> None:
    """Familiarity falls with a term of negative weight, also for more traces than in training."""
    actual = [two.familiarity("b", np.array([1, term]), 3) for term in (2, 1, 0.5)]
    assert sorted(actual) == actual
    assert 0.5 == actual[-1]


def test_added_later(two: Limits) -> None:
    """The label of a CCA that was added later has no confidence, and its limits exclude all."""
    assert two.confidence("c", 9, 0, 1) == 0 == two.familiarity("c", np.zeros(2), 1)
    assert Limit(confidence=1.0, familiarity=1.0) == two.of("c", 0.5, 1)
