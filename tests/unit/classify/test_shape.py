# SPDX-License-Identifier: Apache-2.0
"""Shapes of windows that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccbench.classify.occupancy import STEP_S
from ccbench.classify.setting import SETTINGS
from ccbench.classify.shape import Shape, decreases

if TYPE_CHECKING:
    import numpy.typing as npt

SETTING = SETTINGS[0]
TOP = SETTING.capacity_packets


def sawtooth(factor: float, period_s: float, length_s: float = 20.0) -> npt.NDArray[np.float32]:
    """Return a window that grows linearly to a full queue, and falls to a fraction of it."""
    progress = np.arange(round(length_s / STEP_S)) * STEP_S / period_s % 1
    return (TOP * (factor + (1 - factor) * progress)).astype(np.float32)


def waiting(window: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the packets of a window that wait in the queue."""
    return np.asarray(np.maximum(window - (TOP - SETTING.queue_packets), 0), dtype=np.float32)


class TestSawtooth:
    @pytest.mark.parametrize("factor", [0.5, 0.7, 0.875])
    @pytest.mark.parametrize("period_s", [2.0, 4.5])
    def test_measurements(self, factor: float, period_s: float) -> None:
        """Factor, period and growth of a sawtooth are those with which it is drawn."""
        window = sawtooth(factor, period_s)
        shape = Shape.of(waiting(window), window, SETTING)
        growth = TOP * (1 - factor) / period_s * SETTING.rtt_ms / 1e3
        assert factor == pytest.approx(shape.factor, abs=0.05)
        assert period_s == pytest.approx(shape.period_s, abs=4 * STEP_S)
        assert 60 / period_s == pytest.approx(shape.decreases_per_minute, rel=0.15)
        assert growth == pytest.approx(shape.early_growth, rel=0.05)
        assert growth == pytest.approx(shape.late_growth, rel=0.05)
        assert 1 == shape.at_full_queue

    def test_half_full(self) -> None:
        """Decreases of a window that does not fill the queue are not at a full queue."""
        window = sawtooth(0.5, 3.0) * np.float32(0.7)
        shape = Shape.of(waiting(window), window, SETTING)
        assert shape.decreases_per_minute > 0
        assert 0 == shape.at_full_queue

    def test_frequent(self) -> None:
        """Growth is not measured between decreases that are closer than its interval."""
        window = sawtooth(0.5, 0.5)
        shape = Shape.of(waiting(window), window, SETTING)
        assert shape.late_growth is None


class TestDecreases:
    @pytest.mark.parametrize("level", [0.0, 40.0])
    def test_none(self, level: float) -> None:
        """A constant window has no decreases, and no values that depend on them."""
        window = np.full(1000, level, dtype=np.float32)
        shape = Shape.of(waiting(window), window, SETTING)
        assert {None, 0} == set(shape.to_dict().values())

    def test_jitter(self) -> None:
        """Changes of a round-trip time do not make decreases."""
        rng = np.random.default_rng(1)
        window = rng.uniform(0.96, 1.0, 1000).astype(np.float32) * 80
        assert [] == decreases(window)

    def test_slow(self) -> None:
        """A slow fall, as of Vegas, is no decrease."""
        assert [] == decreases(np.linspace(90, 40, 100, dtype=np.float32))

    @given(st.lists(st.floats(0, 200, width=32), min_size=1, max_size=60))
    def test_order(self, values: list[float]) -> None:
        """Decreases end below their beginning, and before the next one begins."""
        window = np.array(values, dtype=np.float32)
        own = decreases(window)
        assert all(window[each.end] < window[each.before] for each in own)
        limits = [round_ for each in own for round_ in each]
        assert sorted(limits) == limits
