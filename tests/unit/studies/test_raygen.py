# SPDX-License-Identifier: Apache-2.0
"""The studies of searches on tables of known outcome, without a kernel."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.raygen import SearchConfig, SearchResult
from ccbench.studies import Comparison, Findings, SearchStudy, get
from ccbench.studies.ware.raygen import reno_against_westwood

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ccbench.raygen import Chromosome

#: Harms of 300 scenarios, in random order, from 0 to 0.3.
HARMS = np.random.default_rng(1).permutation(300) / 1000


def search_result(
    config: SearchConfig,
    harms: Any,
    *,
    fresh: float = 0.1,
    chromosomes: Sequence[Chromosome] | None = None,
) -> SearchResult:
    """Return a search's result: these harms, and claims with a harm of `fresh` with fresh seeds."""
    rng = random.Random(config.seed)
    space = config.space
    chosen = chromosomes or [space.random(rng) for _ in harms]
    experiments = pd.DataFrame([space.values(chromosome) for chromosome in chosen])
    experiments.insert(0, "number", range(len(harms)))
    experiments.insert(1, "generation", 1 + np.maximum(np.arange(len(harms)) - 30, 0) // 30)
    experiments["relative_harm"] = np.asarray(harms, dtype=float)
    experiments["duration_share"] = 1.0
    experiments["error"] = np.where(experiments["relative_harm"].isna(), "it failed", "")
    claims = pd.DataFrame({"rank": range(1, 6), "found_harm": 0.3, "relative_harm": fresh})
    return SearchResult(config=config, experiments=experiments, claims=claims, provenance={})


def conclude(name: str, results: Iterable[SearchResult]) -> Findings:
    """Return the conclusions of a study; its figure is not empty."""
    study = get(name)
    assert isinstance(study, SearchStudy)
    findings = study.conclude(list(results))
    assert all(axes.has_data() for axes in findings.figure.axes)
    return findings


def compared(findings: Findings) -> dict[str, Comparison]:
    """Return the comparisons by their description."""
    return {comparison.quantity: comparison for comparison in findings.comparisons}


def rivals(
    genetic: float, surrogate: float, seed: int = 1, fresh: Mapping[str, float] | None = None
) -> list[SearchResult]:
    """Return searches in which learning strategies find this much more than random search."""
    more = {"genetic": genetic, "surrogate": surrogate, "random": 0.0}
    return [
        search_result(
            reno_against_westwood(strategy, seed),
            HARMS + more[strategy],
            fresh=(fresh or {}).get(strategy, 0.1 + more[strategy]),
        )
        for strategy in more
    ]


SWEEP = search_result(reno_against_westwood("sweep"), np.linspace(-0.2, 0.25, 960))


class TestTop100:
    def test_better(self) -> None:
        """A genetic search that finds 0.05 more than random search agrees."""
        findings = conclude("ware-5.13", [*rivals(0.05, 0.1), SWEEP])
        better, *unpublished = findings.comparisons
        assert better.value == pytest.approx(0.05)
        assert better.verdict == "agrees"
        for comparison in unpublished:
            expected = 0.1 if comparison.quantity.startswith("surrogate minus random") else 0.05
            assert comparison.value == pytest.approx(expected), comparison.quantity
            assert comparison.verdict == "not compared", comparison.quantity

    def test_no_better(self) -> None:
        """A genetic search that finds less than random search differs."""
        findings = conclude("ware-5.13", [*rivals(-0.05, 0.1), SWEEP])
        assert findings.comparisons[0].verdict == "differs"

    def test_luck(self) -> None:
        """Fresh seeds reveal luck: the search saw more harm, but its claims have less."""
        results = [*rivals(0.05, 0.1, fresh={"genetic": 0.02, "random": 0.03}), SWEEP]
        by_what = compared(conclude("ware-5.13", results))
        assert by_what["genetic minus random: median of the top 100"].verdict == "agrees"
        fresh = by_what["genetic minus random: mean of the claims, fresh seeds"]
        assert fresh.value == pytest.approx(-0.01)

    def test_top_table(self) -> None:
        """The table has the 100 worst of each, without copies and failures."""
        genetic, *others = rivals(0.05, 0.1)
        copies = [
            genetic.config.space.chromosome(row)
            for row in genetic.experiments.head(40).to_dict("records")
        ]
        harms = np.concatenate([[math.nan], HARMS[1:]])
        genetic = search_result(genetic.config, harms, chromosomes=(copies * 8)[:300])
        table = conclude("ware-5.13", [genetic, *others, SWEEP]).table
        sizes = table.groupby("strategy").size().to_dict()
        assert sizes == {"genetic": 40, "surrogate": 100, "random": 100, "sweep": 100}
        for _, of_one in table.groupby("strategy"):
            assert of_one["rank"].tolist() == list(range(1, len(of_one) + 1))
            assert of_one["relative_harm"].is_monotonic_decreasing


class TestRepetitions:
    @pytest.mark.parametrize(
        ("third", "better", "verdict"),
        [(0.01, 3, "agrees"), (0.0, 2, "differs"), (-0.02, 2, "differs")],
    )
    def test_each(self, third: float, better: int, verdict: str) -> None:
        """One repetition in which the genetic search is no better is enough to differ."""
        results = [*rivals(0.05, 0.1), *rivals(0.05, 0.1, seed=2), *rivals(third, 0.1, seed=3)]
        findings = conclude("ware-5.17", [*results, SWEEP])
        assert len(findings.figure.axes) == 3
        of_all = findings.comparisons[0]
        assert (of_all.value, of_all.verdict) == (better, verdict)
        assert of_all.note == f"+0.050, +0.050, {third:+.3f}."

    def test_intervals(self) -> None:
        """Differences that the thesis does not state are means over the repetitions."""
        results = [*rivals(0.0, 0.1), *rivals(0.0, 0.2, seed=2), *rivals(0.0, 0.3, seed=3)]
        by_what = compared(conclude("ware-5.17", [*results, SWEEP]))
        surrogate = by_what["surrogate minus random: median of the top 100"]
        assert surrogate.value == pytest.approx(0.2)
        assert surrogate.half_width == pytest.approx(0.248, abs=1e-3)

    def test_claims_that_all_failed(self) -> None:
        """A repetition without a number makes the comparison undefined."""
        results = [*rivals(0.05, 0.1), *rivals(0.05, 0.1, seed=2, fresh={"genetic": math.nan})]
        findings = conclude("ware-5.17", [*results, SWEEP])
        fresh = compared(findings)["genetic minus random: mean of the claims, fresh seeds"]
        assert math.isnan(fresh.value)


class TestDistances:
    @pytest.mark.parametrize(
        ("part", "verdict"),
        [(1.0, "agrees"), (0.96, "agrees"), (0.5, "differs"), (1.2, "differs")],
    )
    def test_part_of_the_range(self, part: float, verdict: str) -> None:
        """Scenarios from half of the range of a gene are half as far apart, on a linear scale."""

        def spread(part: float) -> list[Chromosome]:
            return [(25 + 300 * part * i / 19, 40.0, 1.0, 1, 1) for i in range(20)]

        parts = {"genetic": part, "surrogate": 1.1, "random": 1.0}
        findings = conclude(
            "ware-5.14",
            [
                search_result(
                    reno_against_westwood(strategy),
                    HARMS[:20],
                    chromosomes=spread(parts[strategy]),
                )
                for strategy in parts
            ],
        )
        genetic, surrogate = findings.comparisons
        assert genetic.value == pytest.approx(100 * part)
        assert surrogate.value == pytest.approx(110)
        assert (genetic.verdict, surrogate.verdict) == (verdict, "not compared")
        assert len(findings.table) == 3 * (20 * 19 // 2)

    def test_each_gene_counts_alike(self) -> None:
        """Each gene is scaled by the range of both searches' scenarios together."""
        ends = {"genetic": (40.0, 100.0), "surrogate": (10.0, 15.0), "random": (20.0, 120.0)}
        findings = conclude(
            "ware-5.14",
            [
                search_result(
                    reno_against_westwood(strategy),
                    [0.2, 0.1],
                    chromosomes=[(25.0, rtt_ms, 1.0, 1, 1) for rtt_ms in ends[strategy]],
                )
                for strategy in ends
            ],
        )
        distances = findings.table.set_index("strategy")["distance"]
        assert distances["genetic"] == pytest.approx(0.6)
        assert distances["random"] == pytest.approx(1.0)


class TestSoon:
    @pytest.mark.parametrize(
        ("number", "harm", "verdict"),
        [
            (209, 0.25, "agrees"),
            (209, 0.24, "agrees"),
            (209, 0.19, "differs"),
            (210, 0.25, "differs"),
        ],
    )
    def test_best(self, number: int, harm: float, verdict: str) -> None:
        """The best must come within 210 experiments, and be about as high as the sweep's, 0.25."""
        harms = np.zeros(300)
        harms[number] = harm
        genetic = search_result(reno_against_westwood("genetic"), harms)
        _, *others = rivals(0, 0)
        findings = conclude("ware-5.15", [genetic, *others, SWEEP])
        comparison = compared(findings)["genetic: best of 210 experiments ÷ the sweep's best"]
        assert comparison.value == pytest.approx(100 * (harm if number < 210 else 0) / 0.25)
        assert comparison.verdict == verdict

    @pytest.mark.parametrize("sign", [1, -1])
    def test_improves(self, sign: int) -> None:
        """The 90th percentile of all scenarios so far rises if later ones are more harmful."""
        genetic = search_result(reno_against_westwood("genetic"), sign * np.linspace(0, 0.3, 300))
        _, *others = rivals(0, 0)
        findings = conclude("ware-5.15", [genetic, *others, SWEEP])
        improved = compared(findings)[
            "genetic: 90th percentile after all generations minus after the first"
        ]
        whole, first = (
            np.quantile(genetic.experiments["relative_harm"][:n], 0.9) for n in (300, 60)
        )
        assert improved.value == pytest.approx(whole - first)
        assert improved.verdict == ("agrees" if sign > 0 else "differs")
        rows = findings.table.query("strategy == 'genetic'")
        assert rows["experiments"].tolist() == [60, 90, 120, 150, 180, 210, 240, 270, 300]
        assert rows["best"].is_monotonic_increasing

    def test_repetitions(self) -> None:
        """The mean of the repetitions is compared with the one sweep, and each has its panel."""
        results = [*rivals(-0.05, 0.1, seed=2), *rivals(-0.15, 0.1, seed=3), SWEEP]
        findings = conclude("ware-5.18", results)
        assert len(findings.figure.axes) == 2
        best = compared(findings)["genetic: best of 210 experiments ÷ the sweep's best"]
        first_best = float(HARMS[:210].max())
        assert best.value == pytest.approx(100 * (first_best - 0.1) / 0.25)
        assert best.verdict == "differs"


class TestPairs:
    @staticmethod
    def _results(**harms: Any) -> list[SearchResult]:
        return [
            search_result(SearchConfig(alpha=pair.split("_")[0], beta=pair.split("_")[1]), values)
            for pair, values in harms.items()
        ]

    def test_as_published(self) -> None:
        """A pair with little harm but a long tail agrees with the text."""
        tail = np.concatenate([np.full(90, 0.02), np.linspace(0.1, 0.7, 10)])
        findings = conclude(
            "ware-5.12",
            self._results(
                westwood_reno=tail, bbr_cubic=np.linspace(0.05, 0.5, 100), vegas_cubic=-tail
            ),
        )
        easy, low, longer = findings.comparisons
        assert easy.value == pytest.approx(100 * 88 / 100, abs=1.01)
        assert low.value == pytest.approx(90, abs=1.01)
        assert longer.value > 0.4
        verdicts = [comparison.verdict for comparison in findings.comparisons]
        assert verdicts == ["not compared", "not compared", "agrees"]

    def test_otherwise(self) -> None:
        """Another pair with the longer tail differs."""
        tail = np.concatenate([np.full(90, 0.02), np.linspace(0.1, 0.7, 10)])
        findings = conclude(
            "ware-5.12",
            self._results(westwood_reno=np.linspace(0.05, 0.5, 100), bbr_cubic=tail),
        )
        assert findings.comparisons[-1].verdict == "differs"
        assert len(findings.table) == 200

    def test_version_3(self) -> None:
        """Harm of BBRv3 is that of its searches, by harmed CCA; networks without harm count too."""
        harms = {"bbr3_bbr": np.linspace(-0.3, -0.1, 101), "bbr3_cubic": np.linspace(0, 1, 101)}
        findings = conclude("ware-5.12-bbr3", self._results(**harms))
        values = {item.quantity: item.value for item in findings.comparisons}
        assert values["scenarios in which BBRv3 does harm above 0.1 to BBRv1"] == 0
        assert values["relative harm of BBRv3 to BBRv1, median"] == pytest.approx(-0.2)
        share = values["scenarios in which BBRv3 does harm above 0.1 to CUBIC"]
        assert share == pytest.approx(89.6, abs=1)
        assert values["relative harm of BBRv3 to CUBIC, median"] == pytest.approx(0.5)
