# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pytest

from ccbench.experiment.path import typical_path
from ccbench.harm import Experiment, long_flows
from ccbench.raygen.work import Work


def _experiments(count: int) -> list[Experiment]:
    """Return experiments of equal work, each with its own seed."""
    first = long_flows(
        alpha="bbr",
        beta="cubic",
        path=typical_path(bandwidth_mbps=50, rtt_ms=20, queue_bdp=1),
        duration_s=10,
    )
    return [replace(first, seed=seed) for seed in range(count)]


class TestWork:
    def test_left(self) -> None:
        """At a constant speed, every reported remaining time is correct."""
        now = 0.0
        work = Work(lambda _: False, clock=lambda: now)
        experiments = _experiments(10)
        work.add(experiments, remaining=30)
        lefts = []
        for experiment in experiments:
            now += 2.0  # the two runs of an experiment side by side, as on two cores
            work.finish(experiment.solo)
            work.finish(experiment.competing)
            lefts.append(work.left_s())
        assert [None] * 3 == lefts[:3]  # a first few runs tell nothing yet
        assert [2.0 * (40 - done) for done in range(4, 11)] == pytest.approx(lefts[3:])

    def test_stored_runs_are_not_speed(self) -> None:
        """Stored runs take no time: they are done, and do not affect the speed."""
        now = 0.0
        experiments = _experiments(10)
        stored = {experiment.solo for experiment in experiments} | {
            item.competing for item in experiments[:5]
        }
        work = Work(stored.__contains__, clock=lambda: now)
        work.add(experiments, remaining=0)
        for scenario in stored:
            work.finish(scenario)
        assert work.left_s() is None
        assert 0.75 == pytest.approx(work.fraction(), abs=1e-3)

    def test_fraction_never_falls(self) -> None:
        """A later generation with more work than expected does not reduce the progress."""
        work = Work(lambda _: False)
        first, second = _experiments(2)
        work.add([first], remaining=0)
        assert 0 == work.fraction()
        for scenario in (first.solo, first.competing):
            work.finish(scenario)
        assert 1 == work.fraction()
        work.add([second], remaining=0)
        assert 1 == work.fraction()
