# SPDX-License-Identifier: Apache-2.0
"""The studies about searches on tables whose outcome is known. No virtual kernel takes part."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.raygen import SearchConfig, SearchResult
from ccbench.studies import Comparison, Findings, SearchStudy, get
from ccbench.studies.ware_raygen import reno_against_westwood

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ccbench.raygen import Chromosome

#: Harms of 300 scenarios, in random order, from 0 to 0.3.
HARMS = np.random.default_rng(1).permutation(300) / 1000


def found(
    config: SearchConfig,
    harms: Any,
    *,
    fresh: float = 0.1,
    chromosomes: Sequence[Chromosome] | None = None,
) -> SearchResult:
    """Make what a search has found: these harms, and claims that show `fresh` with fresh seeds."""
    rng = random.Random(config.seed)
    space = config.space
    chosen = chromosomes or [space.random(rng) for _ in harms]
    experiments = pd.DataFrame([space.values(chromosome) for chromosome in chosen])
    experiments.insert(0, "number", range(len(harms)))
    experiments.insert(1, "generation", 1 + np.maximum(np.arange(len(harms)) - 30, 0) // 30)
    experiments["relative_harm"] = np.asarray(harms, dtype=float)
    experiments["error"] = np.where(experiments["relative_harm"].isna(), "it failed", "")
    claims = pd.DataFrame({"rank": range(1, 6), "found_harm": 0.3, "relative_harm": fresh})
    return SearchResult(config=config, experiments=experiments, claims=claims, provenance={})


def conclude(name: str, results: Iterable[SearchResult]) -> Findings:
    """Conclude as a study does; its figure has something to see."""
    study = get(name)
    assert isinstance(study, SearchStudy)
    findings = study.conclude(list(results))
    assert all(axes.has_data() for axes in findings.figure.axes)
    return findings


def compared(findings: Findings) -> dict[str, Comparison]:
    """Return the comparisons by what they compare."""
    return {comparison.what: comparison for comparison in findings.comparisons}


def rivals(
    genetic: float, surrogate: float, seed: int = 1, fresh: Mapping[str, float] | None = None
) -> list[SearchResult]:
    """Let the strategies that learn find by so much more than random search does."""
    more = {"genetic": genetic, "surrogate": surrogate, "random": 0.0}
    return [
        found(
            reno_against_westwood(strategy, seed),  # type: ignore[arg-type] # they are strategies
            HARMS + more[strategy],
            fresh=(fresh or {}).get(strategy, 0.1 + more[strategy]),
        )
        for strategy in more
    ]


SWEEP = found(reno_against_westwood("sweep"), np.linspace(-0.2, 0.25, 960))


class TestTop100:
    def test_better(self) -> None:
        """Where the genetic search finds 0.05 more and the surrogate 0.1, all agrees."""
        findings = conclude("ware-5.13", [*rivals(0.05, 0.1), SWEEP])
        by_what = compared(findings)
        assert len(by_what) == 12
        for what, comparison in by_what.items():
            expected = 0.1 if what.startswith("surrogate less random") else 0.05
            assert comparison.ours == pytest.approx(expected), what
            assert comparison.agrees, what

    @pytest.mark.parametrize("genetic", [0.0, -0.05])
    def test_no_better(self, genetic: float) -> None:
        """Where the genetic search finds as much as random search, or less, it does not agree."""
        findings = conclude("ware-5.13", [*rivals(genetic, 0.1), SWEEP])
        published = [c for c in findings.comparisons if c.what.startswith("genetic less random")]
        assert len(published) == 4
        assert not any(comparison.agrees for comparison in published)

    def test_luck(self) -> None:
        """What was luck shows with fresh seeds: more was seen, but the claims hold less."""
        results = [*rivals(0.05, 0.1, fresh={"genetic": 0.02, "random": 0.03}), SWEEP]
        by_what = compared(conclude("ware-5.13", results))
        assert by_what["genetic less random: best"].agrees
        fresh = by_what["genetic less random: mean of the claims, fresh seeds"]
        assert fresh.ours == pytest.approx(-0.01)
        assert not fresh.agrees

    def test_top_table(self) -> None:
        """The table has 100 of each, the worst first; neither copies nor what failed is in it."""
        genetic, *others = rivals(0.05, 0.1)
        copies = [
            genetic.config.space.chromosome(row)
            for row in genetic.experiments.head(40).to_dict("records")
        ]
        harms = np.concatenate([[math.nan], HARMS[1:]])
        genetic = found(genetic.config, harms, chromosomes=(copies * 8)[:300])
        table = conclude("ware-5.13", [genetic, *others, SWEEP]).table
        sizes = table.groupby("strategy").size().to_dict()
        assert sizes == {"genetic": 40, "surrogate": 100, "random": 100, "sweep": 100}
        for _, of_one in table.groupby("strategy"):
            assert of_one["rank"].tolist() == list(range(1, len(of_one) + 1))
            assert of_one["relative_harm"].is_monotonic_decreasing


class TestRepetitions:
    @pytest.mark.parametrize(("third", "agrees"), [(0.01, True), (0.0, False), (-0.02, False)])
    def test_each(self, third: float, agrees: bool) -> None:  # noqa: FBT001 - a parameter
        """The smallest difference counts: one repetition in which it is no better is enough."""
        results = [*rivals(0.05, 0.1), *rivals(0.05, 0.1, seed=2), *rivals(third, 0.1, seed=3)]
        findings = conclude("ware-5.17", [*results, SWEEP])
        assert len(findings.figure.axes) == 3
        best = compared(findings)["genetic less random: best"]
        assert best.ours == pytest.approx(third)
        assert best.agrees is agrees
        assert f"+0.050, +0.050, {third:+.3f}" in best.note

    def test_claims_that_all_failed(self) -> None:
        """A repetition without a number agrees with nothing, however good the others are."""
        results = [*rivals(0.05, 0.1), *rivals(0.05, 0.1, seed=2, fresh={"genetic": math.nan})]
        findings = conclude("ware-5.17", [*results, SWEEP])
        fresh = compared(findings)["genetic less random: mean of the claims, fresh seeds"]
        assert math.isnan(fresh.ours)
        assert not fresh.agrees


class TestDistances:
    @pytest.mark.parametrize(("part", "agrees"), [(1.0, True), (0.95, True), (0.5, False)])
    def test_part_of_the_range(self, part: float, agrees: bool) -> None:  # noqa: FBT001 - a parameter
        """Scenarios from half of the range of a gene are half as far apart, on the gene's scale."""

        def spread(part: float) -> list[Chromosome]:
            return [(25 * 16 ** (part * i / 19), 40.0, 1.0, 1, 1) for i in range(20)]

        parts = {"genetic": part, "surrogate": 1.0, "random": 1.0}
        findings = conclude(
            "ware-5.14",
            [
                found(
                    reno_against_westwood(strategy),  # type: ignore[arg-type] # they are strategies
                    HARMS[:20],
                    chromosomes=spread(parts[strategy]),
                )
                for strategy in parts
            ],
        )
        genetic, surrogate = findings.comparisons
        assert genetic.ours == pytest.approx(100 * part)
        assert surrogate.ours == pytest.approx(100)
        assert (genetic.agrees, surrogate.agrees) == (agrees, True)
        assert len(findings.table) == 3 * (20 * 19 // 2)


class TestSoon:
    @pytest.mark.parametrize(
        ("number", "harm", "agrees"),
        [(209, 0.3, True), (209, 0.21, True), (209, 0.19, False), (210, 0.3, False)],
    )
    def test_best(self, number: int, harm: float, agrees: bool) -> None:  # noqa: FBT001 - a parameter
        """The best must come within 210 experiments, and within 0.05 of the sweep's, 0.25."""
        harms = np.zeros(300)
        harms[number] = harm
        genetic = found(reno_against_westwood("genetic"), harms)
        _, *others = rivals(0, 0)
        findings = conclude("ware-5.15", [genetic, *others, SWEEP])
        comparison = compared(findings)["genetic 1: best of 210 experiments less the sweep's best"]
        assert comparison.ours == pytest.approx((harm if number < 210 else 0) - 0.25)
        assert comparison.agrees is agrees

    @pytest.mark.parametrize("sign", [1, -1])
    def test_improves(self, sign: int) -> None:
        """The 90th percentile of all scenarios so far rises if later ones are more harmful."""
        genetic = found(reno_against_westwood("genetic"), sign * np.linspace(0, 0.3, 300))
        _, *others = rivals(0, 0)
        findings = conclude("ware-5.15", [genetic, *others, SWEEP])
        improved = compared(findings)[
            "genetic 1: 90th percentile after all generations less after the first"
        ]
        whole, first = (
            np.quantile(genetic.experiments["relative_harm"][:n], 0.9) for n in (300, 60)
        )
        assert improved.ours == pytest.approx(whole - first)
        assert improved.agrees is (sign > 0)
        rows = findings.table.query("strategy == 'genetic'")
        assert rows["experiments"].tolist() == [60, 90, 120, 150, 180, 210, 240, 270, 300]
        assert rows["best"].is_monotonic_increasing

    def test_repetitions(self) -> None:
        """Each repetition is compared with the one sweep, and has its own panel."""
        results = [*rivals(0.0, 0.1, seed=2), *rivals(-0.2, 0.1, seed=3), SWEEP]
        findings = conclude("ware-5.18", results)
        assert len(findings.figure.axes) == 2
        agreeing = {
            what: comparison.agrees
            for what, comparison in compared(findings).items()
            if "best of 210" in what
        }
        assert list(agreeing.values()) == [True, True, False, True]


class TestPairs:
    @staticmethod
    def _results(**harms: Any) -> list[SearchResult]:
        return [
            found(SearchConfig(alpha=pair.split("_")[0], beta=pair.split("_")[1]), values)
            for pair, values in harms.items()
        ]

    def test_as_published(self) -> None:
        """Much harm everywhere, little harm with a long tail: what the text says agrees."""
        tail = np.concatenate([np.full(90, 0.02), np.linspace(0.1, 0.7, 10)])
        findings = conclude(
            "ware-5.12",
            self._results(
                westwood_reno=tail, bbr_cubic=np.linspace(0.05, 0.5, 100), vegas_cubic=-tail
            ),
        )
        easy, low, longer = findings.comparisons
        assert easy.ours == pytest.approx(100 * 88 / 100, abs=1.01)
        assert low.ours == pytest.approx(90, abs=1.01)
        assert longer.ours > 0.4
        assert all(comparison.agrees for comparison in findings.comparisons)

    def test_otherwise(self) -> None:
        """Little harm of BBR, much of Westwood, and a longer tail elsewhere: nothing agrees."""
        tail = np.concatenate([np.full(90, 0.02), np.linspace(0.1, 0.7, 10)])
        findings = conclude(
            "ware-5.12",
            self._results(westwood_reno=np.linspace(0.05, 0.5, 100), bbr_cubic=tail),
        )
        assert not any(comparison.agrees for comparison in findings.comparisons)
        assert len(findings.table) == 200
