# SPDX-License-Identifier: Apache-2.0
"""Trends that remain at the end of a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, Scenario
from ccbench.harm import Drift
from tests.unit.conftest import run_with_rates

LINK = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
PAIR = Scenario(
    flows=(Flow(), Flow(start_s=20)),
    path=NetworkPath(bottlenecks=(LINK,), rtt_ms=40),
    duration_s=150,
)


def of(
    scenario: Scenario, second: npt.NDArray[np.float64], *others: npt.NDArray[np.float64]
) -> Drift | None:
    """Return the drift of a run with these rates of the second flow; the first has the rest."""
    return Drift.of(run_with_rates(scenario, np.column_stack([10 - second, second, *others])))


class TestDrift:
    """:class:`Drift`."""

    @pytest.mark.parametrize("slope", [-1, 1])
    def test_trend(self, slope: int) -> None:
        """Flows that move towards each other, or apart, have opposite changes."""
        found = of(PAIR, 5 + slope * np.linspace(-3, 3, 150))
        assert found is not None
        assert found.from_s >= 20
        assert found.to_s == 150
        assert np.sign(found.changes_mbps[1]) == slope
        assert found.changes_mbps[0] == pytest.approx(-found.changes_mbps[1])
        # The slope is 6 Mbit/s in 150 s.
        assert abs(found.changes_mbps[1]) == pytest.approx((150 - found.from_s) / 25, rel=0.1)

    def test_before_the_last_start(self) -> None:
        """A trend that ends before the last flow starts is none."""
        late = replace(PAIR, flows=(Flow(), Flow(start_s=80)))
        moving = np.concatenate([np.linspace(0, 5, 80), 5 + np.resize([-1.0, 1.0], 70)])
        assert of(late, moving) is None

    def test_after_the_first_stop(self) -> None:
        """The rate that a flow leaves to the others when it stops is no trend."""
        short = replace(PAIR, flows=(Flow(), Flow(stop_s=100)))
        leaving = np.where(np.arange(150) < 100, 5 + np.resize([-0.5, 0.5], 150), 0)
        assert of(short, leaving) is None

    def test_other_flows(self) -> None:
        """Only flows with data at all times are tested."""
        rate = Flow(kind="cbr", rate_mbps=1)
        steady = 5 + np.resize([-0.5, 0.5], 150)
        three = replace(PAIR, flows=(*PAIR.flows, rate))
        assert of(three, steady, np.linspace(0.0, 5.0, 150)) is None
        alone = replace(PAIR, flows=(rate,))
        assert Drift.of(run_with_rates(alone, np.linspace(0, 5, 150)[:, None])) is None

    def test_changes(self) -> None:
        """Where the path changes, the throughput does, too, and no longer run would alter that."""
        changed = replace(PAIR, path=replace(PAIR.path, changes=(Change(at_s=70, rtt_ms=90),)))
        assert of(changed, np.linspace(2, 8, 150)) is None

    def test_short(self) -> None:
        """Runs too short for the test, or with samples that do not fit into seconds, have none."""
        short = replace(PAIR, duration_s=60)
        assert of(short, np.linspace(2, 8, 60)) is None
        coarse = replace(PAIR, sample_interval_ms=1500)
        assert of(coarse, np.linspace(2, 8, 150)) is None
