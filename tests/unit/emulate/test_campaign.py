# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Noise, Scenario, emulate
from ccbench.base.errors import EngineError, InputError
from tests.unit.conftest import ArithmeticEngine, NoisyEngine
from tests.unit.raygen.conftest import Wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ccbench import Run
    from ccbench.emulate.progress import CampaignProgress


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


class TestGathered:
    def test_runs(self) -> None:
        """Each result gets the runs of its scenarios in order; equal scenarios run once."""
        engine = ArithmeticEngine()
        a, b, c = map(scenario, (10, 20, 30))
        needs = {"one": (a,), "three": (c, b, a, c)}
        heard: list[CampaignProgress] = []
        campaign = emulate.Campaign(engine=engine, store=None, jobs=1, on_progress=heard.append)
        campaign.expect(3)
        actual = {outcome.key: outcome.runs for outcome in campaign.gathered(needs)}
        assert {k: list(v) for k, v in needs.items()} == {
            key: [run.scenario for run in runs] for key, runs in actual.items()
        }
        assert [c, b, a] == engine.ran  # the longest first
        assert [(1, 6), (2, 6), (3, 6)] == [(now.done, now.planned) for now in heard]
        # The work of expected runs is that of the planned ones; progress never decreases.
        assert heard[0].fraction < heard[1].fraction < heard[2].fraction == pytest.approx(0.5)
        assert campaign.expect(30).fraction == heard[-1].fraction < campaign.expect(0).fraction

    def test_failure(self) -> None:
        """A failed run fails only the results that need it."""
        a, b, c = map(scenario, (10, 20, 30))
        needs = {"good": (a, b), "bad": (a, c), "worse": (c,)}
        campaign = emulate.Campaign(engine=FailsAt30(ArithmeticEngine()), store=None)
        actual = {item.key: item for item in campaign.gathered(needs)}
        assert [None, "no luck", "no luck"] == [
            one.error and str(one.error) for one in (actual[key] for key in needs)
        ]
        assert [2, 0, 0] == [len(actual[key].runs) for key in needs]

    def test_names(self) -> None:
        """Equal scenarios run once, and each result has the name of its own."""
        engine = ArithmeticEngine()
        needs = {name: (replace(scenario(10), name=name),) for name in "ab"}
        campaign = emulate.Campaign(engine=engine, store=None)
        names = campaign.measured(needs, lambda _, run: run.scenario.name)
        assert {"a": "a", "b": "b"} == names
        assert 1 == len(engine.ran)


class TestFailures:
    def test_all_are_named(self) -> None:
        """The error names each failed result with its reason, after the others have finished."""
        engine = FailsAt30(ArithmeticEngine())
        needs = {mbps: (scenario(mbps),) for mbps in (10, 20, 30, 40)}

        def measure(mbps: float, _: Run) -> float:
            if mbps == 20:
                raise InputError("no value")
            return mbps

        with pytest.raises(EngineError) as caught:
            emulate.Campaign(engine=engine, store=None).measured(needs, measure)
        words = "2 of 4 failed: 20: no value; 30: no luck (the others are in the store)"
        assert words == str(caught.value)


class TestRepeated:
    @pytest.mark.parametrize(("jitter_ms", "runs"), [(0, 1), (1, 3)])
    def test_exact(self, jitter_ms: float, runs: int) -> None:
        """Without anything random one run stands for those of all seeds."""
        engine = NoisyEngine()
        noisy = scenario(10)
        noise = Noise(reverse_jitter_ms=jitter_ms)
        noisy = replace(noisy, path=replace(noisy.path, noise=noise))
        repeated = emulate.Campaign(engine=engine, store=None).repeated(
            {"one": lambda seed: (replace(noisy, seed=seed),)},
            {"one": (4, 5, 6)},
            lambda key, run: (key[1], run.scenario.seed),
        )["one"]
        assert runs == len(engine.ran)
        assert (runs == 1) == repeated.is_exact
        expected = [(0, 4)] if runs == 1 else [(0, 4), (1, 5), (2, 6)]
        assert tuple(expected) == repeated.results
        assert expected[-1] == repeated.of(2)

    def test_policy(self) -> None:
        """A policy adds repetitions by the results so far; cases without more are left alone."""
        engine = NoisyEngine()
        path = replace(scenario(10).path, noise=Noise(reverse_jitter_ms=1))
        seen: list[dict[str, int]] = []

        def policy(results: Mapping[str, Sequence[int]]) -> dict[str, int]:
            seen.append({key: len(own) for key, own in results.items()})
            return {"a": 3 if results["a"] else 1, "b": 3}

        def case(mbps: float) -> Callable[[int], tuple[Scenario]]:
            return lambda seed: (replace(scenario(mbps), path=path, seed=seed),)

        repeated = emulate.Campaign(engine=engine, store=None).repeated(
            {"a": case(10), "b": case(20)},
            {"a": range(5), "b": range(5, 10)},
            lambda _, run: run.scenario.seed,
            policy=policy,
        )
        assert [{"a": 0, "b": 0}, {"a": 1, "b": 3}, {"a": 3, "b": 3}] == seen
        assert {"a": (0, 1, 2), "b": (5, 6, 7)} == {k: own.results for k, own in repeated.items()}

    def test_plan(self) -> None:
        """A plan counts distinct runs, and those that are stored."""
        needs = {"a": (scenario(10), scenario(20)), "b": (scenario(20),)}
        plan = emulate.Campaign(engine=ArithmeticEngine(), store=None).plan(needs)
        assert (2, 0) == (plan.runs, plan.stored)
        assert plan.memory_bytes > 0
