# SPDX-License-Identifier: Apache-2.0
"""Perturbations of a path, and the simplest ones that show something."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccbench import typical_path
from ccbench.base.errors import InputError
from ccbench.raygen import Candidate, Choice, Number, SearchConfig
from ccbench.raygen.objective import OBJECTIVES
from ccbench.raygen.perturbations import (
    KINDS,
    NONE,
    Perturbation,
    changes,
    cross_traffic,
    is_of_perturbations,
    perturbations_of,
)
from ccbench.raygen.simplest import KEPT, simplest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen import Chromosome

PATH = typical_path(bandwidth_mbps=10, rtt_ms=40, queue_bdp=2)
UNTIL_S = 20.0

PERTURBATIONS = st.lists(
    st.builds(
        Perturbation,
        at_s=st.integers(1, 1900).map(lambda n: n / 100),
        lasts_s=st.integers(5, 200).map(lambda n: n / 100),
        kind=st.sampled_from([*KINDS]),
        share=st.sampled_from([0.1, 0.25, 0.5, 0.9]),
    ),
    max_size=5,
)


def at(found: Any, name: str, time_s: float, before: float) -> float:
    """Return the value of a setting of the path at a time."""
    values = [getattr(change, name) for change in found if change.at_s <= time_s]
    known = [value for value in values if value is not None]
    return known[-1] if known else before


class TestChanges:
    @given(PERTURBATIONS, st.integers(0, 1999))
    def test_each_time(self, perturbations: list[Perturbation], hundredths: int) -> None:
        """At each time the rate and the losses are those of the perturbations in effect."""
        time_s = hundredths / 100
        found = changes(perturbations, PATH, until_s=UNTIL_S)
        now = [one for one in perturbations if one.at_s <= time_s < one.to_s]
        slow = math.prod(1 - one.share for one in now if one.kind == "slow")
        arrive = math.prod(1 - one.share for one in now if one.kind == "loss")
        assert at(found, "bandwidth_mbps", time_s, 10) == pytest.approx(10 * slow, abs=1e-5)
        assert at(found, "loss", time_s, 0) == pytest.approx(1 - arrive, abs=1e-5)
        outages = [(change.at_s or 0.0, change.outage_s or 0.0) for change in found]
        down = [from_s for from_s, of_s in outages if from_s <= time_s < from_s + of_s - 1e-9]
        assert len(down) == any(one.kind == "outage" for one in now)

    @given(PERTURBATIONS)
    def test_order(self, perturbations: list[Perturbation]) -> None:
        """Changes are within the run and ordered by time, in whatever order they are given."""
        found = changes(perturbations, PATH, until_s=UNTIL_S)
        times_s = [change.at_s or 0.0 for change in found]
        assert times_s == sorted(times_s)
        assert all(0 < time_s < UNTIL_S for time_s in times_s)
        assert {*found} == {*changes(perturbations[::-1], PATH, until_s=UNTIL_S)}

    @given(PERTURBATIONS)
    def test_afterwards(self, perturbations: list[Perturbation]) -> None:
        """After the last perturbation, the path is as it was."""
        found = changes(perturbations, PATH, until_s=1e6)
        assert at(found, "bandwidth_mbps", 1e6, 10) == 10
        assert at(found, "loss", 1e6, 0) == 0

    @given(PERTURBATIONS)
    def test_cross_traffic(self, perturbations: list[Perturbation]) -> None:
        """Each burst of cross traffic is a UDP flow of its rate and time."""
        bursts = [one for one in perturbations if one.kind == "traffic"]
        flows = cross_traffic(perturbations, PATH, until_s=1e6)
        assert {"cbr"} >= {flow.kind for flow in flows}
        times_s = [(one.at_s, one.to_s) for one in bursts]
        assert times_s == [(flow.start_s, flow.stop_s) for flow in flows]
        assert [10 * one.share for one in bursts] == pytest.approx([f.rate_mbps for f in flows])


class TestGenes:
    def test_inverse(self) -> None:
        """Perturbations are read from the values of their genes, in the order of time."""
        values: dict[str, Any] = {"rtt_ms": 40}
        for number, (kind, at_s) in enumerate([("loss", 3), (NONE, 1), ("outage", 2)]):
            own = {"kind": kind, "at_s": at_s, "lasts_s": 1, "share": 0.5}
            values |= {f"perturbations.{number}.{name}": of for name, of in own.items()}
        found = perturbations_of(values)
        assert [(one.kind, one.at_s) for one in found] == [("outage", 2), ("loss", 3)]

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"kind": "flood", "at_s": 1, "lasts_s": 1}, r"^perturbations\.0: kind is 'flood'"),
            ({"kind": "loss", "at_s": 1}, r"^gene perturbations\.0\.lasts_s is missing"),
            ({"kind": "loss", "at_s": 1, "lasts_s": 1, "share": 1}, r"share is 1; it must be"),
            ({"kind": "loss", "at_s": 0, "lasts_s": 1}, r"at_s is 0; it must be a number above 0"),
        ],
    )
    def test_wrong(self, values: dict[str, Any], message: str) -> None:
        """A wrong or missing property is named with its perturbation."""
        with pytest.raises(InputError, match=message):
            perturbations_of({f"perturbations.0.{name}": of for name, of in values.items()})

    def test_names(self) -> None:
        """Only properties of a numbered perturbation are genes."""
        assert is_of_perturbations("perturbations.12.share")
        for name in ("perturbations.0", "perturbations.x.kind", "perturbations.0.size", "rtt_ms"):
            assert not is_of_perturbations(name)
        assert Number(name="perturbations.0.at_s", low=1, high=2).unit == "s"
        assert Choice(name="perturbations.0.kind", values=("none", "loss")).size == 2


class TestConfig:
    def test_defaults(self) -> None:
        """The objective decides the space, the duration and the reference."""
        lone = SearchConfig(alpha="bbr", objective="stall")
        assert (lone.beta, lone.duration_s) == ("cubic", 20)
        assert all(is_of_perturbations(gene.name) for gene in lone.space.genes)
        harm = SearchConfig(alpha="bbr", beta="cubic")
        assert harm.duration_s == 180
        assert "objective" not in harm.to_dict()
        for config in (lone, harm):
            assert config == SearchConfig.from_dict(config.to_dict())

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"objective": "speed"}, r"^objective is 'speed'; it must be .*harm"),
            ({"objective": "stall", "beta": "bbr"}, r"^beta is 'bbr'; it must be another CCA"),
            ({"objective": "stall", "metric": "throughput"}, r"^metric is 'throughput'"),
            ({}, r"^beta is ''"),
            (
                {"beta": "cubic", "space": OBJECTIVES["stall"].space},
                r"^perturbations\.\d\.kind is '\w+'; it must be 'none' for objective 'harm'",
            ),
        ],
    )
    def test_wrong(self, settings: dict[str, Any], message: str) -> None:
        """Settings that do not fit the objective are refused."""
        with pytest.raises(InputError, match=message):
            SearchConfig(alpha="bbr", **settings)

    def test_both_meet_the_same(self) -> None:
        """The two scenarios of a network differ only in the first flow's CCA."""
        config = SearchConfig(alpha="bbr", objective="stall")
        last = tuple(gene.at(1.0) for gene in config.space.genes)
        reference, tested = config.experiment(last).scenarios
        assert (reference.flows[0].cca, tested.flows[0].cca) == ("cubic", "bbr")
        assert reference.flows[1:] == tested.flows[1:]
        assert (reference.path, reference.seed) == (tested.path, tested.seed)


def claim(config: SearchConfig, kinds: Sequence[str]) -> Candidate:
    """Return a claim with perturbations of these kinds, three seconds apart."""
    values: dict[str, Any] = {}
    for number, kind in enumerate(kinds):
        own = {"kind": kind, "at_s": 1.37 + 3 * number, "lasts_s": 0.83, "share": 0.77}
        values |= {f"perturbations.{number}.{name}": of for name, of in own.items()}
    chromosome = config.space.chromosome(values)
    return Candidate(number=7, generation=1, chromosome=chromosome)


class TestSimplest:
    def test_culprit(self) -> None:
        """Only the perturbation that shows it is left, shorter and at a round time."""
        config = SearchConfig(alpha="bbr", objective="stall")

        def measured(network: Chromosome, seeds: Sequence[int]) -> list[float]:
            found = perturbations_of(config.space.values(network))
            longest = max((one.lasts_s for one in found if one.kind == "loss"), default=0)
            return [0.4 if longest >= 0.3 else 0.0 for _ in seeds]

        found = simplest(config, claim(config, ["slow", "loss", "none", "outage"]), 0.4, measured)
        assert found is not None
        (left,) = perturbations_of(config.space.values(found))
        assert left.kind == "loss"
        assert 0.3 <= left.lasts_s < 0.6
        assert left.share < 0.1
        assert len(f"{left.at_s:g}") < len("4.37")

    def test_pair(self) -> None:
        """Two perturbations that show it only together both stay."""
        config = SearchConfig(alpha="bbr", objective="stall")

        def measured(network: Chromosome, seeds: Sequence[int]) -> list[float]:
            kinds = {one.kind for one in perturbations_of(config.space.values(network))}
            return [float({"loss", "outage"} <= kinds) for _ in seeds]

        found = simplest(config, claim(config, ["slow", "loss", "outage", "loss"]), 1.0, measured)
        assert found is not None
        left = perturbations_of(config.space.values(found))
        assert sorted(one.kind for one in left) == ["loss", "outage"]

    def test_path_alone(self) -> None:
        """If the path shows it without perturbations, none is left."""
        config = SearchConfig(alpha="bbr", objective="stall")
        first = claim(config, ["slow", "loss", "outage", "traffic"])
        found = simplest(config, first, 0.2, lambda _network, seeds: [0.2 for _ in seeds])
        assert found is not None
        assert perturbations_of(config.space.values(found)) == ()

    def test_not_shown(self) -> None:
        """A claim that fails, or does not show enough with other seeds, has none."""
        config = SearchConfig(alpha="bbr", objective="stall")
        first = claim(config, ["loss", "none", "none", "none"])
        assert simplest(config, first, 1.0, lambda *_: [KEPT - 0.01] * 3) is None
        assert simplest(config, first, 1.0, lambda *_: []) is None
        assert simplest(config, first, 1.0, lambda *_: [KEPT, KEPT, 0.0]) is not None
