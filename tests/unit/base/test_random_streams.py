# SPDX-License-Identifier: Apache-2.0
"""Random streams, compared with the theory of independent streams.

Seeds are fixed, so each test passes always or never. Bounds are those that independent streams
would miss with a probability of one in a million, corrected for the number of comparisons.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

import ccbench
from ccbench.base.errors import InputError
from ccbench.base.random_streams import derived_seed, repetition_seeds, standard_stream, stream
from ccbench.experiment.traffic import FlowMix, divided

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Probability that a test fails by chance if streams are independent.
MISS = 1e-6

_DRAWS = 4096

#: Similar labels: their parts have the same characters, or are close to each other.
LABELS = (
    *((name, i) for name in ("loss", "jitter") for i in range(30)),
    *(("a", 12), ("a1", 2), ("a12",), ("a", "12"), ("a", "1", "2"), ("a", 1, 2), (12, "a")),
    *((), ("",), (0,), ("0",)),
)


def assert_uncorrelated(streams: Iterable[np.ndarray]) -> None:
    """Check that no two of many uniform streams are correlated.

    Without correlation the coefficient of n draws has a standard deviation of 1/sqrt(n).
    """
    coefficients = np.corrcoef(np.array(list(streams)))
    pairs = coefficients[np.triu_indices_from(coefficients, k=1)]
    bound = norm.isf(MISS / 2 / len(pairs)) / np.sqrt(_DRAWS)
    assert np.abs(pairs).max() < bound


class TestStreams:
    def test_consecutive_seeds_are_uncorrelated(self) -> None:
        """Consecutive integers are as good as any other seeds."""
        assert_uncorrelated(stream(seed, "loss").random(_DRAWS) for seed in range(64))

    def test_labels_are_uncorrelated(self) -> None:
        """Streams of one seed are independent if their labels differ in any part."""
        assert_uncorrelated(stream(1, *label).random(_DRAWS) for label in LABELS)

    def test_standard_streams_are_uncorrelated(self) -> None:
        """Streams of the standard library's generators are independent too."""
        streams = [standard_stream(seed, *label) for seed in (1, 2) for label in LABELS[:30]]
        assert_uncorrelated(
            np.array([generator.random() for _ in range(_DRAWS)]) for generator in streams
        )

    def test_first_draws_over_seeds(self) -> None:
        """Over consecutive seeds, each of the first draws is uniform."""
        draws = np.array([stream(seed, "loss").random(20) for seed in range(2000)])
        assert min(kstest(column, "uniform").pvalue for column in draws.T) > MISS / 20

    def test_equal_streams(self) -> None:
        """The same seed and label draw the same numbers, in NumPy and in the standard library."""
        assert stream(3, "a", 1).random(5).tolist() == stream(3, "a", 1).random(5).tolist()
        assert standard_stream(3, "a", 1).random() == standard_stream(3, "a", 1).random()


class TestDerivedSeeds:
    def test_no_collisions(self) -> None:
        """Of 135,000 seeds no two are equal; random seeds collide with a probability of 1e-6."""
        labels = [*LABELS, *((name, i) for name in "xyz" for i in range(15_000))]
        seeds = [derived_seed(seed, *label) for seed in range(3) for label in labels]
        assert len(seeds) == len(set(seeds))
        assert 0 <= min(seeds) <= max(seeds) < 2**53


class TestRepetitionSeeds:
    def test_first_is_requested(self) -> None:
        """A single run has the requested seed."""
        assert (7,) == repetition_seeds(7, 1)

    def test_more_only_append(self) -> None:
        """A larger number of repetitions includes all runs of a smaller one."""
        seeds = repetition_seeds(1, 100)
        assert all(seeds[:count] == repetition_seeds(1, count) for count in range(1, 100))

    def test_no_run_in_common(self) -> None:
        """Repetitions of 200 consecutive seeds share no seed."""
        seeds = [repetition for seed in range(200) for repetition in repetition_seeds(seed, 50)]
        assert 200 * 50 == len(set(seeds))
        assert max(seeds) < 2**53

    def test_none(self) -> None:
        """Fewer than one repetition is refused."""
        with pytest.raises(InputError, match="count is 0"):
            repetition_seeds(1, 0)


class TestFlowMixes:
    def test_mixes_of_one_seed_are_independent(self) -> None:
        """Mixes of one seed that differ in any setting have no start time in common."""
        mix = FlowMix(sizes="pareto", load_mbps=20, stop_s=20)
        others = (
            *(replace(mix, sizes="heavy-tailed"), replace(mix, sizes=22_000)),
            *(replace(mix, load_mbps=21), replace(mix, start_s=1), replace(mix, stop_s=21)),
            replace(mix, seed=2),
        )
        mixes = [first.arrivals() for first in (mix, *others)]
        for first, second in itertools.combinations(mixes, 2):
            assert not {start for start, _ in first} & {start for start, _ in second}

    def test_groups_of_different_flows_are_independent(self) -> None:
        """Two mixes divided with one seed have equal groups as often as by chance."""
        mixes = [
            FlowMix(sizes=size, load_mbps=20, stop_s=20).arrivals()[:2000]
            for size in (20_000, 21_000)
        ]
        groups = []
        for mix in mixes:
            parts = divided(mix, 4)
            group_of = {flow: i for i, part in enumerate(parts) for flow in part}
            groups.append([group_of[flow] for flow in mix])
        equal = int(np.sum(np.array(groups[0]) == np.array(groups[1])))
        assert binom.ppf(MISS, 2000, 1 / 4) < equal < binom.isf(MISS, 2000, 1 / 4)

    def test_more_flows_are_divided_alike(self) -> None:
        """Flows added at the end do not change the groups of the others."""
        flows = FlowMix(sizes=20_000, load_mbps=20, stop_s=20).arrivals()
        whole, part = divided(flows, 3), divided(flows[:1000], 3)
        assert all(
            longer[: len(shorter)] == shorter for longer, shorter in zip(whole, part, strict=True)
        )


class TestOneMechanism:
    def test_seeds_become_generators_in_one_place(self) -> None:
        """Only one module of the package creates generators."""
        makers = {"default_rng", "SeedSequence", "Random", "RandomState", "PCG64", "seed"}
        package = Path(ccbench.__file__).parent
        places = [
            f"{path.relative_to(package)}:{node.lineno}"
            for path in package.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in makers
        ]
        assert {"base/random_streams.py"} == {place.partition(":")[0] for place in places}
