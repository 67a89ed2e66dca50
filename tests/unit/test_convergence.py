# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import ruptures

from ccbench.errors import InputError
from ccbench.harm import (
    best_breakpoint,
    converged_at,
    convergence_steps,
    measured_from,
    rolling_deviation,
)

FloatArray = npt.NDArray[np.float64]


def _throughput(*flows: FloatArray) -> pd.DataFrame:
    table = pd.DataFrame(np.column_stack(flows))
    return table.set_axis(pd.Index(np.arange(1.0, len(table) + 1), name="time_s"))


def _swing(seconds: int, mean: float, amplitude: float, period: int = 10) -> FloatArray:
    swings: FloatArray = mean + amplitude * np.sin(2 * np.pi * np.arange(seconds) / period)
    return swings


def _growing_swing(seconds: int) -> FloatArray:
    """Swing ever wider: doubling every 10 s until the last."""
    seconds_left = np.arange(seconds)[::-1]
    swings: FloatArray = 50 + 45 * np.where(seconds_left % 2, 1, -1) * 0.5 ** (seconds_left / 10)
    return swings


class TestRollingDeviation:
    def test_is_that_of_the_window_that_starts_there(self) -> None:
        """Element i is the standard deviation of the window that begins at sample i."""
        values = np.random.default_rng(1).normal(size=100)
        deviation = rolling_deviation(values, 60)
        assert deviation.shape == (41,)
        assert deviation[7] == pytest.approx(np.std(values[7:67]))

    def test_short_trace_has_none(self) -> None:
        """A trace that is shorter than a window has no deviation."""
        assert rolling_deviation(np.ones(59), 60).size == 0


class TestBestBreakpoint:
    @pytest.mark.parametrize("change", [5, 17, 60, 115])
    def test_known_change(self, change: int) -> None:
        """A change of mean in noise is found where it is."""
        signal = np.random.default_rng(change).normal(0, 0.01, 120)
        signal[change:] += 1
        assert best_breakpoint(signal) == change

    @pytest.mark.parametrize("seed", range(20))
    @pytest.mark.parametrize("n", [10, 11, 37, 121])
    def test_agrees_with_ruptures(self, n: int, seed: int) -> None:
        """The closed form finds the very breakpoint that dynamic programming finds."""
        rng = np.random.default_rng(seed)
        signal = np.cumsum(rng.normal(size=n)) + rng.uniform(-1e3, 1e3)
        reference = ruptures.Dynp(model="l2", min_size=5, jump=1).fit_predict(signal, 1)
        assert [best_breakpoint(signal), n] == reference

    def test_shift_and_scale_do_not_matter(self) -> None:
        """Another unit or offset of the signal does not move the breakpoint."""
        signal = np.random.default_rng(3).normal(size=50)
        assert best_breakpoint(signal) == best_breakpoint(1e6 * signal - 1e7)

    def test_too_short(self) -> None:
        """Less than two of the shortest parts cannot be split."""
        assert best_breakpoint(np.asarray([8.0] * 5 + [2.0] * 4)) is None


class TestConvergenceSteps:
    def test_goes_on_until_the_parts_are_alike(self) -> None:
        """Each step starts at the breakpoint before it; the last one's parts are alike."""
        steps = convergence_steps(np.repeat([8.0, 4.0, 2.0, 2.0], 30))
        assert [step.start for step in steps[1:]] == [step.breakpoint for step in steps[:-1]]
        assert [step.converged for step in steps] == [False] * (len(steps) - 1) + [True]
        assert steps[-1].start == 60  # from where on nothing changes any more

    def test_one_threshold_is_enough(self) -> None:
        """A small difference in Mbit/s or a small percentage suffices, as the text has it."""
        small_difference = convergence_steps(np.repeat([0.25, 0.1], 20))
        small_percentage = convergence_steps(np.repeat([11.0, 10.0], 20))
        assert len(small_difference) == len(small_percentage) == 1
        assert small_difference[0].converged
        assert small_percentage[0].converged

    def test_no_swings_at_all_in_the_later_part(self) -> None:
        """Where the later mean is 0 the difference in Mbit/s decides."""
        steps = convergence_steps(np.repeat([3.0, 0.0], 30))
        assert [step.converged for step in steps] == [False, True]

    def test_ever_growing_deviation(self) -> None:
        """What grows to its end can no longer be segmented: no step has converged."""
        steps = convergence_steps(np.exp(np.arange(60) / 8.0))
        assert steps
        assert not any(step.converged for step in steps)


class TestConvergedAt:
    @pytest.mark.parametrize("change", [20, 40, 80])
    def test_not_before_the_change(self, change: int) -> None:
        """A time at which convergence has happened lies after the last change of the swings."""
        flow = np.concatenate([_swing(change, 30, 25), _swing(180 - change, 50, 5)])
        time_s = converged_at(_throughput(flow))
        assert time_s is not None
        assert change <= time_s <= 120

    def test_large_but_steady_swings_converge(self) -> None:
        """Swings may be as large as they like if they stay as they are (Figure 5.5)."""
        assert converged_at(_throughput(_swing(180, 50, 45), _swing(180, 50, -45))) is not None

    def test_unequal_shares_converge(self) -> None:
        """Flows need not reach equal shares to have converged."""
        noise = np.random.default_rng(1).normal(0, 0.1, 180)
        assert converged_at(_throughput(95 + noise, 5 - noise)) is not None

    def test_growing_swings_do_not_converge(self) -> None:
        """Swings that keep growing have not converged."""
        assert converged_at(_throughput(_growing_swing(180))) is None

    def test_latest_flow_decides(self) -> None:
        """An experiment converges when its last flow does, and not at all if one flow does not."""
        early, late = _swing(180, 50, 20), np.concatenate([_swing(70, 30, 25), _swing(110, 50, 5)])
        alone = [converged_at(_throughput(flow)) for flow in (early, late)]
        assert converged_at(_throughput(early, late)) == max(filter(None, alone))
        assert converged_at(_throughput(early, _growing_swing(180))) is None

    def test_a_window_is_left(self) -> None:
        """At least 60 s remain after any time that is returned: there is something to measure."""
        rng = np.random.default_rng(5)
        for _ in range(50):
            time_s = converged_at(_throughput(rng.gamma(2, 10, 180)))
            assert time_s is None or 0 < time_s <= 120

    def test_short_run(self) -> None:
        """A run that is hardly longer than a window has not converged: that cannot be seen."""
        assert converged_at(_throughput(np.full(65, 10.0))) is None

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_failed_measurement(self, value: float) -> None:
        """A value that is no number is an error that says where it is."""
        flow = np.full(180, 10.0)
        flow[41] = value
        with pytest.raises(InputError, match=r"^throughput of flow 1 at 42 s is"):
            converged_at(_throughput(np.full(180, 10.0), flow))

    def test_nothing_measured(self) -> None:
        """A table without intervals is an error."""
        with pytest.raises(InputError, match=r"^throughput\.shape is \(0, 2\)"):
            converged_at(_throughput(np.empty(0), np.empty(0)))


class TestMeasuredFrom:
    @pytest.mark.parametrize(
        ("converged_at_s", "duration_s", "expected"),
        [(70, 180, 70), (None, 300, 60), (None, 120, 60), (None, 90, 45), (None, 25, 12)],
    )
    def test_rule(self, converged_at_s: float | None, duration_s: float, expected: float) -> None:
        """From convergence, else from 60 s, else the second half of a run of less than 120 s."""
        assert measured_from(converged_at_s, duration_s) == expected
