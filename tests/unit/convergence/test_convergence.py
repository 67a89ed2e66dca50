# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import ruptures

from ccbench.base.errors import InputError
from ccbench.convergence import (
    Convergence,
    Detector,
    best_breakpoint,
    converged_at,
    convergence_steps,
    latest,
    measured_from,
    rolling_deviation,
    trends,
)
from ccbench.convergence.plot import convergence_figure

FloatArray = npt.NDArray[np.floating[Any]]


def _throughput(*flows: FloatArray) -> pd.DataFrame:
    table = pd.DataFrame(np.column_stack(flows))
    return table.set_axis(pd.Index(np.arange(1.0, len(table) + 1), name="time_s"))


def _swing(seconds: int, mean: float, amplitude: float, period: int = 10) -> FloatArray:
    swings: FloatArray = mean + amplitude * np.sin(2 * np.pi * np.arange(seconds) / period)
    return swings


def _growing_swing(seconds: int) -> FloatArray:
    """Return swings that double every 10 s until the last."""
    seconds_left = np.arange(seconds)[::-1]
    swings: FloatArray = 50 + 45 * np.where(seconds_left % 2, 1, -1) * 0.5 ** (seconds_left / 10)
    return swings


class TestRollingDeviation:
    def test_window_starts_at_its_index(self) -> None:
        """Element i is the standard deviation of the window that begins at sample i."""
        values = np.random.default_rng(1).normal(size=100)
        deviation = rolling_deviation(values, 60)
        assert deviation.shape == (41,)
        assert deviation[7] == pytest.approx(np.std(values[7:67]))

    def test_short_trace_has_none(self) -> None:
        """A trace shorter than a window has no deviation."""
        assert rolling_deviation(np.ones(59), 60).size == 0


class TestBestBreakpoint:
    @pytest.mark.parametrize("change", [5, 17, 60, 115])
    def test_known_change(self, change: int) -> None:
        """A change of mean in noise is detected at its position."""
        signal = np.random.default_rng(change).normal(0, 0.01, 120)
        signal[change:] += 1
        assert best_breakpoint(signal) == change

    @pytest.mark.parametrize("seed", range(20))
    @pytest.mark.parametrize("n", [10, 11, 37, 121])
    def test_agrees_with_ruptures(self, n: int, seed: int) -> None:
        """The closed form returns the breakpoint of dynamic programming."""
        rng = np.random.default_rng(seed)
        signal = np.cumsum(rng.normal(size=n)) + rng.uniform(-1e3, 1e3)
        reference = ruptures.Dynp(model="l2", min_size=5, jump=1).fit_predict(signal, 1)
        assert [best_breakpoint(signal), n] == reference

    def test_shift_and_scale_do_not_matter(self) -> None:
        """Unit and offset of the signal do not move the breakpoint."""
        signal = np.random.default_rng(3).normal(size=50)
        assert best_breakpoint(signal) == best_breakpoint(1e6 * signal - 1e7)

    def test_too_short(self) -> None:
        """A series shorter than two minimal parts cannot be split."""
        assert best_breakpoint(np.asarray([8.0] * 5 + [2.0] * 4)) is None


class TestConvergenceSteps:
    def test_stops_when_the_parts_are_alike(self) -> None:
        """Each step starts at the previous breakpoint, until the parts of the last are alike."""
        steps = convergence_steps(np.repeat([8.0, 4.0, 2.0, 2.0], 30))
        assert [step.start for step in steps[1:]] == [step.breakpoint for step in steps[:-1]]
        assert [step.converged for step in steps] == [False] * (len(steps) - 1) + [True]
        assert steps[-1].start == 60  # nothing changes afterwards

    def test_one_threshold_is_enough(self) -> None:
        """A small difference in Mbit/s or in percent suffices, as in the thesis."""
        small_difference = convergence_steps(np.repeat([0.25, 0.1], 20))
        small_percentage = convergence_steps(np.repeat([11.0, 10.0], 20))
        assert len(small_difference) == len(small_percentage) == 1
        assert small_difference[0].converged
        assert small_percentage[0].converged

    def test_shortest_part(self) -> None:
        """A longer minimal part keeps the first breakpoint away from the beginning."""
        deviation = np.repeat([5.0, 1.0], [5, 55])
        assert convergence_steps(deviation)[0].breakpoint == 5
        longer = Detector(min_segment=20)
        assert convergence_steps(deviation, longer)[0].breakpoint == 20

    def test_no_swings_at_all_in_the_later_part(self) -> None:
        """If the later mean is 0 the difference in Mbit/s decides."""
        steps = convergence_steps(np.repeat([3.0, 0.0], 30))
        assert [step.converged for step in steps] == [False, True]

    def test_ever_growing_deviation(self) -> None:
        """Swings that grow to the end cannot be segmented: no step has converged."""
        steps = convergence_steps(np.exp(np.arange(60) / 8.0))
        assert steps
        assert not any(step.converged for step in steps)


class TestDetector:
    def test_published_example(self) -> None:
        """Means of 11.26 and 6.51 differ by 4.75 Mbit/s and 0.42 of the left one (Figure 5.8a)."""
        exact = Detector(thresholds="both", abs_threshold_mbps=4.751, pct_threshold=0.425)
        assert exact.alike(11.26, 6.51)
        assert not replace(exact, abs_threshold_mbps=4.749).alike(11.26, 6.51)
        assert not replace(exact, pct_threshold=0.415).alike(11.26, 6.51)
        assert not replace(exact, percent_of="right").alike(11.26, 6.51)

    @pytest.mark.parametrize(
        ("percent_of", "calmer", "wilder"),
        [("left", True, False), ("right", False, True), ("larger", True, True)],
    )
    def test_percentage(self, percent_of: Any, calmer: bool, wilder: bool) -> None:  # noqa: FBT001
        """A fifth of the larger mean is more than a fifth of the smaller."""
        detector = Detector(percent_of=percent_of)
        assert (detector.alike(10.0, 8.1), detector.alike(8.1, 10.0)) == (calmer, wilder)

    def test_both_are_stricter(self) -> None:
        """Parts alike by both thresholds are alike by either, but not vice versa."""
        rng = np.random.default_rng(2)
        pairs = rng.gamma(1, 1, size=(200, 2))
        either = [Detector().alike(left, right) for left, right in pairs]
        both = [Detector(thresholds="both").alike(left, right) for left, right in pairs]
        assert set(zip(either, both, strict=True)) == {(True, True), (True, False), (False, False)}

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("window_s", 0),
            ("window_s", math.nan),
            ("abs_threshold_mbps", -0.1),
            ("abs_threshold_share", 1.1),
            ("pct_threshold", "20 %"),
            ("min_segment", 2.5),
            ("min_segment", 0),
            ("thresholds", "one"),
            ("window_named_by", ""),
            ("percent_of", "smaller"),
        ],
    )
    def test_bad_parameter(self, name: str, value: Any) -> None:
        """A parameter out of range is named."""
        with pytest.raises(InputError, match=f"^{name} is "):
            Detector(**{name: value})


class TestConvergence:
    def test_flows(self) -> None:
        """Each flow has its deviations, its steps and the last step's breakpoint as its time."""
        calming = np.concatenate([_swing(70, 30, 25), _swing(110, 50, 5)])
        throughput = _throughput(calming, _growing_swing(180))
        convergence = Convergence.of(throughput)
        settled, growing = convergence.flows
        window = throughput[0][(throughput.index > 9) & (throughput.index <= 69)]
        assert settled.deviation.loc[9.0] == pytest.approx(window.std(ddof=0))
        assert settled.deviation.index[-1] == 120
        assert settled.converged_at_s == settled.deviation.index[settled.steps[-1].breakpoint]
        assert growing.converged_at_s is None
        assert convergence.times_s.isna().tolist() == [False, True]
        assert convergence.converged_at_s is None

    def test_later_end_of_the_window(self) -> None:
        """With times at the end of a window, convergence is a window later."""
        throughput = _throughput(_swing(180, 50, 20))
        start = Convergence.of(throughput, Detector(window_s=40)).flows[0]
        end = Convergence.of(throughput, Detector(window_s=40, window_named_by="end")).flows[0]
        assert (start.deviation.index + 40).tolist() == end.deviation.index.tolist()
        assert converged_at(throughput, Detector(window_s=40)) == start.converged_at_s
        assert end.converged_at_s == (start.converged_at_s or 0) + 40

    @pytest.mark.parametrize("interval_s", [0.5, 1.0, 2.0])
    def test_interval(self, interval_s: float) -> None:
        """Times are in seconds, whatever the length of the intervals."""
        length = round(180 / interval_s)
        ends_s = np.arange(1, length + 1) * interval_s
        flow = np.where(ends_s <= 70, 30 + 25 * (-1) ** np.arange(length), 50.0)
        throughput = pd.DataFrame({0: flow}, index=pd.Index(ends_s, name="time_s"))
        time_s = converged_at(throughput)
        assert time_s is not None
        assert 70 <= time_s <= 90
        assert Convergence.of(throughput).flows[0].deviation.index[-1] == 120

    def test_later_part_of_a_trace(self) -> None:
        """A trace cut at its beginning keeps its times."""
        flow = np.concatenate([_swing(70, 30, 25), _swing(170, 50, 5)])
        later = _throughput(flow).iloc[60:]
        time_s = converged_at(later)
        assert time_s is not None
        assert 70 <= time_s <= 180
        assert Convergence.of(later).flows[0].deviation.index[0] == 60

    def test_order_of_flows(self) -> None:
        """The order of the flows does not matter."""
        flows = np.random.default_rng(6).gamma(2, 10, size=(5, 180))
        times_s = Convergence.of(_throughput(*flows)).times_s
        assert Convergence.of(_throughput(*flows[::-1])).times_s.tolist() == times_s.tolist()[::-1]

    def test_offset_and_scale(self) -> None:
        """An offset changes nothing, nor does a unit without the threshold in Mbit/s."""
        flow = np.random.default_rng(7).gamma(2, 10, 180)
        assert converged_at(_throughput(flow + 100)) == converged_at(_throughput(flow))
        detector = Detector(abs_threshold_mbps=0)
        kilobits = converged_at(_throughput(1000 * flow), detector)
        assert kilobits == converged_at(_throughput(flow), detector)

    def test_uneven_intervals(self) -> None:
        """A table with a gap is an error that names its position."""
        with pytest.raises(InputError, match=r"^throughput\.index\[40\] is 42"):
            Convergence.of(_throughput(np.ones(180)).drop(index=41.0))


class TestFigure:
    def test_a_panel_for_each_iteration(self) -> None:
        """A panel marks the convergence point and the validation breakpoint of its step."""
        calming = np.concatenate([_swing(70, 30, 25), _swing(110, 50, 5)])
        flow = Convergence.of(_throughput(calming)).flows[0]
        panels = convergence_figure(flow).axes
        # Besides the trace, each panel has two vertical lines.
        marked = [
            tuple(np.asarray(line.get_xdata())[0] for line in axes.lines[1:]) for axes in panels
        ]
        assert len(panels) > 1
        assert marked == [(step.start, step.breakpoint) for step in flow.steps]

    def test_nothing_to_draw(self) -> None:
        """A trace without an iteration is an error."""
        flow = Convergence.of(_throughput(np.ones(65))).flows[0]
        with pytest.raises(InputError, match=r"^iterations of Algorithm 1 is 0"):
            convergence_figure(flow)


class TestLatest:
    def test_one_missing(self) -> None:
        """The last flow decides, and there is no time if one has none."""
        assert latest(pd.Series([20.0, 70.0])) == 70
        assert latest(pd.Series([20.0, math.nan])) is None


class TestConvergedAt:
    @pytest.mark.parametrize("change", [20, 40, 80])
    def test_not_before_the_change(self, change: int) -> None:
        """The convergence time is after the last change of the swings."""
        flow = np.concatenate([_swing(change, 30, 25), _swing(180 - change, 50, 5)])
        time_s = converged_at(_throughput(flow))
        assert time_s is not None
        assert change <= time_s <= 120

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("change", [10, 40, 80, 100])
    def test_step(self, change: int, seed: int) -> None:
        """After a step of the mean the time lies between the step and a window before the end."""
        flow = np.random.default_rng(seed).normal(20, 0.5, 180)
        flow[change:] += 30
        time_s = converged_at(_throughput(flow))
        assert time_s is not None
        assert change <= time_s <= 120

    def test_constant(self) -> None:
        """A constant flow converges at the earliest possible end of a part."""
        assert converged_at(_throughput(np.full(180, 3.0))) == 5

    def test_ever_faster_growth(self) -> None:
        """A rate that grows exponentially has not converged."""
        assert converged_at(_throughput(np.exp(np.arange(180) / 40))) is None

    def test_even_drift_looks_settled(self) -> None:
        """A rate that grows linearly has equal deviations in all windows: see TestTrends."""
        assert converged_at(_throughput(np.linspace(0, 50, 180))) is not None

    def test_large_but_steady_swings_converge(self) -> None:
        """Swings of any size converge if they stay the same (Figure 5.5)."""
        assert converged_at(_throughput(_swing(180, 50, 45), _swing(180, 50, -45))) is not None

    def test_unequal_shares_converge(self) -> None:
        """Flows may converge to unequal shares."""
        noise = np.random.default_rng(1).normal(0, 0.1, 180)
        assert converged_at(_throughput(95 + noise, 5 - noise)) is not None

    def test_growing_swings_do_not_converge(self) -> None:
        """Swings that keep growing have not converged."""
        assert converged_at(_throughput(_growing_swing(180))) is None

    def test_latest_flow_decides(self) -> None:
        """An experiment converges with its last flow, and not at all if one flow does not."""
        early, late = _swing(180, 50, 20), np.concatenate([_swing(70, 30, 25), _swing(110, 50, 5)])
        alone = [converged_at(_throughput(flow)) for flow in (early, late)]
        assert converged_at(_throughput(early, late)) == max(filter(None, alone))
        assert converged_at(_throughput(early, _growing_swing(180))) is None

    def test_a_window_is_left(self) -> None:
        """At least 60 s remain for measurement after any convergence time."""
        rng = np.random.default_rng(5)
        for _ in range(50):
            time_s = converged_at(_throughput(rng.gamma(2, 10, 180)))
            assert time_s is None or 0 < time_s <= 120

    def test_short_run(self) -> None:
        """A run hardly longer than a window has not converged, as convergence is not observable."""
        assert converged_at(_throughput(np.full(65, 10.0))) is None

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_failed_measurement(self, value: float) -> None:
        """A value that is not finite is an error that names its position."""
        flow = np.full(180, 10.0)
        flow[41] = value
        with pytest.raises(InputError, match=r"^throughput of flow 1 at 42 s is"):
            converged_at(_throughput(np.full(180, 10.0), flow))

    def test_no_table(self) -> None:
        """An array without flows and times is an error that says how to make a table."""
        with pytest.raises(InputError, match=r"^throughput is .*; it must be a DataFrame: Mbit/s"):
            converged_at(np.full((180, 2), 10.0))  # type: ignore[arg-type]

    def test_nothing_measured(self) -> None:
        """A table without intervals is an error."""
        with pytest.raises(InputError, match=r"^throughput\.shape is \(0, 2\)"):
            converged_at(_throughput(np.empty(0), np.empty(0)))


class TestSlowLinks:
    """The limit of similar deviations is relative to the rate of the link."""

    @pytest.mark.parametrize("mbps", [0.1, 1, 10])
    def test_scale(self, mbps: float) -> None:
        """Up to 10 Mbit/s, the time of convergence does not depend on the unit."""
        for seed in range(5):
            share = np.random.default_rng(seed).uniform(0.2, 0.8, 180) * np.linspace(0.2, 1, 180)
            own, reference = (
                Convergence.of(_throughput(rate * share, rate * (1 - share))).times_s.tolist()
                for rate in (mbps, 10)
            )
            np.testing.assert_equal(own, reference)

    def test_slow_link(self) -> None:
        """Swings that grow to half of a link of 0.3 Mbit/s have not converged."""
        growing = 0.003 * _growing_swing(180)
        assert converged_at(_throughput(growing, 0.3 - growing)) is None

    def test_thesis(self) -> None:
        """From 10 Mbit/s on, the limit is that of the thesis."""
        for mbps in (10, 100, 1000):
            assert Detector().on_link(mbps) == Detector()


def _drifting(seed: int) -> FloatArray:
    """Return a drifting series with noise: linear, exponential or a ramp, up or down."""
    rng = np.random.default_rng(seed)
    seconds = np.arange(180.0)
    shape = (
        seconds / 180,
        1 - np.exp(-seconds / 60),
        np.clip((seconds - rng.uniform(20, 60)) / 160, 0, 1),
    )[seed % 3]
    size = rng.uniform(36, 45) * (1 if seed % 2 else -1)
    return 50 + size * shape + rng.normal(0, 1, 180)


class TestTrends:
    """:func:`trends`."""

    @pytest.mark.parametrize("seed", range(40))
    def test_drifting(self, seed: int) -> None:
        """No drifting series counts as converged without a trend."""
        flow = _drifting(seed)
        throughput = _throughput(flow, 100 - flow)
        from_s = measured_from(converged_at(throughput), 180)
        changes = trends(throughput, from_s)
        assert changes[0] == pytest.approx(-changes[1])
        assert np.sign(changes[0]) == (1 if seed % 2 else -1)

    @pytest.mark.parametrize("memory_s", [0, 5])
    def test_stationary(self, memory_s: float) -> None:
        """Hardly any stationary series has a trend, with independent or autocorrelated noise."""
        found = 0
        for seed in range(200):
            noise = np.random.default_rng(seed).normal(0, 5, 380)
            if memory_s:
                kernel = np.exp(-np.arange(40) / memory_s)
                noise = np.convolve(noise, kernel / np.sqrt(np.square(kernel).sum()), "same")
            found += bool(trends(_throughput(50 + noise[100:280]), 60)[0])
        # 5 % and three standard deviations.
        assert found <= 10 + 3 * math.sqrt(200 * 0.05 * 0.95)

    def test_many_flows(self) -> None:
        """Among many stationary flows, hardly ever one has a trend."""
        rng = np.random.default_rng(4)
        found = [trends(_throughput(*rng.normal(50, 20, (30, 120)))).any() for _ in range(100)]
        # 1.2 % and three standard deviations.
        assert np.sum(found) <= 5

    @pytest.mark.parametrize("period", [7, 15, 23])
    def test_swings(self, period: int) -> None:
        """Steady swings have no trend."""
        swing = _swing(180, 50, 45, period)
        assert trends(_throughput(swing, 100 - swing), 60).tolist() == [0, 0]

    def test_negligible(self) -> None:
        """A drift of less than a twentieth of the fair share is negligible."""
        slight, larger = 50 + np.linspace(-1, 1, 120), 50 + np.linspace(-4, 4, 120)
        assert trends(_throughput(slight, 100 - slight)).tolist() == [0, 0]
        assert trends(_throughput(larger, 100 - larger)).abs().min() > 5

    def test_short(self) -> None:
        """A measured part shorter than a minute has no test."""
        assert trends(_throughput(np.linspace(0, 50, 90)), 40).tolist() == [0]
        assert trends(_throughput(np.linspace(0, 50, 90)), 20).tolist() != [0]


class TestMeasuredFrom:
    @pytest.mark.parametrize(
        ("converged_at_s", "duration_s", "expected"),
        [(70, 180, 70), (None, 300, 60), (None, 120, 60), (None, 90, 45), (None, 25, 12)],
    )
    def test_rule(self, converged_at_s: float | None, duration_s: float, expected: float) -> None:
        """From convergence, else from 60 s, else the second half of a run of less than 120 s."""
        assert measured_from(converged_at_s, duration_s) == expected
