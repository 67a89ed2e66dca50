# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from ccbench.errors import InputError
from ccbench.raygen import DEFAULT_SPACE, Gene, Space

BANDWIDTH, RTT, QUEUE, ALPHA_FLOWS, BETA_FLOWS = DEFAULT_SPACE.genes


class TestGene:
    @pytest.mark.parametrize("gene", DEFAULT_SPACE.genes, ids=lambda gene: gene.name)
    def test_random_values_are_in_range(self, gene: Gene) -> None:
        """Random values lie between low and high, both included, and on the gene's steps."""
        rng = random.Random(1)
        values = [gene.random(rng) for _ in range(2000)]
        assert gene.low <= min(values) <= max(values) <= gene.high
        assert all(value == round(value, gene.decimals) for value in values)

    def test_log_scale(self) -> None:
        """Every doubling of the bandwidth is equally likely."""
        rng = random.Random(1)
        values = [BANDWIDTH.random(rng) for _ in range(8000)]
        counts, _ = np.histogram(values, bins=[25, 50, 100, 200, 400])
        assert counts == pytest.approx(2000, rel=0.1)

    def test_linear_scale(self) -> None:
        """On a linear scale equal intervals are equally likely."""
        gene = Gene(name="rtt_ms", low=10, high=50, scale="linear")
        rng = random.Random(1)
        counts, _ = np.histogram([gene.random(rng) for _ in range(8000)], bins=4)
        assert counts == pytest.approx(2000, rel=0.1)

    def test_whole_numbers_on_a_log_scale(self) -> None:
        """Flow counts 1 to 5 are drawn with probability ~ log(1 + 1/n), the ends not halved."""
        rng = random.Random(1)
        counts = Counter(ALPHA_FLOWS.random(rng) for _ in range(20000))
        for n in range(1, 6):
            assert counts[n] / 20000 == pytest.approx(np.log(1 + 1 / n) / np.log(6), rel=0.1)

    @pytest.mark.parametrize("gene", DEFAULT_SPACE.genes, ids=lambda gene: gene.name)
    def test_unit_value(self, gene: Gene) -> None:
        """Every value has a place from 0 to 1 on its scale, and that place has the value."""
        rng = random.Random(1)
        values = sorted(gene.random(rng) for _ in range(500))
        places = [gene.unit_value(value) for value in values]
        assert 0 <= places[0] <= places[-1] <= 1
        assert places == sorted(places)
        assert values == [gene.at(place) for place in places]
        assert (gene.low, gene.high) == (gene.at(0), gene.at(1))

    def test_levels_are_exponentially_spaced(self) -> None:
        """On a log scale each level is as many times the one before it, from end to end."""
        assert (25, 50, 100, 200, 400) == BANDWIDTH.levels(5)
        assert (100,) == BANDWIDTH.levels(1)
        assert (10, 20, 30) == Gene(name="rtt_ms", low=10, high=30, scale="linear").levels(3)

    @pytest.mark.parametrize("high", [1, 5, 12])
    def test_levels_of_whole_numbers(self, high: int) -> None:
        """Whole numbers are never named twice, and all of them if there are enough levels."""
        gene = Gene(name="alpha_flows", low=1, high=high, scale="int-log")
        assert tuple(range(1, high + 1)) == gene.levels(gene.size) == gene.levels(gene.size + 1)
        for count in range(2, gene.size):
            levels = gene.levels(count)
            assert len(set(levels)) == len(levels) <= count
            assert {1, high} <= set(levels)

    @pytest.mark.parametrize("gene", DEFAULT_SPACE.genes, ids=lambda gene: gene.name)
    def test_blend_stays_between_its_parents(self, gene: Gene) -> None:
        """Whatever the weight, a blend is never outside the interval of the two values."""
        rng = random.Random(2)
        for _ in range(2000):
            ours, theirs = gene.random(rng), gene.random(rng)
            assert min(ours, theirs) <= gene.blend(ours, theirs, rng.random()) <= max(ours, theirs)

    @pytest.mark.parametrize("gene", DEFAULT_SPACE.genes, ids=lambda gene: gene.name)
    def test_ends_of_a_blend(self, gene: Gene) -> None:
        """Weight 0 is the one value, weight 1 the other."""
        rng = random.Random(3)
        for _ in range(500):
            ours, theirs = gene.random(rng), gene.random(rng)
            assert gene.blend(ours, theirs, 0.0) == ours
            assert gene.blend(ours, theirs, 1.0) == theirs

    def test_blend_is_taken_on_the_scale(self) -> None:
        """Half way is the geometric mean on a log scale and the arithmetic one on a linear."""
        assert RTT.blend(10, 160, 0.5) == 40
        assert Gene(name="rtt_ms", low=10, high=160, scale="linear").blend(10, 160, 0.5) == 85

    def test_blend_of_whole_numbers_is_unbiased(self) -> None:
        """Between 1 and 2 flows both are equally likely: blending does not drift to few flows."""
        rng = random.Random(4)
        counts = Counter(ALPHA_FLOWS.blend(1, 2, rng.random()) for _ in range(4000))
        assert counts[1] == pytest.approx(counts[2], rel=0.1)

    def test_fixed_gene(self) -> None:
        """A gene whose ends are equal always has that value."""
        gene = Gene(name="queue_bdp", low=1.0, high=1.0)
        assert gene.random(random.Random(1)) == gene.blend(1.0, 1.0, 0.3) == 1.0
        assert (1, (1.0,), (1.0,)) == (gene.size, gene.levels(1), gene.levels(7))
        assert gene.at(gene.unit_value(1.0)) == 1.0

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"name": "bandwith_mbps"}, "did you mean bandwidth_mbps?"),
            ({"low": 0}, r"^rtt_ms\.low is 0"),
            ({"low": 99.0}, r"^rtt_ms\.high is 50; it must be at least rtt_ms\.low = 99"),
            ({"scale": "cubic"}, r"^rtt_ms\.scale is 'cubic'"),
            ({"scale": "int-log", "low": 1.5}, r"^rtt_ms\.low is 1\.5; .* whole number"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        """A gene that cannot be is refused with the reason."""
        settings: dict[str, Any] = {"name": "rtt_ms", "low": 10, "high": 50}
        with pytest.raises(InputError, match=message):
            Gene(**settings | change)


class TestSpace:
    def test_default_is_the_thesis(self) -> None:
        """The ranges are those of section 5.4."""
        assert {gene.name: (gene.low, gene.high) for gene in DEFAULT_SPACE.genes} == {
            "bandwidth_mbps": (25, 400),
            "rtt_ms": (10, 320),
            "queue_bdp": (0.25, 5),
            "alpha_flows": (1, 5),
            "beta_flows": (1, 5),
        }

    def test_values_are_named(self) -> None:
        """A chromosome's values get the names of the genes in their places."""
        assert DEFAULT_SPACE.values((100.0, 40.0, 1.0, 2, 3)) == {
            "bandwidth_mbps": 100.0,
            "rtt_ms": 40.0,
            "queue_bdp": 1.0,
            "alpha_flows": 2,
            "beta_flows": 3,
        }

    @pytest.mark.parametrize("genes", [(), (BANDWIDTH, RTT, QUEUE, ALPHA_FLOWS)])
    def test_missing_gene(self, genes: tuple[Gene, ...]) -> None:
        """An empty space, or one without a gene, is refused."""
        with pytest.raises(InputError, match=r"^number of genes \w+ is 0; it must be 1"):
            Space(genes)

    def test_gene_twice(self) -> None:
        """A gene that is there twice is refused."""
        with pytest.raises(InputError, match=r"^number of genes rtt_ms is 2; it must be 1"):
            Space((*DEFAULT_SPACE.genes, RTT))
