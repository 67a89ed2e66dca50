# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.trace import Trace
from ccbench.raygen import DEFAULT_SPACE, Choice, Chromosome, Gene, Number, SearchConfig, Space
from ccbench.raygen.gene import read_gene

if TYPE_CHECKING:
    from pathlib import Path


def _number(name: str) -> Number:
    (gene,) = (gene for gene in DEFAULT_SPACE.genes if gene.name == name)
    assert isinstance(gene, Number)
    return gene


BANDWIDTH, RTT, QUEUE = map(_number, ("bandwidth_mbps", "rtt_ms", "queue_bdp"))
ALPHA_FLOWS = _number("alpha_flows")
NUMBERS = [_number(gene.name) for gene in DEFAULT_SPACE.genes]
QDISC = Choice(name="qdisc", values=("droptail", "fq_codel", "pie"))
#: One gene of each kind.
GENES: list[Gene] = [
    *NUMBERS,
    Number(name="rtt_ms", low=10, high=50, scale="linear"),
    Number(name="alpha_start_s", low=0, high=60, scale="linear"),
    Number(name="loss", low=0, high=0.01, scale="linear"),
    QDISC,
    Choice(name="beta_flows", values=(8, 1, 64)),
]

every_gene = pytest.mark.parametrize("gene", GENES, ids=lambda gene: gene.name)


class TestNumber:
    @pytest.mark.parametrize("gene", NUMBERS, ids=lambda gene: gene.name)
    def test_random_values_are_in_range(self, gene: Number) -> None:
        """Random values lie between low and high, both included, and on the gene's steps."""
        rng = random.Random(1)
        values = [cast("float", gene.random(rng)) for _ in range(2000)]
        assert gene.low <= min(values) <= max(values) <= gene.high
        decimals = {"queue_bdp": 2, "alpha_flows": 0, "beta_flows": 0}.get(gene.name, 1)
        assert all(value == round(value, decimals) for value in values)

    def test_log_scale(self) -> None:
        """Every doubling of the bandwidth is equally likely."""
        rng = random.Random(1)
        values = [cast("float", BANDWIDTH.random(rng)) for _ in range(8000)]
        counts, _ = np.histogram(values, bins=[25, 50, 100, 200, 400])
        assert counts == pytest.approx(2000, rel=0.1)

    def test_linear_scale(self) -> None:
        """On a linear scale equal intervals are equally likely."""
        gene = Number(name="rtt_ms", low=10, high=50, scale="linear")
        rng = random.Random(1)
        values = [cast("float", gene.random(rng)) for _ in range(8000)]
        counts, _ = np.histogram(values, bins=4)
        assert counts == pytest.approx(2000, rel=0.1)

    def test_whole_numbers_on_a_log_scale(self) -> None:
        """Flow counts 1 to 5 are drawn with probability ~ log(1 + 1/n), the ends not halved."""
        rng = random.Random(1)
        counts = Counter(ALPHA_FLOWS.random(rng) for _ in range(20000))
        for n in range(1, 6):
            assert counts[n] / 20000 == pytest.approx(np.log(1 + 1 / n) / np.log(6), rel=0.1)

    @pytest.mark.parametrize("gene", NUMBERS, ids=lambda gene: gene.name)
    def test_coordinates(self, gene: Number) -> None:
        """Every value has a coordinate from 0 to 1 on its scale, which yields the value."""
        rng = random.Random(1)
        values = sorted(cast("float", gene.random(rng)) for _ in range(500))
        places = [place for value in values for place in gene.coordinates(value)]
        assert 0 <= places[0] <= places[-1] <= 1
        assert places == sorted(places)
        assert values == [gene.at(place) for place in places]
        assert (gene.low, gene.high) == (gene.at(0), gene.at(1))

    def test_levels_are_exponentially_spaced(self) -> None:
        """On a log scale levels are a constant factor apart, from end to end."""
        assert (25, 50, 100, 200, 400) == BANDWIDTH.levels(5)
        assert (100,) == BANDWIDTH.levels(1)
        assert (10, 20, 30) == Number(name="rtt_ms", low=10, high=30, scale="linear").levels(3)

    @pytest.mark.parametrize("high", [1, 5, 12])
    def test_levels_of_whole_numbers(self, high: int) -> None:
        """Whole numbers are never repeated, and are complete if there are enough levels."""
        gene = Number(name="alpha_flows", low=1, high=high)
        assert tuple(range(1, high + 1)) == gene.levels(gene.size) == gene.levels(gene.size + 1)
        for count in range(2, gene.size):
            levels = gene.levels(count)
            assert len(set(levels)) == len(levels) <= count
            assert {1, high} <= set(levels)

    @pytest.mark.parametrize("gene", NUMBERS, ids=lambda gene: gene.name)
    def test_blend_stays_between_its_parents(self, gene: Number) -> None:
        """A blend is always within the interval of the two values."""
        rng = random.Random(2)
        for _ in range(2000):
            first, second = (cast("float", gene.random(rng)) for _ in range(2))
            assert (
                min(first, second) <= gene.blend(first, second, rng.random()) <= max(first, second)
            )

    @every_gene
    def test_ends_of_a_blend(self, gene: Gene) -> None:
        """Weight 0 is the first value, weight 1 the second."""
        rng = random.Random(3)
        for _ in range(500):
            first, second = gene.random(rng), gene.random(rng)
            assert gene.blend(first, second, 0.0) == first
            assert gene.blend(first, second, 1.0) == second

    def test_blend_is_taken_on_the_scale(self) -> None:
        """Half way is the geometric mean on a log scale and the arithmetic mean on a linear one."""
        assert RTT.blend(10, 160, 0.5) == 40
        assert Number(name="rtt_ms", low=10, high=160, scale="linear").blend(10, 160, 0.5) == 85

    def test_blend_of_whole_numbers_is_unbiased(self) -> None:
        """Between 1 and 2 flows both are equally likely: blending does not drift to few flows."""
        rng = random.Random(4)
        counts = Counter(ALPHA_FLOWS.blend(1, 2, rng.random()) for _ in range(4000))
        assert counts[1] == pytest.approx(counts[2], rel=0.1)

    @pytest.mark.parametrize(
        "gene",
        [
            Number(name="loss", low=1e-7, high=1e-5),
            Number(name="loss", low=0, high=1e-6, scale="linear"),
            Number(name="bandwidth_mbps", low=0.05, high=2),
        ],
    )
    def test_ranges_of_small_numbers(self, gene: Number) -> None:
        """Rounding leaves many values in a range, however small its numbers are."""
        rng = random.Random(1)
        assert len({gene.random(rng) for _ in range(500)}) > 50

    @pytest.mark.parametrize("high", [1e-320, 1e308])
    def test_numbers_at_the_ends_of_floats(self, high: float) -> None:
        """A range that no scenario permits is refused by the scenario, not by the gene."""
        gene = Number(name="rtt_ms", low=0.9 * high, high=high)
        assert gene.size >= 1
        assert gene.low <= gene.at(0.5) <= gene.high

    def test_fixed_gene(self) -> None:
        """A gene whose ends are equal always has that value."""
        gene = Number(name="queue_bdp", low=1.0, high=1.0)
        assert gene.random(random.Random(1)) == gene.blend(1.0, 1.0, 0.3) == 1.0
        assert (1, (1.0,), (1.0,)) == (gene.size, gene.levels(1), gene.levels(7))
        assert gene.at(*gene.coordinates(1.0)) == 1.0

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"name": "bandwith_mbps"}, "did you mean bandwidth_mbps?"),
            ({"low": 0}, r"^rtt_ms\.low is 0"),
            ({"low": 99.0}, r"^rtt_ms\.high is 50\.0; it must be at least rtt_ms\.low = 99"),
            ({"scale": "cubic"}, r"^rtt_ms\.scale is 'cubic'"),
            ({"name": "alpha_flows", "low": 1.5}, r"^alpha_flows\.low is 1\.5; .* whole number"),
            ({"name": "loss", "low": 0, "high": 0.1}, r"^loss\.low is 0\.0; .*scale = \"linear\""),
            ({"name": "qdisc"}, r"^qdisc\.scale is 'log'; it must be \"choice\""),
            ({"decimals": -1}, r"^rtt_ms\.decimals is -1"),
            ({"name": "alpha_start_s", "high": 10**400}, r"^alpha_start_s\.high is 1000"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        """An invalid gene is refused with the reason."""
        settings: dict[str, Any] = {"name": "rtt_ms", "low": 10, "high": 50}
        with pytest.raises(InputError, match=message):
            Number(**settings | change)


class TestChoice:
    def test_all_are_equally_likely(self) -> None:
        """Each value is drawn as often as the others."""
        rng = random.Random(1)
        counts = Counter(QDISC.random(rng) for _ in range(6000))
        assert list(counts.values()) == pytest.approx([2000] * 3, rel=0.1)

    def test_levels(self) -> None:
        """A sweep includes every value if possible, and never one twice."""
        assert QDISC.values == QDISC.levels(3) == QDISC.levels(7)
        assert 2 == len(set(QDISC.levels(2)))

    def test_words_are_equally_far_apart(self) -> None:
        """Two different words are 1 apart, like the ends of a number's range."""
        for first, second in itertools.combinations(QDISC.values, 2):
            assert 1 == pytest.approx(
                math.dist(QDISC.coordinates(first), QDISC.coordinates(second))
            )

    def test_numbers_are_in_order(self) -> None:
        """Numbers to choose from have coordinates in ascending order."""
        gene = Choice(name="beta_flows", values=(8, 1, 64))
        assert [(0.0,), (0.5,), (1.0,)] == [gene.coordinates(value) for value in (1, 8, 64)]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"name": "qdiscs", "values": ["pie"]}, "did you mean qdisc?"),
            ({"name": "qdisc", "values": []}, r"^qdisc\.values is \[\]; .*\['droptail'\]"),
            ({"name": "qdisc", "values": ["pie", "pie"]}, r"^qdisc\.values is .* all different"),
            ({"name": "qdisc", "values": [3]}, r"^qdisc\.values\[0\] is 3; it must be a name"),
            ({"name": "rtt_ms", "values": [10, 0]}, r"^rtt_ms\.values\[1\] is 0; .* above 0"),
        ],
    )
    def test_bad_input(self, settings: dict[str, Any], message: str) -> None:
        """An invalid choice is refused with the reason."""
        with pytest.raises(InputError, match=message):
            Choice(**settings)


@every_gene
class TestEveryGene:
    def test_moved_is_a_value(self, gene: Gene) -> None:
        """A neighbour of a value is a valid value, and small steps stay nearer than large ones."""
        rng = random.Random(1)
        values = [gene.random(rng) for _ in range(300)]
        distances = []
        for step in (0.05, 0.5):
            moved = [gene.moved(value, rng, step) for value in values]
            places = [[gene.coordinates(value) for value in side] for side in (values, moved)]
            assert all(value == gene.moved(value, rng, 0.0) for value in moved)
            first, second = map(np.array, places)
            distances.append(np.linalg.norm(first - second, axis=1).mean())
        assert distances[0] < distances[1]

    def test_table_of_toml(self, gene: Gene) -> None:
        """A gene written as a table is read back equal."""
        assert gene == read_gene(gene.to_dict())


class TestSpace:
    def test_default_is_the_thesis(self) -> None:
        """The ranges are those of section 5.4."""
        assert {gene.name: (gene.at(0), gene.at(1)) for gene in DEFAULT_SPACE.genes} == {
            "bandwidth_mbps": (25, 400),
            "rtt_ms": (10, 320),
            "queue_bdp": (0.25, 5),
            "alpha_flows": (1, 5),
            "beta_flows": (1, 5),
        }

    def test_values_are_named(self) -> None:
        """A chromosome's values get the names of the genes in order."""
        assert DEFAULT_SPACE.values((100.0, 40.0, 1.0, 2, 3)) == {
            "bandwidth_mbps": 100.0,
            "rtt_ms": 40.0,
            "queue_bdp": 1.0,
            "alpha_flows": 2,
            "beta_flows": 3,
        }

    @pytest.mark.parametrize(
        ("genes", "message"),
        [
            ((), r"^genes is \[\]; it must be a list of one gene or more"),
            ((BANDWIDTH, RTT), "^gene queue_bdp or queue_packets is missing"),
            ((RTT, QUEUE), "^gene bandwidth_mbps or trace is missing"),
            (
                (*DEFAULT_SPACE.genes, Number(name="queue_packets", low=9, high=99)),
                "^genes queue_bdp and queue_packets exclude each other",
            ),
        ],
    )
    def test_no_network(self, genes: tuple[Gene, ...], message: str) -> None:
        """An empty space, or one without a network, is refused."""
        with pytest.raises(InputError, match=message):
            Space(genes)

    def test_gene_twice(self) -> None:
        """A repeated gene is refused."""
        with pytest.raises(InputError, match=r"^number of genes rtt_ms is 2; it must be 1"):
            Space((*DEFAULT_SPACE.genes, RTT))

    def test_stratified(self) -> None:
        """Each of n equal parts of every gene's range is drawn from once."""
        chromosomes = DEFAULT_SPACE.stratified(random.Random(1), 64)
        places = np.array([DEFAULT_SPACE.coordinates(c) for c in chromosomes])
        assert 64 == len(chromosomes)
        for column in places[:, :2].T:  # those of fine steps; the others are rounded to few values
            assert list(range(64)) == sorted(np.clip(column * 64 + 1e-9, 0, 63).astype(int))
        for name, expected in (("alpha_flows", 5), ("beta_flows", 5)):
            assert expected == len({DEFAULT_SPACE.values(c)[name] for c in chromosomes})

    def test_corners(self) -> None:
        """Corners are all combinations of ends, and of every value of a choice."""
        corners = Space((BANDWIDTH, RTT, QUEUE, QDISC)).corners()
        assert 2 * 2 * 2 * 3 == len(set(corners)) == len(corners)
        assert all(c[0] in {25, 400} and c[1] in {10, 320} for c in corners)

    def test_chromosome_of_a_row(self) -> None:
        """The values of a table's row make their original chromosome."""
        rng = random.Random(1)
        chromosomes: list[Chromosome] = [DEFAULT_SPACE.random(rng) for _ in range(20)]
        table = pd.DataFrame([DEFAULT_SPACE.values(c) for c in chromosomes])
        assert chromosomes == [DEFAULT_SPACE.chromosome(r) for r in table.to_dict("records")]


GENE = "[[genes]]\nname = '{}'\n{}\n"
NETWORK = GENE.format("rtt_ms", "low = 10\nhigh = 20") + GENE.format("queue_bdp", "low=1\nhigh=1")


class TestDict:
    @pytest.mark.parametrize(
        "document",
        [
            [],
            "genes",
            {"genes": [], "traces": 5},
            {"genes": [], "traces": [{"name": "a", "opportunities_ms": [1]}]},
            {"genes": [], "traces": [{"opportunities_ms": "1"}]},
            {"genes": [], "traces": [{"name": "a", "opportunities_ms": "2 x"}]},
        ],
    )
    def test_bad_input(self, document: Any) -> None:
        """An invalid space, as in a damaged ``search.json``, is an input error."""
        with pytest.raises(InputError):
            Space.from_dict(document)


class TestFile:
    def test_example(self) -> None:
        """The example has a gene of every kind, and all its scenarios are valid."""
        space = Space.load("examples/raygen/space.toml")
        assert {Number, Choice} == {type(gene) for gene in space.genes}
        config = SearchConfig(alpha="bbr", beta="cubic", space=space)
        for chromosome in space.corners():
            config.experiment(chromosome)

    def test_settings_by_path(self) -> None:
        """Genes are settings of the path by their paths in a document, over the fixed ones."""
        space = Space.load("examples/raygen/paths.toml")
        assert space == Space.from_dict(json.loads(json.dumps(space.to_dict())))
        config = SearchConfig(alpha="bbr", beta="cubic", space=space)
        for chromosome in space.corners():
            values, path = space.values(chromosome), config.experiment(chromosome).path
            (link,), (back,), (change,) = path.bottlenecks, path.reverse_bottlenecks, path.changes
            assert link.policer is not None
            assert values == {
                "bandwidth_mbps": link.bandwidth_mbps,
                "rtt_ms": path.rtt_ms,
                "bottlenecks.0.policer.rate_mbps": link.policer.rate_mbps,
                "reverse_bottlenecks.0.bandwidth_mbps": back.bandwidth_mbps,
                "noise.reverse_jitter_ms": path.noise.reverse_jitter_ms,
                "changes.0.rtt_ms": change.rtt_ms,
            }
            assert (200, 50, 10) == (link.queue_packets, back.queue_packets, change.at_s)

    def test_l4s(self) -> None:
        """The example for L4S has DualPI2's default limit, and all its scenarios are valid."""
        space = Space.load("examples/raygen/l4s.toml")
        config = SearchConfig(alpha="prague", beta="cubic", space=space, qdisc="dualpi2")
        for chromosome in space.corners():
            (link,) = config.experiment(chromosome).competing.path.bottlenecks
            assert 10_000 == link.queue_packets

    def test_traces_are_read(self, tmp_path: Path) -> None:
        """The values of a gene ``trace`` are files beside the TOML file."""
        for name, every_ms in (("slow", 12), ("fast", 1)):
            Trace(name=name, opportunities_ms=(every_ms,)).to_file(tmp_path / f"{name}.trace")
        traces = 'scale = "choice"\nvalues = ["slow.trace", "fast.trace"]'
        (tmp_path / "space.toml").write_text(NETWORK + GENE.format("trace", traces))
        space = Space.load(tmp_path / "space.toml")
        assert [1, 12] == [trace.mean_mbps for trace in space.traces]
        assert space == Space.from_dict(json.loads(json.dumps(space.to_dict())))
        config = SearchConfig(alpha="bbr", beta="cubic", space=space)
        links = {config.experiment(c).path.bottlenecks[0].mean_mbps for c in space.corners()}
        assert {1, 12} == links

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "genes are missing: add a table"),
            ("genes = 3", "genes are missing: add a table"),
            ("[[gene]]", "gene is not a setting; did you mean genes?"),
            (
                GENE.format("rtt", "low=1\nhigh=2"),
                r"genes\[0\]: rtt is not a setting; did you mean",
            ),
            (GENE.format("rtt_ms", "low=1"), r"genes\[0\]: high is missing"),
            (GENE.format("rtt_ms", "low=1\nhigh=2\nunit='s'"), r"rtt_ms\.unit is 's'; .*'ms'"),
            (GENE.format("rtt_ms", "low=1\nhigh=2\nscale='logs'"), r"rtt_ms\.scale is 'logs'"),
            ("[[genes]]\nname=3\nlow=1\nhigh=2", r"genes\[0\]: name is 3; it must be a name"),
            ("[[genes]]\nname=['a']\nlow=1\nhigh=2", r"genes\[0\]: name is \['a'\]"),
            (GENE.format("rtt_ms", "low=1\nhigh=2\nscale=['log']"), r"rtt_ms\.scale is \['log'\]"),
            (NETWORK + "[[traces]]\nname='a'", "traces is not a setting"),
            (NETWORK, "gene bandwidth_mbps or trace is missing"),
            (
                NETWORK + GENE.format("trace", "scale='choice'\nvalues=['none.trace']"),
                "trace is 'none.trace'; it must be a trace file",
            ),
        ],
    )
    def test_bad_input(self, tmp_path: Path, text: str, message: str) -> None:
        """An invalid space is refused with the file's name and the position."""
        file = tmp_path / "space.toml"
        file.write_text(text)
        with pytest.raises(InputError, match=message) as refused:
            Space.load(file)
        assert str(refused.value).startswith(f"{file}: ")
        assert 1 == len(str(refused.value).splitlines())
