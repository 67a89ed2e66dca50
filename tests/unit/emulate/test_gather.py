# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from functools import partial

from ccbench import Bottleneck, Flow, NetworkPath, Scenario, emulate
from ccbench.base.errors import EngineError
from tests.unit.conftest import ArithmeticEngine
from tests.unit.raygen.conftest import Wrapped


def scenario(mbps: float) -> Scenario:
    """Make a scenario."""
    link = Bottleneck(bandwidth_mbps=mbps, queue_bdp=1)
    return Scenario(
        flows=(Flow(cca="even"),), path=NetworkPath(bottlenecks=(link,), rtt_ms=40), duration_s=2
    )


class FailsAt30(Wrapped):
    """An engine on which runs at 30 Mbit/s fail."""

    def before(self, scenario: Scenario) -> None:
        """Raise an error at 30 Mbit/s."""
        if scenario.path.bottlenecks[0].mean_mbps == 30:
            raise EngineError("no luck")


class TestGather:
    def test_runs(self) -> None:
        """Each result gets the runs of its scenarios in order; equal scenarios run once."""
        engine = ArithmeticEngine()
        a, b, c = map(scenario, (10, 20, 30))
        needs = {"one": (a,), "three": (c, b, a, c)}
        run_many = partial(emulate.run_many, engine=engine, store=None, jobs=1)
        done: list[Scenario] = []
        actual = {
            outcome.key: outcome.runs
            for outcome in emulate.gather(needs, run_many, on_run=done.append)
        }
        assert {k: list(v) for k, v in needs.items()} == {
            key: [run.scenario for run in runs] for key, runs in actual.items()
        }
        assert [c, b, a] == engine.ran == done  # the longest first

    def test_failure(self) -> None:
        """A failed run fails only the results that need it."""
        a, b, c = map(scenario, (10, 20, 30))
        needs = {"good": (a, b), "bad": (a, c), "worse": (c,)}
        run_many = partial(emulate.run_many, engine=FailsAt30(ArithmeticEngine()), store=None)
        actual = {item.key: item for item in emulate.gather(needs, run_many, on_run=lambda _: None)}
        assert [None, "no luck", "no luck"] == [
            one.error and str(one.error) for one in (actual[key] for key in needs)
        ]
        assert [2, 0, 0] == [len(actual[key].runs) for key in needs]
