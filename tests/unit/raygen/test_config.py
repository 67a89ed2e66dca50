# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from ccbench.errors import InputError
from tests.unit.raygen.conftest import small


class TestSearchConfig:
    def test_planned(self) -> None:
        """What is planned is the budget in whole generations."""
        assert small(budget=23, population=8).planned == 20

    def test_experiment(self) -> None:
        """A chromosome becomes the network and the flows that its genes say."""
        scenario = small(seed=9).experiment((100.0, 40.0, 2.0, 3, 1)).competing
        assert scenario.bottlenecks[0].bandwidth_mbps == 100
        assert scenario.bottlenecks[0].queue_packets == 667
        assert (scenario.rtt_ms, scenario.duration_s, scenario.seed) == (40, 4, 9)
        assert [(flow.cca, flow.count) for flow in scenario.flows] == [("even", 1), ("greedy", 3)]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"alpha": "Not One"}, "^alpha: cca is 'Not One'"),
            ({"beta": ""}, "^beta is ''"),
            ({"population": 6}, "^population is 6; .* take 4 or 8"),
            ({"budget": 3}, "^budget is 3; it must be at least the population, 4"),
            ({"duration_s": 0}, "^duration_s is 0"),
            ({"duration_s": -4}, "^duration_s is -4"),
            ({"duration_s": "4"}, "^duration_s is '4'"),
            ({"seed": -1}, "^seed is -1"),
            ({"seed": 2**63 - 1}, f"^seed is {2**63 - 1}; .* at most {2**62}"),
            ({"budget": 10**9}, "^budget is 1000000000; .* at most 1000000"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        """A setting that cannot be is refused before anything runs."""
        with pytest.raises(InputError, match=message):
            small(**change)
