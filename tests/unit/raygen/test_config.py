# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.raygen import DEFAULT_SPACE, SearchConfig, Space
from ccbench.raygen.gene import Choice
from tests.unit.raygen.conftest import small


class TestSearchConfig:
    def test_planned(self) -> None:
        """The planned number is the budget in whole generations."""
        assert small(budget=23, population=8, strategy="genetic").planned == 20

    def test_experiment(self) -> None:
        """A chromosome becomes the network and the flows of its genes."""
        scenario = small().experiment((100.0, 40.0, 2.0, 3, 1), seed=9).competing
        assert scenario.path.bottlenecks[0].bandwidth_mbps == 100
        assert scenario.path.bottlenecks[0].queue_packets == 667
        assert (scenario.path.rtt_ms, scenario.duration_s, scenario.seed) == (40, 4, 9)
        groups = {(flow.cca, flow.count) for flow in scenario.flows}
        assert {("even", 1), ("greedy", 3)} == groups

    def test_noise(self) -> None:
        """Given noise levels replace the typical ones, in every network."""
        network = (100.0, 40.0, 2.0, 3, 1)
        usual = small().experiment(network).path.noise
        given = small(noise={"background_share": 0.02})
        assert replace(usual, background_share=0.02) == given.experiment(network).path.noise
        assert SearchConfig.from_dict(given.to_dict()) == given
        none = {field.name: 0 for field in fields(Noise)}
        assert NO_NOISE == small(noise=none).experiment(network).path.noise
        assert "none" == small(noise=none).noise_words

    def test_queue(self) -> None:
        """Queueing discipline and ECN are those of every network, in both runs."""
        config = small(qdisc="fq_codel", qdisc_options={"target_ms": 3}, ecn=True)
        experiment = config.experiment((100.0, 40.0, 2.0, 3, 1))
        for scenario in (experiment.solo, experiment.competing):
            (link,) = scenario.path.bottlenecks
            assert ("fq_codel", (("target_ms", 3),)) == (link.qdisc, link.qdisc_options)
            assert scenario.path.ecn is True
        assert SearchConfig.from_dict(config.to_dict()) == config
        assert "fq_codel, target_ms = 3, ECN" == config.queue_words
        assert "droptail, no ECN" == small().queue_words

    def test_varied_queue(self) -> None:
        """A gene of the queueing discipline excludes a given one."""
        space = Space((*DEFAULT_SPACE.genes, Choice(name="qdisc", values=("pie", "codel"))))
        experiment = small(space=space).experiment((100.0, 40.0, 2.0, 3, 1, "pie"))
        assert "pie" == experiment.competing.path.bottlenecks[0].qdisc
        with pytest.raises(InputError, match=r"^qdisc is 'fq_codel'; .* a gene qdisc"):
            small(space=space, qdisc="fq_codel")

    def test_description(self) -> None:
        """A network is described by the values of its genes, as in tables."""
        words = small().describe((99.7, 40.0, 0.49, 3, 1))
        assert "3 greedy against 1 even, link 99.7 Mbit/s, RTT 40 ms, queue 0.49 BDP" == words

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"alpha": "Not One"}, "^alpha: cca is 'Not One'"),
            ({"beta": ""}, "^beta is ''"),
            ({"population": 6, "strategy": "genetic"}, "^population is 6; .* choose 4 or 8"),
            ({"budget": 3}, "^budget is 3; it must be at least the population, 4"),
            ({"duration_s": 0}, "^duration_s is 0"),
            ({"duration_s": -4}, "^duration_s is -4"),
            ({"duration_s": "4"}, "^duration_s is '4'"),
            ({"seed": -1}, "^seed is -1"),
            ({"seed": 2**63 - 1}, f"^seed is {2**63 - 1}; .* at most {2**62}"),
            ({"noise": {"jitter": 1}}, "^noise.*jitter.*reverse_jitter_ms"),
            ({"noise": {"reverse_jitter_ms": -1}}, r"^noise\.reverse_jitter_ms is -1"),
            ({"noise": 3}, "^noise is 3; it must be a table"),
            ({"qdisc": "No"}, "qdisc is 'No'"),
            ({"qdisc_options": 3}, "^qdisc_options is 3; it must be a table"),
            ({"ecn": "maybe"}, "^ecn is 'maybe'"),
            ({"budget": 10**9}, "^budget is 1000000000; .* at most 1000000"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        """An invalid setting is refused before anything runs."""
        with pytest.raises(InputError, match=message):
            small(**change)
