# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pytest

from ccbench.raygen import DEFAULT_SPACE, Choice, Number, Space
from ccbench.raygen.analysis.diversity import distances
from ccbench.raygen.analysis.importance import importance
from ccbench.raygen.analysis.regions import Region, regions
from ccbench.raygen.analysis.rule import Between, Condition, OneOf, spanning
from ccbench.raygen.quantities import NUMBERS, WORDS
from ccbench.raygen.strategies.genetic import Genetic
from ccbench.raygen.strategies.random import RandomSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ccbench.raygen import Strategy

pytestmark = pytest.mark.slow

Harm: TypeAlias = "Callable[[Mapping[str, Any]], float]"

RTT = Number(name="rtt_ms", low=10, high=320)
QUEUE = Number(name="queue_bdp", low=0.25, high=5)
#: Two networks that differ in the relevant genes: round-trip time and queue.
SHORT, LONG = {"rtt_ms": 20.0, "queue_bdp": 0.45}, {"rtt_ms": 160.0, "queue_bdp": 2.75}

WITH_QDISC = Space(
    (*DEFAULT_SPACE.genes, Choice(name="qdisc", values=("droptail", "codel", "fq_codel", "pie")))
)


def _bump(centre: Mapping[str, float], width: float = 0.25) -> Harm:
    """Return a harm of 1 at the centre that decreases with the distance on the genes' scales."""

    def harm(values: Mapping[str, Any]) -> float:
        steps = (
            (gene.coordinates(values[gene.name])[0] - gene.coordinates(centre[gene.name])[0])
            / width
            for gene in (RTT, QUEUE)
        )
        return math.exp(-sum(step**2 for step in steps))

    return harm


def _two_bumps(values: Mapping[str, Any]) -> float:
    return max(_bump(SHORT)(values), 0.95 * _bump(LONG)(values))


def _searched(harm: Harm, strategy: Strategy, space: Space = DEFAULT_SPACE) -> pd.DataFrame:
    """Return the results of a search with this harm."""
    rows: list[dict[str, Any]] = []
    while candidates := strategy.ask():
        actual = [space.values(candidate.chromosome) for candidate in candidates]
        harms = [harm(values) for values in actual]
        strategy.tell(harms)
        for candidate, values, relative in zip(candidates, actual, harms, strict=True):
            rows.append({"number": candidate.number, "relative_harm": relative, **values})
    return pd.DataFrame(rows)


def _random(
    harm: Harm, n: int = 300, *, space: Space = DEFAULT_SPACE, seed: int = 1
) -> pd.DataFrame:
    return _searched(harm, RandomSearch(space, budget=n, population=n, seed=seed), space)


def _genetic(harm: Harm, *, seed: int) -> pd.DataFrame:
    return _searched(harm, Genetic(DEFAULT_SPACE, budget=300, population=60, seed=seed))


def _noise(seed: int) -> Harm:
    rng = random.Random(seed)
    return lambda _: rng.gauss(0, 0.1)


def _genes(region: Region) -> set[str]:
    return {condition.gene.name for condition in region.rule}


def _contains(region: Region, network: Mapping[str, Any]) -> bool:
    table = pd.DataFrame([network])
    return all(condition.holds(table).item() for condition in region.rule)


class TestRegions:
    @pytest.mark.parametrize("seed", range(4))
    def test_two_causes(self, seed: int) -> None:
        """Harm with two peaks has two regions: each rule holds at one, and names no other gene."""
        table = _random(_two_bumps, seed=seed)
        actual = regions(DEFAULT_SPACE, table)
        assert 2 == len(actual)
        short, long = sorted(actual, key=lambda region: not _contains(region, SHORT))
        assert _contains(short, SHORT)
        assert not _contains(short, LONG)
        assert _contains(long, LONG)
        assert not _contains(long, SHORT)
        assert {"rtt_ms", "queue_bdp"} == _genes(short) == _genes(long)

    @pytest.mark.parametrize("seed", range(4))
    def test_one_cause(self, seed: int) -> None:
        """Harm with one peak has one region, around the peak."""
        (region,) = regions(DEFAULT_SPACE, _random(_bump(LONG), seed=seed))
        assert {"rtt_ms", "queue_bdp"} == _genes(region)
        assert _contains(region, LONG)
        assert not _contains(region, SHORT)

    @pytest.mark.parametrize("seed", range(4))
    def test_chance_concentration(self, seed: int) -> None:
        """A genetic search's top networks are related; inherited values are not a rule."""
        (region,) = regions(DEFAULT_SPACE, _genetic(_bump(SHORT), seed=seed))
        assert region.rule
        assert _genes(region) <= {"rtt_ms", "queue_bdp"}

    def test_concentrated_search(self) -> None:
        """A relevant gene is named, although the search soon left the rest of its range."""

        def small_queues(values: Mapping[str, Any]) -> float:
            return float(1 / values["queue_bdp"] + values["beta_flows"] / 100)

        (region,) = regions(DEFAULT_SPACE, _genetic(small_queues, seed=1))
        assert "queue_bdp" in _genes(region)

    def test_distance_in_irrelevant_genes(self) -> None:
        """If harm depends on one gene alone, there is one region, regardless of distance."""
        table = _random(lambda values: values["rtt_ms"] / 320)
        (region,) = regions(DEFAULT_SPACE, table)
        assert {"rtt_ms"} == _genes(region)
        members = table[table["number"].isin(region.members)]
        assert np.median(distances(DEFAULT_SPACE, members)) > 0.5

    def test_bent(self) -> None:
        """A region need not be convex: scenarios linked by others are in one region."""

        def corner(values: Mapping[str, Any]) -> float:
            rtt, queue = (gene.coordinates(values[gene.name])[0] for gene in (RTT, QUEUE))
            return float(min(rtt, queue) < 0.15)

        assert 1 == len(regions(DEFAULT_SPACE, _random(corner, 600), top=40))

    def test_words_decide(self) -> None:
        """If harm depends on words alone, the rule names them."""

        def harm(values: Mapping[str, Any]) -> float:
            return 0.5 * (values["qdisc"] in {"codel", "pie"})

        (region,) = regions(WITH_QDISC, _random(harm, space=WITH_QDISC))
        assert "queueing discipline codel or pie" == region.where()

    def test_words_divide(self) -> None:
        """Harm with one qdisc on short paths, with another on long ones: two regions."""
        peaks = {"droptail": _bump(SHORT, 0.3), "pie": _bump(LONG, 0.3)}

        def harm(values: Mapping[str, Any]) -> float:
            return peaks[values["qdisc"]](values) if values["qdisc"] in peaks else 0.0

        actual = regions(WITH_QDISC, _random(harm, 400, space=WITH_QDISC))
        words = {
            condition.values
            for region in actual
            for condition in region.rule
            if isinstance(condition, OneOf)
        }
        assert 2 == len(actual)
        assert {("droptail",), ("pie",)} == words

    @pytest.mark.parametrize("seed", range(4))
    def test_noise(self, seed: int) -> None:
        """Harm that no gene explains forms one region without a rule."""
        (region,) = regions(DEFAULT_SPACE, _random(_noise(seed), seed=seed))
        assert () == region.rule
        assert "no condition detected" == region.where()

    def test_numbers(self) -> None:
        """Members are the most harmful, each in one region; counts of a rule can be verified."""
        table = _random(_two_bumps)
        actual = regions(DEFAULT_SPACE, table)
        members = [number for region in actual for number in region.members]
        assert set(table.nlargest(20, "relative_harm")["number"]) == set(members)
        assert 20 == len(members)
        harm = table.set_index("number")["relative_harm"]
        assert table["relative_harm"].idxmax() == actual[0].worst
        for region in actual:
            own = harm[list(region.members)]
            assert (own.min(), own.max(), own.idxmax()) == (
                region.lowest_harm,
                region.highest_harm,
                region.worst,
            )
            holds = pd.Series(data=True, index=table.index)
            for bound in region.to_dict()["rule"]:
                holds &= table[bound["gene"]].between(bound["low"], bound["high"])
            matched = table[holds]
            assert len(matched) == region.matched
            assert matched["number"].isin(region.members).sum() == region.members_matched
            assert matched["relative_harm"].median() == pytest.approx(region.matched_harm)

    def test_same_again(self) -> None:
        """Equal experiments give equal regions, in any order of the table."""
        table = _random(_two_bumps)
        shuffled = table.sample(frac=1, random_state=1)
        assert regions(DEFAULT_SPACE, table) == regions(DEFAULT_SPACE, shuffled)

    def test_repeated_scenarios(self) -> None:
        """A scenario proposed repeatedly counts once."""
        table = _random(_two_bumps)
        again = table.assign(number=table["number"] + len(table))
        actual = regions(DEFAULT_SPACE, pd.concat([table, again], ignore_index=True))
        assert regions(DEFAULT_SPACE, table) == actual

    def test_failed_scenarios(self) -> None:
        """Failed scenarios are ignored."""
        table = _random(_two_bumps)
        failed = _random(_two_bumps, seed=2).assign(relative_harm=np.nan)
        actual = regions(DEFAULT_SPACE, pd.concat([table, failed], ignore_index=True))
        assert regions(DEFAULT_SPACE, table) == actual

    @pytest.mark.parametrize("n", [1, 2, 4, 5, 12, 19])
    def test_few(self, n: int) -> None:
        """Of fewer than 20 experiments the worst quarter is one region without a rule."""
        table = _random(_bump(SHORT), n)
        (region,) = regions(DEFAULT_SPACE, table)
        assert math.ceil(n / 4) == len(region.members)
        assert table["relative_harm"].idxmax() == region.worst
        assert () == region.rule

    def test_barely_enough(self) -> None:
        """Twenty experiments suffice to search for regions."""
        (region,) = regions(DEFAULT_SPACE, _random(_bump(SHORT), 20), top=1)
        assert 1 == len(region.members)

    @pytest.mark.parametrize("n", [1, 40])
    def test_all_equal(self, n: int) -> None:
        """If all harms are equal, there is no region."""
        (region,) = regions(DEFAULT_SPACE, _random(lambda _: 0.25, n))
        assert (0.25, 0.25) == (region.lowest_harm, region.highest_harm)
        assert () == region.rule

    @pytest.mark.parametrize("n", [0, 1, 40])
    def test_all_failed(self, n: int) -> None:
        """Without any harm there is no region."""
        failed = _random(_bump(SHORT), 40).assign(relative_harm=np.nan).head(n)
        assert () == regions(DEFAULT_SPACE, failed)

    def test_for_programs(self) -> None:
        """A region is JSON, with its bounds."""
        (region,) = regions(DEFAULT_SPACE, _random(_bump(LONG)))
        document = json.loads(json.dumps(region.to_dict()))
        assert list(region.members) == document["members"]
        assert {"rtt_ms", "queue_bdp"} == {bound["gene"] for bound in document["rule"]}

    def test_lazy_import(self) -> None:
        """The learning library is imported only when it is used."""
        code = "import sys, ccbench.raygen.analysis.regions; sys.exit('sklearn' in sys.modules)"
        assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode


class TestEvidence:
    @pytest.mark.parametrize(
        ("members", "matched", "words"),
        [
            ((7,), 1, "holds for this scenario, and for 30 of all scenarios"),
            ((7, 8, 9), 3, "holds for all 3 of these scenarios, and for 30 of all scenarios"),
            ((7, 8, 9), 2, "holds for 2 of these 3 scenarios, and for 30 of all scenarios"),
        ],
    )
    def test_words(self, members: tuple[int, ...], matched: int, words: str) -> None:
        """The evidence states the number of members and of all scenarios, and their harm."""
        region = Region(
            members=members,
            lowest_harm=0.4,
            highest_harm=0.5,
            rule=(),
            members_matched=matched,
            matched=30,
            matched_harm=0.312,
        )
        assert f"{words}, whose median relative harm is +0.312" == region.evidence()


class TestWords:
    @pytest.mark.parametrize(
        ("condition", "words"),
        [
            (Between(gene=RTT, low=140.0, high=320.0), "RTT of at least 140 ms"),
            (Between(gene=QUEUE, low=0.25, high=0.6), "queue of at most 0.6 BDP"),
            (Between(gene=QUEUE, low=0.5, high=0.6), "queue of 0.5 to 0.6 BDP"),
            (Between(gene=QUEUE, low=0.5, high=0.5), "queue of 0.5 BDP"),
        ],
    )
    def test_range(self, condition: Condition, words: str) -> None:
        """A range that reaches an end of the space has one bound, others have two."""
        assert words == condition.words()

    @pytest.mark.parametrize(
        ("low", "high", "words"),
        [
            (1, 1, "1 bbr flow"),
            (1, 2, "1 or 2 bbr flows"),
            (4, 5, "4 or 5 bbr flows"),
            (2, 4, "2 to 4 bbr flows"),
            (3, 5, "at least 3 bbr flows"),
            (1, 3, "at most 3 bbr flows"),
            (5, 5, "5 bbr flows"),
        ],
    )
    def test_counts(self, low: int, high: int, words: str) -> None:
        """Numbers of flows are described in words."""
        flows = Number(name="alpha_flows", low=1, high=5)
        assert words == Between(gene=flows, low=low, high=high).words(alpha="bbr", beta="cubic")

    @pytest.mark.parametrize(
        ("name", "low", "high", "words"),
        [
            ("bandwidth_mbps", 25, 60, "link of 25 to 60 Mbit/s"),
            ("queue_packets", 100, 1000, "queue of 100 to 1000 packets"),
            ("beta_flows", 2, 9, "2 to 9 cubic flows"),
            ("alpha_start_s", 10, 20, "bbr starting 10 to 20 s into the run"),
            ("beta_start_s", 10, 20, "cubic starting 10 to 20 s into the run"),
            ("alpha_rtt_ratio", 2, 4, "RTT of bbr 2 to 4 times that of cubic"),
            ("loss", 0.001, 0.0125, "random loss of 0.1 to 1.25 %"),
        ],
    )
    def test_numbers(self, name: str, low: float, high: float, words: str) -> None:
        """Each quantity is described in its own unit, with the names of the CCAs."""
        ends = {"loss": (0.0001, 0.9), "alpha_rtt_ratio": (0.1, 100)}.get(name, (1, 5000))
        gene = Number(name=name, low=ends[0], high=ends[1])
        assert words == Between(gene=gene, low=low, high=high).words("bbr", "cubic")

    @pytest.mark.parametrize(
        ("name", "values", "words"),
        [
            ("qdisc", ("codel",), "queueing discipline codel"),
            ("qdisc", ("codel", "pie", "red"), "queueing discipline codel, pie or red"),
            ("workload", ("short",), "short cubic flows"),
            ("trace", ("lte", "umts"), "link lte or umts"),
            ("queue_bdp", (0.5, 1.0), "queue of 0.5 or 1 BDP"),
            ("alpha_flows", (1,), "1 bbr flow"),
        ],
    )
    def test_choices(self, name: str, values: tuple[Any, ...], words: str) -> None:
        """Words, and numbers of a list, are named."""
        assert words == OneOf(gene=Choice(name=name, values=values), values=values).words(
            "bbr", "cubic"
        )

    @pytest.mark.parametrize("name", [*NUMBERS, *WORDS])
    def test_every_quantity(self, name: str) -> None:
        """Every possible gene has a description."""
        example: Any = WORDS.get(name) or NUMBERS[name].example
        assert OneOf(gene=Choice(name=name, values=(example,)), values=(example,)).words()


class TestSpanning:
    def test_rounded_outwards(self) -> None:
        """Bounds have two digits, and include all their values."""
        rng = random.Random(1)
        for _ in range(200):
            values = [RTT.random(rng) for _ in range(3)]
            condition = spanning(RTT, values, {"low", "high"})
            if condition is None:
                continue
            assert condition.holds(pd.DataFrame({"rtt_ms": values})).all()
            bounds = condition.to_dict()
            for bound, value in ((bounds["low"], min(values)), (bounds["high"], max(values))):
                assert float(f"{bound:.1e}") == bound
                assert bound == pytest.approx(value, rel=0.1)

    def test_exact_bounds_stay(self) -> None:
        """A value of two digits is its own bound."""
        condition = spanning(QUEUE, [0.3, 0.7], {"low", "high"})
        assert Between(gene=QUEUE, low=0.3, high=0.7) == condition

    def test_one_side(self) -> None:
        """The other side is the end of the gene's range."""
        condition = spanning(RTT, [40.0, 151.0], {"high"})
        assert Between(gene=RTT, low=10.0, high=160.0) == condition

    def test_all_values(self) -> None:
        """A range of all values of the gene is no condition."""
        assert spanning(RTT, [10.0, 100.0], {"low"}) is None
        qdisc = WITH_QDISC.genes[-1]
        assert spanning(qdisc, ["pie", "codel", "fq_codel", "droptail"], {"low"}) is None

    def test_counts_stay_whole(self) -> None:
        """Bounds of counts are integers, even if the table's are not."""
        flows = Number(name="alpha_flows", low=1, high=5)
        condition = spanning(flows, [2.0, 4.0], {"low", "high"})
        assert condition is not None
        document = json.dumps(condition.to_dict())
        assert '{"gene": "alpha_flows", "low": 2, "high": 4}' == document


class TestImportance:
    def test_importance(self) -> None:
        """Genes are ordered by their influence on harm; the others are about 0."""

        def harm(values: Mapping[str, Any]) -> float:
            rtt, queue = (gene.coordinates(values[gene.name])[0] for gene in (RTT, QUEUE))
            return 2 * queue + rtt

        actual = importance(DEFAULT_SPACE, _random(harm))
        assert ["queue_bdp", "rtt_ms"] == list(actual.genes.index[:2])
        # Variances of sums add up, 4 : 1; shuffling a gene makes an error of twice its variance,
        # less the smoothing at both ends by a forest of 300 experiments.
        assert [1.6, 0.4] == pytest.approx(actual.genes.iloc[:2].tolist(), rel=0.2)
        assert actual.genes.iloc[2:].abs().max() < 0.02
        assert actual.explained > 0.9

    def test_half_is_noise(self) -> None:
        """Of harm that is half noise about half is explained, never more than possible."""
        rng = random.Random(1)
        deviation = math.sqrt(1 / 12)  # that of a uniform number

        def harm(values: Mapping[str, Any]) -> float:
            return RTT.coordinates(values["rtt_ms"])[0] + rng.gauss(0, deviation)

        actual = importance(DEFAULT_SPACE, _random(harm, 600))
        assert 0.3 < actual.explained < 0.55
        assert "rtt_ms" == actual.genes.index[0]

    def test_only_noise(self) -> None:
        """Without any influence no gene matters, and the model is known to be useless."""
        actual = importance(DEFAULT_SPACE, _random(_noise(1)))
        assert actual.explained < 0.1
        assert actual.genes.abs().max() < 0.1

    def test_words(self) -> None:
        """A choice counts as one gene, however many words it has."""

        def harm(values: Mapping[str, Any]) -> float:
            return float(len(values["qdisc"]))

        actual = importance(WITH_QDISC, _random(harm, space=WITH_QDISC))
        assert [gene.name for gene in WITH_QDISC.genes] == sorted(
            actual.genes.index, key=[gene.name for gene in WITH_QDISC.genes].index
        )
        assert "qdisc" == actual.genes.index[0]
        assert 2.0 == pytest.approx(actual.genes["qdisc"], rel=0.15)
        assert actual.genes.iloc[1:].abs().max() < 0.01

    def test_same_again(self) -> None:
        """Equal input and seed give equal output; another seed gives nearly the same."""
        table = _random(_two_bumps)
        first, second, other = (importance(DEFAULT_SPACE, table, seed) for seed in (1, 1, 2))
        assert first.explained == second.explained
        assert first.genes.to_dict() == second.genes.to_dict()
        assert first.genes.to_dict() != other.genes.to_dict()
        assert first.genes.to_dict() == pytest.approx(other.genes.to_dict(), abs=0.3)

    @pytest.mark.parametrize(
        "table",
        [
            _random(_two_bumps, 1),
            _random(_two_bumps, 19),
            _random(lambda _: 0.25, 40),
            _random(_two_bumps, 40).assign(relative_harm=np.nan),
            pd.concat([_random(_two_bumps, 10)] * 3),
        ],
        ids=["one", "few", "equal", "failed", "the same again"],
    )
    def test_no_evidence(self, table: pd.DataFrame) -> None:
        """Without evidence there is no importance that looks like one."""
        actual = importance(DEFAULT_SPACE, table)
        assert math.isnan(actual.explained)
        assert actual.genes.isna().all()
        assert [gene.name for gene in DEFAULT_SPACE.genes] == list(actual.genes.index)
