# SPDX-License-Identifier: Apache-2.0
"""Repeated measurements of harm."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Flow, emulate, harm
from ccbench.base.errors import EngineError, InputError
from ccbench.base.estimate import CONFIDENCE, ERROR, Estimate, order_statistics
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate import Store
from ccbench.emulate.policies import looks, until_precise
from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.experiment.path import typical_path
from tests.unit.base.test_estimate import SKEWED

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench import Run, Scenario
    from tests.unit.conftest import NoisyEngine

pytestmark = pytest.mark.slow


def experiment(noise: Noise | None = None, **changes: Any) -> harm.Experiment:
    """Return one greedy flow against an even one, at 10 Mbit/s for 10 s."""
    path = typical_path(bandwidth_mbps=10, rtt_ms=40, queue_bdp=1)
    path = path if noise is None else replace(path, noise=noise)
    pair = harm.long_flows(alpha="greedy", beta="even", duration_s=10, path=path)
    return replace(pair, **changes)


class TestRepeat:
    """:func:`repeat`."""

    def test_estimates(self, noisy_engine: NoisyEngine) -> None:
        """Every part is the median over the measurements of the repetition seeds."""
        pair = experiment()
        result = harm.repeat(pair, repetitions=5, engine=noisy_engine, store=None)
        measured = []
        for seed in repetition_seeds(1, 5):
            seeded = replace(pair, seed=seed)
            solo, competing = (
                emulate.run(scenario, engine=noisy_engine, store=None)
                for scenario in (seeded.solo, seeded.competing)
            )
            measured.append(harm.measure(solo, competing))
        relative = (measurement.relative for measurement in measured)
        assert result.relative == Estimate(relative, of="median")
        assert result.estimate("jain") == Estimate((item.jain for item in measured), of="median")
        assert result.values()["seed"].tolist() == list(repetition_seeds(1, 5))
        assert not result.is_exact
        assert result.relative.deviation > 0

    def test_typical_noise(self) -> None:
        """Long flows have the typical noise of their link by default."""
        assert experiment().path.noise.reverse_jitter_ms > 0
        assert experiment().competing.path == experiment().solo.path == experiment().path
        assert experiment(NO_NOISE).path.noise == NO_NOISE

    def test_exact(self, noisy_engine: NoisyEngine) -> None:
        """Where nothing draws at random, the result is one run without interval."""
        result = harm.repeat(experiment(NO_NOISE), engine=noisy_engine, store=None)
        assert result.is_exact
        assert len(result.repetitions) == 1
        assert len(noisy_engine.ran) == 2
        assert math.isnan(result.relative.half_width)
        assert result.sign == 1  # of the single harm

    @pytest.mark.parametrize("deviation", [0.0, 0.1])
    @pytest.mark.parametrize("count", [2, 5])
    def test_random_without_noise(
        self, noisy_engine: NoisyEngine, count: int, deviation: float
    ) -> None:
        """A congestion control that draws at random is repeated, even if all draws agree."""
        noisy_engine.draws, noisy_engine.deviation = True, deviation
        result = harm.repeat(
            experiment(NO_NOISE), repetitions=count, engine=noisy_engine, store=None
        )
        assert not result.is_exact
        assert len(result.repetitions) == count
        assert len(noisy_engine.ran) == 2 * count

    def test_losses_are_random(self, noisy_engine: NoisyEngine) -> None:
        """With random losses two equal runs prove nothing: all seeds are run."""
        lossy = experiment(NO_NOISE)
        link = replace(lossy.path.bottlenecks[0], loss=1e-9)
        path = replace(lossy.path, bottlenecks=(link,))
        result = harm.repeat(
            replace(lossy, path=path), repetitions=3, engine=noisy_engine, store=None
        )
        assert not result.is_exact
        assert len(result.repetitions) == 3

    def test_single(self, noisy_engine: NoisyEngine) -> None:
        """One repetition has no interval, and its sign is undecided."""
        result = harm.repeat(experiment(), repetitions=1, engine=noisy_engine, store=None)
        assert math.isnan(result.relative.low)
        assert (result.is_exact, result.sign) == (False, 0)

    def test_store(self, noisy_engine: NoisyEngine, tmp_path: Path) -> None:
        """More repetitions run only the missing ones."""
        store = Store(tmp_path)
        first = harm.repeat(experiment(), repetitions=3, engine=noisy_engine, store=store)
        more = harm.repeat(experiment(), repetitions=5, engine=noisy_engine, store=store)
        assert len(noisy_engine.ran) == 2 * 5
        assert more.relative.values[:3] == first.relative.values

    def test_jobs(self, noisy_engine: NoisyEngine) -> None:
        """Values and their order do not depend on the number of jobs."""
        single, three = (
            harm.repeat(experiment(), repetitions=5, engine=noisy_engine, store=None, jobs=jobs)
            for jobs in (1, 3)
        )
        assert single.relative == three.relative

    def test_progress(self, noisy_engine: NoisyEngine) -> None:
        """Progress reports every run and the number of planned runs."""
        seen: list[tuple[int, int]] = []
        harm.repeat(
            experiment(),
            repetitions=3,
            engine=noisy_engine,
            store=None,
            on_progress=lambda now: seen.append((now.done, now.planned)),
        )
        assert seen == [(done, 6) for done in range(1, 7)]

    def test_failed_run(self, noisy_engine: NoisyEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A failed repetition is an error, and is not skipped."""
        run, bad = noisy_engine.run, repetition_seeds(1, 3)[2]

        def fail(scenario: Scenario, **settings: Any) -> Run:
            if scenario.seed == bad:
                raise EngineError("out of memory")
            return run(scenario, **settings)

        monkeypatch.setattr(noisy_engine, "run", fail)
        with pytest.raises(EngineError, match="out of memory"):
            harm.repeat(experiment(), repetitions=3, engine=noisy_engine, store=None)

    def test_no_harm(self, noisy_engine: NoisyEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run from which no harm follows is an error that names the seed."""
        run = noisy_engine.run

        def starve(scenario: Scenario, **settings: Any) -> Run:
            result = run(scenario, **settings)
            nothing = result.flows.assign(throughput_bytes=0)
            return replace(result, flows=nothing) if scenario.flow_count == 1 else result

        monkeypatch.setattr(noisy_engine, "run", starve)
        with pytest.raises(EngineError, match="seed 1: throughput of the beta flows: solo is 0"):
            harm.repeat(experiment(), repetitions=2, engine=noisy_engine, store=None)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"repetitions": 0}, "repetitions is 0"),
            ({"repetitions": 1, "precision": 0.1}, "repetitions is 1; it must be .* at least 6"),
            ({"precision": 0}, "precision is 0"),
            ({"precision": 0.1, "bound": 0}, "bound is 0; it must be left out with precision"),
            ({"precision": math.nan}, "precision is nan"),
            ({"precision": 0.1, "max_repetitions": 5}, "max_repetitions is 5; .* at least 6"),
        ],
    )
    def test_bad_setting(
        self, noisy_engine: NoisyEngine, settings: dict[str, Any], words: str
    ) -> None:
        """An invalid setting is refused before anything runs."""
        with pytest.raises(InputError, match=words):
            harm.repeat(experiment(), engine=noisy_engine, store=None, **settings)
        assert noisy_engine.ran == []

    def test_unknown_cca(self, noisy_engine: NoisyEngine) -> None:
        """A CCA unknown to the engine is refused with the experiment's name."""
        pair = experiment(alpha=(Flow(cca="tahoe"),))
        with pytest.raises(InputError, match=r"1 tahoe against 1 even.*tahoe"):
            harm.repeat(pair, engine=noisy_engine, store=None)


class TestOtherMetrics:
    """Harm to application-limited flows, and by further metrics."""

    def test_headline(self, noisy_engine: NoisyEngine) -> None:
        """A flow with a fixed rate has no fair share: its harm is absolute, by the first metric."""
        pair = experiment(beta=(Flow(cca="even", kind="rate", rate_mbps=9),))
        metrics = harm.metrics_named(["goodput", "throughput"])
        result = harm.repeat(pair, repetitions=3, metrics=metrics, engine=noisy_engine, store=None)
        name, estimate = result.headline
        assert name == "absolute harm by goodput"
        assert estimate == result.metric_estimate("goodput", "absolute")
        assert estimate.mean > 0.5
        assert result.to_dict()["harm"] is None
        with pytest.raises(InputError, match="flows that always have data"):
            _ = result.relative

    def test_no_metric(self, noisy_engine: NoisyEngine) -> None:
        """Such a flow requires a metric."""
        pair = experiment(beta=(Flow(cca="even", kind="rate", rate_mbps=9),))
        with pytest.raises(InputError, match="metrics is"):
            harm.repeat(pair, engine=noisy_engine, store=None)

    def test_missing_value(self, noisy_engine: NoisyEngine) -> None:
        """A flow that never completes has no completion time; more repetitions do not help."""
        pair = experiment(beta=(Flow(cca="even", kind="bytes", size_bytes=10**9),))
        result = harm.repeat(
            pair,
            precision=0.1,
            metrics=harm.metrics_named(["fct"]),
            engine=noisy_engine,
            store=None,
        )
        assert math.isnan(result.metric_estimate("fct", "absolute").value)
        assert len(result.repetitions) == harm.REPETITIONS
        assert not result.is_precise


class TestDocument:
    """:meth:`RepeatedHarm.to_dict`."""

    def test_keys(self, noisy_engine: NoisyEngine) -> None:
        """The document has the medians of all parts, the interval, and the single values."""
        metrics = harm.metrics_named(["goodput"])
        result = harm.repeat(
            experiment(), repetitions=3, metrics=metrics, engine=noisy_engine, store=None
        )
        document = result.to_dict()
        parts = document["harm"]
        single = result.repetitions[0].harm
        assert single is not None
        added = {"relative_low", "relative_high", "repetitions", "values"}
        assert set(parts) == set(single.to_dict()) | added
        assert parts["relative"] == pytest.approx(parts["absolute"] - parts["expected"])
        assert parts["relative_low"] < parts["relative"] < parts["relative_high"]
        assert parts["repetitions"] == len(parts["values"]) == 3
        assert np.median([row["relative"] for row in parts["values"]]) == parts["relative"]
        (metric,) = document["metrics"]
        assert metric["absolute_low"] < metric["absolute"] < metric["absolute_high"]
        assert metric["absolute"] == pytest.approx(parts["absolute"])
        assert document["noise"] == result.noise.to_dict()
        assert document["scenarios"]["competing"]["noise"] == document["noise"]


class TestPrecision:
    """Repetition until the interval is narrow enough."""

    def test_reached(self, noisy_engine: NoisyEngine) -> None:
        """Higher precision takes more repetitions, and the interval is as narrow as requested."""
        counts = []
        for precision in (0.1, 0.02):
            result = harm.repeat(experiment(), precision=precision, engine=noisy_engine, store=None)
            assert result.is_precise
            assert result.relative.half_width <= precision
            counts.append(len(result.repetitions))
        assert counts[0] == harm.REPETITIONS
        assert counts == sorted(counts)
        assert counts[-1] > counts[0]

    def test_not_reached(self, noisy_engine: NoisyEngine) -> None:
        """Repetition stops at the limit, and the result reports the missed precision."""
        result = harm.repeat(
            experiment(), precision=1e-4, max_repetitions=9, engine=noisy_engine, store=None
        )
        assert len(result.repetitions) == 9
        assert not result.is_precise

    def test_bound(self, noisy_engine: NoisyEngine) -> None:
        """A bound far from harm is excluded soon; a bound within the interval stays undecided."""
        settings: dict[str, Any] = {"engine": noisy_engine, "store": None, "max_repetitions": 9}
        median = harm.repeat(experiment(), repetitions=9, engine=noisy_engine, store=None).relative
        for bound, decision in ((-0.9, "above"), (0.9, "below"), (median.value, "undecided")):
            result = harm.repeat(experiment(), bound=bound, **settings)
            assert decision == result.decision == result.to_dict()["decision"]
            assert (6 if decision != "undecided" else 9) == len(result.repetitions)
        exact = harm.repeat(experiment(NO_NOISE), bound=0.0, **settings)
        assert ("above", 1) == (exact.decision, len(exact.repetitions))

    @pytest.mark.parametrize("name", ["normal", *SKEWED])
    def test_coverage(self, name: str) -> None:
        """Looking repeatedly does not cost coverage, whatever the distribution."""
        rng = np.random.default_rng(3)
        sample, median = SKEWED.get(name, (lambda rng, n: rng.normal(0, 1, n), 0.0))
        spread = np.subtract(*np.quantile(sample(rng, 10_000), (0.84, 0.16))) / 2
        plan = looks(harm.REPETITIONS, 100)
        for share in (0.25, 0.5, 1, 2):  # of the spread
            held, trials = 0, 300
            policy = until_precise(share * spread, tuple, plan)
            for _ in range(trials):
                values = sample(rng, 100)
                count = 0
                while (planned := policy({"": values[:count]})[""]) > count:
                    count = planned
                error = next(look.error for look in plan if look.repetitions == count)
                held += Estimate(values[:count], "median", error).low <= median
                held -= Estimate(values[:count], "median", error).high < median
            # Three standard deviations of a share of 95 %.
            assert held / trials > CONFIDENCE - 3 * math.sqrt(0.05 * 0.95 / trials)

    def test_coverage_of_means(self) -> None:
        """The intervals of a mean at all looks contain it together, so a decision is seldom wrong.

        This holds even for the least favourable bound, which is the mean itself.
        """
        plan = looks(5, 20, of="mean")
        samples = np.random.default_rng(4).normal(0, 1, (400, 20))
        wrong = 0
        for values in samples:
            estimates = [Estimate(values[: at.repetitions], error=at.error) for at in plan]
            wrong += any(not estimate.low <= 0 <= estimate.high for estimate in estimates)
        assert wrong / len(samples) < ERROR + 3 * math.sqrt(0.05 * 0.95 / len(samples))

    def test_spending(self) -> None:
        """All looks together spend at most the probability of error, and the interval states it."""
        plan = looks(harm.REPETITIONS, 100)
        assert plan[-1].repetitions == 100
        assert sum(order_statistics(*look)[1] for look in plan) <= ERROR

    def test_too_few(self) -> None:
        """A sample too small for an interval without assumptions does not stop, however narrow."""
        same = (1.0, 1.0001, 1.0002)
        assert until_precise(1.0, tuple, looks(3, 100))({"": same}) == {"": 5}
