# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from ccbench.base.errors import InputError
from ccbench.elasticity.detector import spectrum
from ccbench.elasticity.pulse import burst_bytes, fundamental_mbps, least_rate_mbps, pulse_mbps


class TestPulse:
    def test_mean_is_zero(self) -> None:
        """A pulse adds nothing over a period."""
        middles = (np.arange(100_000) + 0.5) / 100_000 / 5
        assert 0 == pytest.approx(pulse_mbps(middles, 96).mean(), abs=1e-6)

    def test_heights(self) -> None:
        """The pulse peaks at μ/4 after an eighth of the period and −μ/12 after five eighths."""
        values = pulse_mbps(np.linspace(0, 0.2, 8001), 96)
        assert [1000, 5000] == [int(values.argmax()), int(values.argmin())]
        assert [24, -8] == pytest.approx([values.max(), values.min()])

    def test_shape(self) -> None:
        """The pulse is positive for a quarter of the period, then negative, and is periodic."""
        phase = (np.arange(1000) + 0.5) / 1000
        values = pulse_mbps(phase / 2, 96, frequency_hz=2)
        np.testing.assert_array_equal(phase < 0.25, values > 0)
        np.testing.assert_allclose(values, pulse_mbps(phase / 2 - 7.5, 96, frequency_hz=2))

    @pytest.mark.parametrize("size", [1 / 16, 1 / 4, 1 / 2])
    def test_least_rate(self, size: float) -> None:
        """The least rate that can pulse falls to 0 at the bottom of the pulse, and not below."""
        lowest = pulse_mbps(np.linspace(0, 0.2, 8001), 96, size=size).min()
        assert 0 == pytest.approx(least_rate_mbps(96, size=size) + lowest, abs=1e-9)

    @pytest.mark.parametrize("frequency_hz", [2.0, 5.0])
    def test_burst(self, frequency_hz: float) -> None:
        """The burst is the upper half-sine's area, Tμ/8π for pulses of μ/4 (section 3.4)."""
        time_s = np.linspace(0, 0.25 / frequency_hz, 10_001)
        area = (
            integrate.trapezoid(pulse_mbps(time_s, 96, frequency_hz=frequency_hz), time_s) * 1e6 / 8
        )
        burst = burst_bytes(96, frequency_hz=frequency_hz)
        assert area == pytest.approx(burst, rel=1e-6)
        assert 96e6 / 8 / frequency_hz / (8 * math.pi) == pytest.approx(burst)

    def test_fundamental(self) -> None:
        """The amplitude of the sine at f_p within the pulses is that of the spectrum."""
        _, amplitudes = spectrum(pulse_mbps(np.arange(5000) / 1000, 96), step_s=0.001)
        assert amplitudes[25] == pytest.approx(fundamental_mbps(96), rel=1e-3)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("link_mbps", 0), ("size", 1.5), ("frequency_hz", -5), ("time_s", math.nan)],
    )
    def test_bad_input(self, name: str, value: float) -> None:
        """An impossible pulse is refused by the name of the parameter."""
        good: dict[str, Any] = {"time_s": 0.1, "link_mbps": 96}
        with pytest.raises(InputError, match=f"^{name} is {value}; it must be"):
            pulse_mbps(**{**good, name: value})
