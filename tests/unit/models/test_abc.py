# SPDX-License-Identifier: Apache-2.0
"""The fluid model of ABC: its theorem, its fixed point, and its integrator."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.models.abc import DELTA_BOUND, LOCAL_DELTA_BOUND, AbcModel, fluid_delay

#: Twenty flows with the thesis's parameters: A is 0.08, the delay converges to 10.64 ms.
MODEL = AbcModel(bandwidth_mbps=24, rtt_ms=100, flows=20)

#: Starts far below and far above every fixed point here, in round trips.
STARTS = np.array([0.0, 0.05, 0.5, 3.0])


def swing(surplus: float, delta: float, **settings: Any) -> np.ndarray:
    """Return the remaining swing of x/tau after 400 round trips, for each of the starts."""
    _, delays = fluid_delay(surplus, delta, start=STARTS, round_trips=400, **settings)
    late = delays[-4000:]
    return np.asarray(np.ptp(late, axis=0))


class TestTheorem:
    @pytest.mark.parametrize("surplus", [0.005, 0.08, 0.5])
    @pytest.mark.parametrize("ratio", [1.03, 1.2, 2, 10])
    def test_above_the_bound(self, surplus: float, ratio: float) -> None:
        """With delta above 2/3 tau the delay converges from any start (A.9)."""
        assert swing(surplus, ratio * DELTA_BOUND).max() < 1e-3 * surplus

    @pytest.mark.parametrize("surplus", [0.005, 0.08, 0.5])
    @pytest.mark.parametrize("ratio", [0.5, 0.8, 0.97])
    def test_below_the_local_bound(self, surplus: float, ratio: float) -> None:
        """With delta below 2/pi tau the delay swings for ever, unless it starts at rest."""
        delta = ratio * LOCAL_DELTA_BOUND
        assert swing(surplus, delta).min() > 0.2 * surplus
        _, resting = fluid_delay(surplus, delta, start=surplus * delta)
        assert np.ptp(resting) < 1e-9

    @pytest.mark.parametrize("delta", [0.01, 0.3, 1.33])
    def test_gentle_increase(self, delta: float) -> None:
        """Without a surplus any delta is stable: the queue empties and stays empty (A.6)."""
        _, delays = fluid_delay(-0.02, delta, threshold=0.2, start=STARTS, round_trips=400)
        assert 0 == delays[-20_000:].max()

    def test_properties(self) -> None:
        """The model's properties: delta is sufficient above 2/3, necessary above 2/pi."""
        output = {
            delta_ms: (m.is_stable, m.is_locally_stable)
            for delta_ms in (63.6, 63.7, 66.6, 66.7)
            for m in [replace(MODEL, delta_ms=delta_ms)]
        }
        expected = [(False, False), (False, True), (False, True), (True, True)]
        assert expected == list(output.values())
        gentle = replace(MODEL, flows=3, delta_ms=1)
        assert gentle.is_stable
        assert gentle.is_locally_stable

    def test_recommended_delta(self) -> None:
        """The thesis's 133 ms are stable up to a round trip of 199 ms."""
        assert replace(MODEL, rtt_ms=199).is_stable
        assert not replace(MODEL, rtt_ms=200).is_stable


class TestFixedPoint:
    @pytest.mark.parametrize("threshold_ms", [0, 20])
    @pytest.mark.parametrize("flows", [5, 20, 100])
    def test_steady_delay(self, flows: int, threshold_ms: float) -> None:
        """The delay settles at A delta + d_t."""
        model = replace(MODEL, flows=flows, delay_threshold_ms=threshold_ms)
        _, delays_ms = model.delay_ms(60, start_ms=[0, 20, 500])
        a = -0.02 + flows / 200
        assert a * 133 + threshold_ms == pytest.approx(model.steady_delay_ms)
        assert model.steady_delay_ms == pytest.approx(delays_ms[-1], rel=1e-6)
        assert 24 == model.steady_rate_mbps

    def test_no_queue(self) -> None:
        """Up to four flows of 1 packet per round trip stay within the 2 % left by eta."""
        models = [replace(MODEL, flows=flows, delay_threshold_ms=20) for flows in range(1, 6)]
        assert [0, 0, 0, 20] == [m.steady_delay_ms for m in models[:4]]
        assert models[4].steady_delay_ms > 20
        rates = [m.steady_rate_mbps for m in models]
        assert [23.64, 23.76, 23.88, 24, 24] == pytest.approx(rates)

    def test_zero_surplus(self) -> None:
        """With A = 0 the delay falls to d_t, or stays at its start below it."""
        _, delays = fluid_delay(0, 5, threshold=0.2, start=[0, 0.1, 2], round_trips=100)
        assert [0, 0.1, 0.2] == pytest.approx(delays[-1].tolist(), abs=1e-6)

    def test_theorem_bounds_the_rate(self) -> None:
        """The steady rate is above eta mu and at most mu (theorem 1)."""
        for flows in (1, 3, 4, 50):
            model = replace(MODEL, flows=flows)
            assert model.eta * 24 < model.steady_rate_mbps <= 24

    def test_no_additive_increase(self) -> None:
        """An infinite interval means no additive increase: no queue, for any delta."""
        model = replace(MODEL, increase_interval_ms=1e9, delta_ms=1)
        assert -0.02 == pytest.approx(model.surplus, abs=1e-6)
        assert model.is_stable
        assert 0 == model.steady_delay_ms


class TestIntegrator:
    def test_method_of_steps(self) -> None:
        """In the first three round trips the solution is the polynomials of the method of steps."""
        times, delays = fluid_delay(0.1, 4.0, start=1.0, round_trips=3, steps=500)
        # y = x - x* obeys y' = -y(t - 1) / 4, starting from 0.6.
        k, start = 1 / 4, 0.6
        t = times
        exact = start * (
            1
            - k * t
            + np.where(t > 1, (k * (t - 1)) ** 2 / 2, 0)
            - np.where(t > 2, (k * (t - 2)) ** 3 / 6, 0)
        )
        assert exact + 0.4 == pytest.approx(delays, abs=1e-6)

    def test_error_falls_with_the_square_of_the_step(self) -> None:
        """Half the step gives a quarter of the error."""
        ends = [
            fluid_delay(0.1, 1.0, start=0.5, round_trips=10, steps=n)[1][-1]
            for n in (50, 100, 3200)
        ]
        assert 4 == pytest.approx((ends[0] - ends[2]) / (ends[1] - ends[2]), rel=0.1)

    @pytest.mark.parametrize("delta_ms", [70, 90, 133])
    def test_decay(self, delta_ms: float) -> None:
        """Swings decay at the rate of the root of the characteristic equation."""
        model = replace(MODEL, delta_ms=delta_ms)
        fixed = model.steady_delay_ms
        # So near the fixed point that the queue is never empty.
        times_s, delays_ms = model.delay_ms(20, start_ms=fixed * 1.01)
        size = np.abs(delays_ms - fixed)
        peaks = 1 + np.flatnonzero((size[1:-1] > size[:-2]) & (size[1:-1] > size[2:]))
        peaks = peaks[size[peaks] > 1e-9 * fixed][1:]  # smaller ones are rounding
        assert len(peaks) > 3
        slope, _ = np.polyfit(times_s[peaks], np.log(size[peaks]), 1)
        assert -1e3 / model.time_constant_ms == pytest.approx(slope, rel=0.01)

    def test_best_delta(self) -> None:
        """At delta = e tau the delay settles fastest, with a time constant of tau."""
        constants = {
            ratio: replace(MODEL, delta_ms=100 * ratio).time_constant_ms
            for ratio in (2.5, math.e, 3.0)
        }
        assert 100 == pytest.approx(constants[math.e], rel=1e-3)
        assert min(constants.values()) == constants[math.e]
        assert math.inf == replace(MODEL, delta_ms=60).time_constant_ms
        assert math.isnan(replace(MODEL, flows=1).time_constant_ms)

    @pytest.mark.parametrize("delta_ms", [60, 133])
    def test_scale(self, delta_ms: float) -> None:
        """Scaling all times by ten scales delays by ten, at times scaled by ten."""
        times_s, delays_ms = replace(MODEL, delta_ms=delta_ms).delay_ms(3, start_ms=7)
        longer = replace(MODEL, delta_ms=10 * delta_ms, rtt_ms=1000, bandwidth_mbps=2.4)
        longer_s, longer_ms = longer.delay_ms(30, start_ms=70)
        assert 10 * times_s == pytest.approx(longer_s)
        assert 10 * delays_ms == pytest.approx(longer_ms)

    def test_rate_does_not_matter(self) -> None:
        """Ten times the rate with ten times the flows has the same delays."""
        _, delays_ms = MODEL.delay_ms(3, start_ms=7)
        _, faster_ms = replace(MODEL, bandwidth_mbps=240, flows=200).delay_ms(3, start_ms=7)
        assert delays_ms == pytest.approx(faster_ms)

    def test_never_negative(self) -> None:
        """A queue is never negative, however large the swings."""
        _, delays = fluid_delay(0.5, 0.05, start=3, round_trips=50)
        assert 0 == delays.min()

    def test_broadcast(self) -> None:
        """Arrays of settings give the results of the single settings."""
        deltas = np.array([0.5, 1.0, 2.0])
        _, together = fluid_delay(0.1, deltas[:, None], start=STARTS, round_trips=5)
        assert (1001, 3, 4) == together.shape
        for i, delta in enumerate(deltas):
            for j, start in enumerate(STARTS):
                _, alone = fluid_delay(0.1, float(delta), start=float(start), round_trips=5)
                assert alone == pytest.approx(together[:, i, j])


class TestBadInput:
    @pytest.mark.parametrize(
        "change",
        [
            {"bandwidth_mbps": 0},
            {"rtt_ms": math.nan},
            {"flows": 0},
            {"flows": 1.5},
            {"eta": 1.1},
            {"delta_ms": 0},
            {"delay_threshold_ms": -1},
            {"increase_interval_ms": 0},
        ],
    )
    def test_bad_setting(self, change: dict[str, Any]) -> None:
        """A setting out of range is named."""
        with pytest.raises(InputError, match=next(iter(change))):
            replace(MODEL, **change)

    @pytest.mark.parametrize(
        ("settings", "name"),
        [
            ({"delta": 0}, "delta"),
            ({"delta": [1, -1]}, "delta"),
            ({"surplus": math.inf}, "surplus"),
            ({"start": "much"}, "start"),
            ({"threshold": -0.1}, "threshold"),
            ({"round_trips": 0}, "round_trips"),
            ({"steps": 2}, "steps"),
            ({"start": [0, 1], "delta": [1, 2, 3]}, "shape"),
        ],
    )
    def test_bad_argument(self, settings: dict[str, Any], name: str) -> None:
        """An argument of the integrator out of range is named."""
        with pytest.raises(InputError, match=name):
            fluid_delay(**{"surplus": 0.1, "delta": 1.0, **settings})

    def test_bad_duration(self) -> None:
        """A duration or a start out of range is named."""
        with pytest.raises(InputError, match="duration_s"):
            MODEL.delay_ms(0)
        with pytest.raises(InputError, match="start_ms"):
            MODEL.delay_ms(1, start_ms=[-1])
