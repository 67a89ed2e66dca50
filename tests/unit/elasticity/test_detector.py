# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from scipy import special

from ccbench.base.errors import InputError
from ccbench.elasticity.detector import Detector, spectrum
from tests.unit.elasticity.conftest import noise, rates, series, tone


class TestSpectrum:
    @given(series)
    def test_parseval(self, values: np.ndarray) -> None:
        """The power of the sines is the variance of the rates."""
        _, amplitudes = spectrum(values)
        is_alone = np.arange(len(amplitudes)) * 2 == len(values)
        power = (amplitudes**2 * np.where(is_alone, 1, 0.5)).sum()
        assert values.var() == pytest.approx(power, rel=1e-9, abs=1e-9)

    @given(series, series, st.floats(-10, 10))
    def test_linear(self, first: np.ndarray, second: np.ndarray, factor: float) -> None:
        """Amplitudes scale with the rates, and of a sum they are at most the sum."""
        (_, a), (_, b) = spectrum(first), spectrum(second)
        np.testing.assert_allclose(spectrum(factor * first)[1], abs(factor) * a, atol=1e-8)
        assert (spectrum(first + second)[1] <= a + b + 1e-8).all()

    @given(series, st.integers(0, 499))
    def test_shift(self, values: np.ndarray, by: int) -> None:
        """Amplitudes do not depend on the phase of a signal, nor thus on the others' RTT."""
        np.testing.assert_allclose(spectrum(np.roll(values, by))[1], spectrum(values)[1], atol=1e-8)

    def test_bad_input(self) -> None:
        """A single sample, or one that is not finite, is refused."""
        with pytest.raises(InputError, match=r"^the shape of samples is \(1,\)"):
            spectrum([1])
        with pytest.raises(InputError, match=r"^samples is nan"):
            spectrum([1, math.nan])


class TestElasticity:
    @pytest.mark.parametrize(("hz", "counts"), [(5.4, 0), (5.6, 1), (9.4, 1), (9.6, 0), (10, 0)])
    def test_interval(self, hz: float, counts: int) -> None:
        """Frequencies compared with f_p lie strictly between f_p + ε and 2 f_p − ε."""
        eta = Detector().elasticity(tone(5, 3) + tone(7, 0.1) + tone(hz, 2))
        assert (1.5 if counts else 30) == pytest.approx(float(eta))

    @given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0, 6), st.sampled_from([7, 8, 9]))
    def test_ratio_of_tones(self, a: float, b: float, phase: float, hz: int) -> None:
        """η of two tones is the ratio of their amplitudes, whatever their phases and the mean."""
        eta = Detector().elasticity(20 + tone(5, a, phase) + tone(hz, b))
        assert a / b == pytest.approx(float(eta), rel=1e-6)

    @given(st_numpy.arrays(float, 20, elements=rates), st.floats(0.1, 100))
    def test_any_unit(self, values: np.ndarray, factor: float) -> None:
        """η has no unit."""
        small = Detector(window_s=1, margin_hz=1.5, step_s=0.05)
        first, second = small.elasticity([values, factor * values])
        assert first == pytest.approx(second, rel=1e-5)

    def test_white_noise(self) -> None:
        """Of white noise, P(η > x) = n B(n, 1 + x²) with n = 20 frequencies to compare with."""
        eta = Detector().elasticity(noise(6000))
        for x in (0.3, 0.5, 1.0):
            probability = 20 * special.beta(20, 1 + x**2)
            spread = math.sqrt(probability * (1 - probability) / 6000)
            assert probability == pytest.approx((eta > x).mean(), abs=4 * spread)
        assert (eta >= 2).mean() < 0.002

    def test_nothing_varies(self) -> None:
        """Constant cross traffic does not react: η is 0; a tone at f_p alone has no limit."""
        assert [0, math.inf] == Detector().elasticity([np.full(500, 0.1), 9 + tone(5)]).tolist()

    def test_over_time(self) -> None:
        """Each window is evaluated separately."""
        detector = Detector()
        values = noise(4).ravel() + 20
        actual = detector.elasticity_over_time(values, every=50)
        each = [detector.elasticity(values[i : i + 500]) for i in range(0, 1501, 50)]
        np.testing.assert_allclose(actual, each)
        assert 0 == len(detector.elasticity_over_time(values[:499]))

    def test_slow_pulses(self) -> None:
        """Pulses of 2 Hz are detected at 2 Hz, as against PCC-Vivace (appendix B.3)."""
        detector = Detector(pulse_hz=2)
        np.testing.assert_array_equal([2.6, 2.8, 3.0, 3.2, 3.4], detector.compared / 5)
        assert 4 == pytest.approx(float(detector.elasticity(tone(2, 4) + tone(3))))

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"pulse_hz": 0}, "pulse_hz is 0; it must be a number above 0"),
            ({"threshold": 0.9}, "threshold is 0.9; it must be a number at least 1"),
            ({"margin_hz": 0.2}, "margin_hz is 0.2; it must be a number above 0.2"),
            ({"margin_hz": 2.5}, "margin_hz is 2.5; it must be .* below 2.5"),
            ({"margin_hz": 2.45}, "margin_hz is 2.45; it must be one that leaves a frequency"),
            ({"window_s": 5.1}, "window_s is 5.1; it must be a whole number of pulses"),
            ({"step_s": 0.03}, "window_s is 5.0; it must be a whole number of samples"),
            ({"step_s": 0.1}, "step_s is 0.1; it must be at most 0.05"),
        ],
    )
    def test_bad_settings(self, wrong: dict[str, float], message: str) -> None:
        """Contradictory settings are refused with the allowed values."""
        with pytest.raises(InputError, match=f"^{message}"):
            Detector(**wrong)

    def test_bad_rates(self) -> None:
        """A series of the wrong length, or with gaps, is refused."""
        with pytest.raises(InputError, match=r"^the shape of rates is \(499,\); .*500"):
            Detector().elasticity(np.zeros(499))
        with pytest.raises(InputError, match=r"^rates is nan"):
            Detector().elasticity(np.full(500, np.nan))
        with pytest.raises(InputError, match=r"^every is 0"):
            Detector().windows(np.zeros(600), every=0)
