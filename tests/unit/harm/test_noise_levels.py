# SPDX-License-Identifier: Apache-2.0
"""Harm over levels of noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Flow, harm
from ccbench.base.errors import InputError
from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.experiment.path import typical_path
from ccbench.harm.figures import sensitivity_figure
from tests.unit.conftest import NoisyEngine, run_with_rates

if TYPE_CHECKING:
    from ccbench import Run, Scenario

pytestmark = pytest.mark.slow


class PhaseEngine(NoisyEngine):
    """An engine in which alpha wins without noise, and loses with much of it."""

    deviation = 0.01

    def run(self, scenario: Scenario, **settings: Any) -> Run:
        """Swap the rates of two flows if the jitter is above a millisecond."""
        result = super().run(scenario, **settings)
        if scenario.flow_count == 1 or scenario.path.noise.reverse_jitter_ms < 1:
            return result
        return run_with_rates(scenario, result.throughput().iloc[0].to_numpy()[::-1])


class SymmetricEngine(NoisyEngine):
    """An engine in which one of two equal flows has more by chance, whatever the noise."""

    deviation = 0.1
    bias = 0.0

    def run(self, scenario: Scenario, **settings: Any) -> Run:
        """Shift the equal rates of two flows by a random share, the first flow's by `bias` more."""
        result = super().run(scenario, **settings)
        if scenario.flow_count == 1 or not scenario.path.noise:
            return result
        rng = np.random.default_rng(
            [scenario.seed, round(1e6 * scenario.path.noise.reverse_jitter_ms)]
        )
        share = np.clip(0.5 + self.bias + rng.normal(0, self.deviation), 0.1, 0.9)
        return run_with_rates(scenario, 10 * np.array([share, 1 - share]))


def pair(**settings: Any) -> harm.Experiment:
    """Return one greedy flow against an even one, with a jitter of 0.5 ms."""
    one = harm.long_flows(
        alpha="greedy",
        beta="even",
        path=typical_path(bandwidth_mbps=10, rtt_ms=40, queue_bdp=1),
        duration_s=10,
    )
    noise = settings.pop("noise", Noise(reverse_jitter_ms=0.5))
    return replace(one, path=replace(one.path, noise=noise), **settings)


class TestSensitivity:
    """:func:`sensitivity`."""

    def test_levels(self, noisy_engine: NoisyEngine) -> None:
        """The whole noise is scaled, and more noise gives a wider interval."""
        noise = Noise(reverse_jitter_ms=0.5, background_share=0.01)
        result = harm.sensitivity(pair(noise=noise), repetitions=4, engine=noisy_engine, store=None)
        assert result.levels == harm.LEVELS
        assert result.harms[-1].noise == Noise(reverse_jitter_ms=5, background_share=0.1)
        table = result.table()
        assert table["exact"].tolist() == [True, False, False, False, False]
        assert table["repetitions"].tolist() == [1, 4, 4, 4, 4]
        widths = (table["high"] - table["low"]).dropna()
        assert widths.is_monotonic_increasing
        assert not result.sign_depends_on_noise

    def test_sign(self) -> None:
        """A sign that changes with the noise is reported."""
        result = harm.sensitivity(pair(), engine=PhaseEngine(), store=None)
        assert result.signs == (0, 1, 1, 1, -1)  # an exact run is a single sample
        assert result.sign_depends_on_noise
        assert result.to_dict()["sign_depends_on_noise"]

    def test_simultaneous(self, noisy_engine: NoisyEngine) -> None:
        """By default, the intervals of all levels hold together without assumptions."""
        result = harm.sensitivity(pair(), engine=noisy_engine, store=None)
        assert all(item.error == pytest.approx(0.01) for item in result.harms)
        assert [len(item.repetitions) for item in result.harms] == [1, 8, 8, 8, 8]
        assert all(item.headline[1].is_distribution_free for item in result.harms[1:])

    def test_against_itself(self) -> None:
        """A CCA against itself has no sign at any level, in spite of chance in single runs."""
        itself = pair(alpha=(Flow(cca="even"),))
        for seed in range(1, 4):
            result = harm.sensitivity(
                replace(itself, seed=seed), (0.1, 1, 10), engine=SymmetricEngine(), store=None
            )
            assert set(result.signs) == {0}
            assert not result.sign_depends_on_noise
            assert 0 < result.largest < 0.5

    def test_negligible(self) -> None:
        """A harm below the limit has no sign, however narrow its interval."""
        engine = SymmetricEngine()
        engine.bias, engine.deviation = 0.02, 0.001
        itself = pair(alpha=(Flow(cca="even"),))
        result = harm.sensitivity(itself, engine=engine, store=None)
        assert all(item.headline[1].high < 0 for item in result.harms[1:])
        assert set(result.signs) == {0}
        engine.bias = 0.2
        result = harm.sensitivity(itself, engine=engine, store=None)
        assert result.signs == (0, -1, -1, -1, -1)

    def test_progress(self, noisy_engine: NoisyEngine) -> None:
        """The runs of all levels are counted together, and all planned runs are done at the end."""
        seen: list[tuple[int, int]] = []
        harm.sensitivity(
            pair(),
            (2, 1),
            repetitions=3,
            engine=noisy_engine,
            store=None,
            on_progress=lambda now: seen.append((now.done, now.planned)),
        )
        assert seen == [(done, 12) for done in range(1, 13)]

    @pytest.mark.parametrize(
        ("levels", "noise", "words"),
        [
            ((), Noise(reverse_jitter_ms=1), "levels is"),
            ((-1,), Noise(reverse_jitter_ms=1), "levels is -1"),
            ((0, 1), NO_NOISE, "noise is 'none'"),
            ((1, 10), Noise(background_share=0.1), "noise times 10: background_share is 1.0"),
        ],
    )
    def test_bad_level(
        self, noisy_engine: NoisyEngine, levels: tuple[float, ...], noise: Noise, words: str
    ) -> None:
        """Invalid levels are refused before anything runs."""
        with pytest.raises(InputError, match=words):
            harm.sensitivity(pair(noise=noise), levels, engine=noisy_engine, store=None)
        assert noisy_engine.ran == []

    def test_figure(self, noisy_engine: NoisyEngine) -> None:
        """The figure has a mean for each level and a dot for each repetition."""
        result = harm.sensitivity(
            pair(), (0, 1, 10), repetitions=4, engine=noisy_engine, store=None
        )
        (axes,) = sensitivity_figure(result).axes
        assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "1", "10"]
        dots = [np.size(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"]
        assert sorted(dots) == [1, 3, 4, 4]
