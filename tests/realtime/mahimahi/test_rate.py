# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import pytest

from ccbench.emulate.mahimahi.rate import constant_rate

#: Multiples of 12 Mbit/s, and other rates.
RATES = ["12", "96", "5", "17", "50", "0.5", "16.3", "47.69", "1.001", "0.001"]


@pytest.mark.parametrize("rate", RATES)
class TestConstantRate:
    def test_every_millisecond(self, rate: str) -> None:
        """Up to every millisecond there are as many opportunities as full packets of the rate."""
        times = constant_rate(float(rate)).opportunities_ms
        per_ms = Fraction(rate) / 12
        for time_ms in range(times[-1] + 1):
            assert int(per_ms * time_ms) == bisect_right(times, time_ms)

    def test_period(self, rate: str) -> None:
        """A period has exactly the packets of the rate, so that repetitions do not drift."""
        trace = constant_rate(float(rate))
        packets = Fraction(rate) / 12 * trace.opportunities_ms[-1]
        assert packets == len(trace.opportunities_ms)
        assert float(rate) == pytest.approx(trace.mean_mbps, rel=1e-15)

    def test_every_second(self, rate: str) -> None:
        """Over any second the link carries the rate, within one packet."""
        trace = constant_rate(float(rate))
        for start_s in (0.0, 0.5, 3.217, 47.003):
            carried = trace.capacity_bytes(start_s + 1) - trace.capacity_bytes(start_s)
            assert float(rate) * 1e6 / 8 == pytest.approx(carried, abs=1500)


def test_other_rates() -> None:
    """A fractional rate in kbit/s has a short period too, within a packet per 24 s."""
    rate = 47.691234567
    trace = constant_rate(rate)
    assert trace.duration_s <= 12
    packets_in_24_s = 24e6 / (1500 * 8)
    assert rate * packets_in_24_s == pytest.approx(trace.mean_mbps * packets_in_24_s, abs=1)
