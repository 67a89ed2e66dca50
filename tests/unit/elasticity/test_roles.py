# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from ccbench.base.errors import InputError
from ccbench.elasticity.detector import spectrum
from ccbench.elasticity.pulse import pulse_mbps
from ccbench.elasticity.roles import (
    PulserMode,
    Watcher,
    election_probability,
    ewma_gain,
    ewma_weight,
    has_other_pulsers,
    smoothed,
)
from tests.unit.elasticity.conftest import LINK_MBPS, TIME_S, noise, tone


class TestWatcher:
    @pytest.mark.parametrize(
        ("hz", "seen"), [(5.0, PulserMode.COMPETITIVE), (6.0, PulserMode.DELAY)]
    )
    def test_modes(self, hz: float, seen: PulserMode) -> None:
        """The pulser's frequency indicates its mode, even if few of its pulses arrive."""
        received = 12 + 0.15 * pulse_mbps(TIME_S, LINK_MBPS, frequency_hz=hz) + 0.3 * noise(200)
        assert (Watcher().detect(received) == seen).mean() > 0.99

    def test_no_pulser(self) -> None:
        """Noise looks like a pulser with at most twice the probability n B(n, 1 + x²), n = 15."""
        actual = Watcher(threshold=1).detect(noise(4000))
        most = 2 * 15 * special.beta(15, 2)
        one = most / 2
        assert one - 0.02 < (actual != PulserMode.NO_PULSER).mean() < most + 0.02
        assert (Watcher().detect(noise(4000)) != PulserMode.NO_PULSER).mean() < 0.003
        assert PulserMode.NO_PULSER == Watcher().detect(np.full(500, 12.0))

    def test_other_order(self) -> None:
        """Either mode may have the higher frequency."""
        actual = Watcher(competitive_hz=6, delay_hz=5).detect([tone(5), tone(6)])
        assert [PulserMode.DELAY, PulserMode.COMPETITIVE] == actual.tolist()

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"delay_hz": 5}, "delay_hz is 5.0; it must be at least 0.2 away"),
            ({"delay_hz": 9}, "delay_hz is 9.0; it must be close enough"),
            ({"competitive_hz": 5.1}, "competitive_hz = 5.1: window_s is 5.0; .*whole number"),
        ],
    )
    def test_bad_settings(self, wrong: dict[str, float], message: str) -> None:
        """Indistinguishable frequencies are refused."""
        with pytest.raises(InputError, match=f"^{message}"):
            Watcher(**wrong)

    def test_bad_rates(self) -> None:
        """A series of the wrong length is refused."""
        with pytest.raises(InputError, match=r"^the shape of receive_mbps is \(3,\)"):
            Watcher().detect([1, 2, 3])


class TestOtherPulsers:
    def test_alone(self) -> None:
        """A lone pulser's own rate varies more at f_p than unresponsive cross traffic."""
        receive = 24 + pulse_mbps(TIME_S, LINK_MBPS)
        assert not has_other_pulsers(24 + noise(1)[0], receive)

    def test_larger(self) -> None:
        """Other pulsers with larger combined pulses are detected."""
        receive = 24 + 0.5 * pulse_mbps(TIME_S, LINK_MBPS)
        assert has_other_pulsers(24 + pulse_mbps(TIME_S + 0.07, LINK_MBPS), receive)

    def test_bad_input(self) -> None:
        """Half pulses are refused."""
        with pytest.raises(InputError, match=r"^pulse_hz is 5\.1; it must be a multiple of 0\.2"):
            has_other_pulsers(TIME_S, TIME_S, pulse_hz=5.1)


class TestElection:
    def test_expected_number(self) -> None:
        """Flows that fill the link elect κ pulsers on average within the FFT's length."""
        shares = np.array([1, 2, 5, 40]) / 48 * LINK_MBPS
        probability = election_probability(shares, link_mbps=LINK_MBPS, kappa=0.75)
        assert 0.75 == pytest.approx(500 * probability.sum())

    def test_conflicts(self) -> None:
        """Within the FFT's length, no pulser has the probability exp(−κ), as of a Poisson law."""
        probability = election_probability(np.full(8, LINK_MBPS / 8), link_mbps=LINK_MBPS)
        assert math.exp(-1) == pytest.approx(((1 - probability) ** 500).prod(), rel=1e-3)

    def test_bad_input(self) -> None:
        """A probability is at most 1, and a negative rate is refused."""
        assert 1 == election_probability(96, link_mbps=96, kappa=1e6)
        with pytest.raises(InputError, match=r"^receive_mbps is -1"):
            election_probability(-1, link_mbps=96)


class TestMovingAverage:
    @given(st.sampled_from([0.2, 1.0, 5.0, 6.0, 20.0, 49.8]), st.floats(0.01, 1))
    def test_gain(self, hz: float, weight: float) -> None:
        """A tone leaves the average with the predicted gain."""
        long = np.sin(2 * np.pi * hz * np.arange(3000) / 100 + 1)
        settled = smoothed(long, weight=weight)[2000:2500]
        at = round(hz * 5)
        expected = ewma_gain(hz, weight=weight) * spectrum(long[2000:2500])[1][at]
        assert expected == pytest.approx(spectrum(settled)[1][at], rel=1e-4, abs=1e-6)

    @given(st.floats(0.1, 49), st.floats(0.01, 0.99))
    def test_weight(self, hz: float, gain: float) -> None:
        """The weight for a gain has that gain, and less at all higher frequencies."""
        weight = ewma_weight(frequency_hz=hz, gain=gain)
        assert gain == pytest.approx(float(ewma_gain(hz, weight=weight)), rel=1e-6)
        assert (ewma_gain(np.linspace(hz, 50, 20), weight=weight) <= gain * (1 + 1e-6)).all()

    def test_constant(self) -> None:
        """A constant rate stays constant, from its first sample on."""
        assert [7.0] * 5 == pytest.approx(smoothed(np.full(5, 7.0), weight=0.03).tolist())

    @pytest.mark.parametrize("name", ["frequency_hz", "gain", "step_s"])
    def test_bad_input(self, name: str) -> None:
        """Impossible averages are refused."""
        with pytest.raises(InputError, match=f"^{name} is 0; "):
            ewma_weight(**{name: 0})
