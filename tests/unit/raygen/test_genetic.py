# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.raygen import DEFAULT_SPACE, Candidate, Chromosome
from ccbench.raygen.strategies import genetic
from ccbench.raygen.strategies.genetic import Genetic, cross, mutate

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt


def _distance(chromosome: Chromosome) -> float:
    """Fitness with one peak, inside the space."""
    peak = (60.0, 50.0, 0.7, 4, 2)
    return -math.dist(DEFAULT_SPACE.coordinates(chromosome), DEFAULT_SPACE.coordinates(peak))


def _generations(search: Genetic) -> list[tuple[Candidate, ...]]:
    generations = []
    while candidates := search.ask():
        search.tell([_distance(candidate.chromosome) for candidate in candidates])
        generations.append(candidates)
    return generations


def _search(budget: int = 300, population: int = 60, seed: int = 1) -> Genetic:
    return Genetic(DEFAULT_SPACE, budget=budget, population=population, seed=seed)


class TestBudget:
    @pytest.mark.parametrize(
        ("budget", "population", "sizes"),
        [
            (300, 60, [60] + [30] * 8),  # the thesis: the budget is used up exactly
            (329, 60, [60] + [30] * 8),  # one short of another generation
            (330, 60, [60] + [30] * 9),
            (60, 60, [60]),
            (89, 60, [60]),
            (12, 8, [8, 4]),
            (12, 4, [4, 2, 2, 2, 2]),
        ],
    )
    def test_stops_before_the_budget_is_exceeded(
        self, budget: int, population: int, sizes: list[int]
    ) -> None:
        """A generation is run if and only if all of it fits into the budget (section 5.4)."""
        search = _search(budget, population)
        assert [len(generation) for generation in _generations(search)] == sizes
        assert list(search.sizes) == sizes

    @pytest.mark.parametrize("population", [0, 2, 3, 30, 61])
    def test_population_mates_in_pairs(self, population: int) -> None:
        """Half of the population must be a number of pairs."""
        with pytest.raises(InputError, match=rf"^population is {population}; it must be "):
            _search(population=population)


class TestGenerations:
    def test_best_never_gets_worse(self) -> None:
        """Parents survive, so the best of the population never falls."""
        search = _search()
        best = []
        while candidates := search.ask():
            search.tell([_distance(candidate.chromosome) for candidate in candidates])
            best.append(max(_distance(member.chromosome) for member in search.population))
        assert best == sorted(best)

    def test_beats_chance(self) -> None:
        """With the same budget the mean best is nearer to the peak than random search's."""
        genetic, chance = [], []
        for seed in range(10):
            actual = [c.chromosome for g in _generations(_search(seed=seed)) for c in g]
            genetic.append(max(map(_distance, actual)))
            rng = random.Random(seed)
            chance.append(max(_distance(DEFAULT_SPACE.random(rng)) for _ in range(300)))
        assert np.mean(genetic) > np.mean(chance)

    def test_population_keeps_its_size(self) -> None:
        """The parents and their children are as many as the population was."""
        search = _search()
        while candidates := search.ask():
            search.tell([_distance(candidate.chromosome) for candidate in candidates])
            assert len(search.population) == 60

    def test_fitter_half_survives_and_mates(self) -> None:
        """The parents of a generation are the fitter half of the previous population."""
        search = _search()
        first = search.ask()
        search.tell([_distance(candidate.chromosome) for candidate in first])
        ranked = sorted(first, key=lambda c: _distance(c.chromosome), reverse=True)
        children = search.ask()
        search.tell([_distance(candidate.chromosome) for candidate in children])
        assert search.population == (*ranked[:30], *children)
        pairs = [child.parents for child in children]
        assert sorted(n for pair in pairs[::2] for n in pair) == sorted(
            c.number for c in ranked[:30]
        )
        assert pairs[::2] == pairs[1::2]  # two children of each pair

    def test_children_stay_between_their_parents(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without mutation every gene of a child lies between those of its parents."""
        monkeypatch.setattr(f"{genetic.__name__}.MUTATION", 0.0)
        generations = _generations(_search())
        chromosomes = {c.number: c.chromosome for g in generations for c in g}
        for child in (c for g in generations[1:] for c in g):
            first, second = (chromosomes[number] for number in child.parents)
            genes = zip(child.chromosome, first, second, strict=True)
            for value, a, b in cast("Iterable[tuple[float, float, float]]", genes):
                assert min(a, b) <= value <= max(a, b)


class TestCross:
    def test_children_mirror_each_other(self) -> None:
        """Blended or not, one child takes from a parent what the other leaves (on the scale)."""
        rng = random.Random(1)
        a, b = (25.0, 10.0, 0.25, 1, 5), (400.0, 320.0, 5.0, 1, 5)
        for _ in range(200):
            first, second = cross(DEFAULT_SPACE, a, b, rng=rng)
            for i in (0, 1):
                product = cast("float", first[i]) * cast("float", second[i])
                assert product == pytest.approx(a[i] * b[i], rel=0.01)

    def test_each_gene_has_its_own_coin(self) -> None:
        """Half of the genes are blended on average, in all combinations, with own weights."""
        rng = random.Random(1)
        a, b = (25.0, 10.0, 0.25, 1, 1), (400.0, 320.0, 5.0, 1, 1)
        children = [cross(DEFAULT_SPACE, a, b, rng=rng)[0] for _ in range(4000)]
        blended = np.array([[child[i] != a[i] for i in range(3)] for child in children])
        assert blended.mean(axis=0) == pytest.approx(0.5, abs=0.03)
        assert len(np.unique(blended, axis=0)) == 8
        both = [child for child, row in zip(children, blended, strict=True) if row[0] and row[1]]
        genes = np.array([child[:2] for child in both], dtype=float)
        weights = np.log(genes / [25, 10]).T
        correlation: npt.NDArray[np.float64] = np.corrcoef(weights)
        assert abs(correlation[0, 1]) < 0.1

    def test_equal_parents(self) -> None:
        """The children of equal parents are their copies."""
        parent = DEFAULT_SPACE.random(random.Random(1))
        assert cross(DEFAULT_SPACE, parent, parent, rng=random.Random(2)) == (parent, parent)


class TestMutate:
    def test_two_genes_in_five(self) -> None:
        """Each gene mutates with probability 40 %: 2 of 5 on average."""
        rng = random.Random(1)
        chromosome = (25.0, 10.0, 0.25, 1, 1)
        mutants = [mutate(DEFAULT_SPACE, chromosome, rng=rng) for _ in range(4000)]
        changed = np.mean([[mutant[i] != chromosome[i] for i in range(3)] for mutant in mutants])
        assert changed == pytest.approx(0.4, abs=0.02)

    def test_three_children_in_ten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """30 % of the children mutate."""
        monkeypatch.setattr(
            "ccbench.raygen.strategies.genetic.CROSSOVER", 0.0
        )  # all other children are copies
        monkeypatch.setattr(f"{genetic.__name__}.GENE_MUTATION", 1.0)
        mutants = 0
        for seed in range(200):
            first, children = _generations(_search(budget=90, seed=seed))
            first_chromosomes = {candidate.chromosome for candidate in first}
            mutants += sum(child.chromosome not in first_chromosomes for child in children)
        assert mutants / (200 * 30) == pytest.approx(0.3, abs=0.02)


def _two_peaks(chromosome: Chromosome) -> float:
    """Fitness with two equal peaks, far apart."""
    place = DEFAULT_SPACE.coordinates(chromosome)
    peaks = ([0.2] * 5, [0.8] * 5)
    return max(math.exp(-10 * math.dist(place, peak) ** 2) for peak in peaks)


class TestCrowding:
    @staticmethod
    def _population(niching: str, seed: int) -> tuple[Candidate, ...]:
        search = Genetic(DEFAULT_SPACE, budget=1800, population=60, seed=seed, niching=niching)
        while candidates := search.ask():
            search.tell([_two_peaks(candidate.chromosome) for candidate in candidates])
        return search.population

    @pytest.mark.parametrize("seed", range(3))
    def test_keeps_both_peaks(self, seed: int) -> None:
        """With two equal peaks, crowding ends with a share of the population at each."""
        middle = [
            float(np.mean(DEFAULT_SPACE.coordinates(member.chromosome)))
            for member in self._population("crowding", seed)
        ]
        low = sum(place < 0.5 for place in middle)
        assert 10 <= low <= 50

    def test_without_crowding_one_peak_is_lost(self) -> None:
        """The plain algorithm loses diversity: its population spreads less than with crowding."""
        spread = {}
        for niching in ("none", "crowding"):
            places = [
                [DEFAULT_SPACE.coordinates(c.chromosome) for c in self._population(niching, seed)]
                for seed in range(3)
            ]
            spread[niching] = np.mean([np.std(of_one, axis=0).mean() for of_one in places])
        assert spread["none"] < spread["crowding"]

    def test_population_never_gets_worse(self) -> None:
        """A child replaces a parent only if it is as fit, so no rank of fitness ever falls."""
        search = Genetic(DEFAULT_SPACE, budget=600, population=60, seed=1, niching="crowding")
        before = np.full(60, -np.inf)
        while candidates := search.ask():
            search.tell([_distance(candidate.chromosome) for candidate in candidates])
            fitness = np.sort([_distance(member.chromosome) for member in search.population])
            assert (fitness >= before).all()
            before = fitness
