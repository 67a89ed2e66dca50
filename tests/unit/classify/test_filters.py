# SPDX-License-Identifier: Apache-2.0
"""Filters of traces."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench.base.errors import InputError
from ccbench.classify import dtw
from ccbench.classify.filters import Filters, bridged, pauses, smoothed
from ccbench.classify.occupancy import STEP_S, occupancy
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge
from ccbench.cli.main import program

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

pytestmark = pytest.mark.slow

#: CCAs with a pause of the application here, and its length in points.
CCAS = ("bbr", "cubic", "reno", "vegas")
PAUSE = 100


def events_of(trace: npt.ArrayLike) -> pd.DataFrame:
    """Return events with this occupancy every 20 ms, and a packet that passes in between.

    Nothing happens at a point that is NaN.
    """
    points = np.asarray(trace, dtype=float)
    step_ns = round(STEP_S * 1e9)
    times = np.repeat(np.arange(len(points)) * step_ns, 3)
    times[1::3] += step_ns // 2
    times[2::3] += step_ns // 2
    backlog = np.stack([points, points + 1, points], axis=1).ravel()
    events = pd.DataFrame({"time_ns": times, "backlog_packets": backlog}).dropna()
    return events.astype({"backlog_packets": "int64"}).reset_index(drop=True)


def paused(trace: npt.NDArray[np.float32], at: int) -> npt.NDArray[np.float64]:
    """Return a trace with a pause of the application: the queue drains, and returns to its level.

    The length of the trace is unchanged; its end is cut off.
    """
    drain = np.maximum(trace[at] - 8 * np.arange(1, PAUSE + 1), -1.0)
    nothing = np.where(drain < 0, np.nan, drain)
    nothing[np.flatnonzero(np.isnan(nothing))[0]] = 0
    return np.concatenate([trace[: at + 1], nothing, trace[at + 1 : -PAUSE]])


def quiet(trace: npt.NDArray[np.float64]) -> pd.DataFrame:
    """Return the events of :func:`paused`, without arrivals while the queue drains."""
    events = events_of(trace)
    gaps = np.flatnonzero(np.isnan(trace))
    drain_from = gaps[0] - 1
    while trace[drain_from - 1] > trace[drain_from]:
        drain_from -= 1
    in_drain = events["time_ns"].between(drain_from * 2e7, gaps[0] * 2e7)
    return events[~(in_drain & (events["time_ns"] % 20_000_000 > 0))].reset_index(drop=True)


class TestSmoothed:
    @pytest.mark.parametrize("time_constant_s", [0.02, 0.1, 1.0])
    def test_step(self, time_constant_s: float) -> None:
        """After a step the average approaches the new level as 1 - exp(-t / T)."""
        step = np.repeat([10.0, 30.0], [50, 200])
        times_s = np.arange(1, 201) * STEP_S
        expected = 10 + 20 * (1 - np.exp(-times_s / time_constant_s))
        actual = smoothed(step, time_constant_s)
        np.testing.assert_allclose(expected, actual[50:], rtol=1e-5)
        np.testing.assert_allclose(10, actual[:50], rtol=1e-6)

    def test_linear(self) -> None:
        """Smoothing is linear: doubling doubles the average, and a level stays constant."""
        trace = np.random.default_rng(1).integers(0, 60, 500)
        np.testing.assert_allclose(smoothed(2 * trace, 0.3), 2 * smoothed(trace, 0.3), rtol=1e-5)
        np.testing.assert_allclose(7, smoothed([7] * 50, 0.3), rtol=1e-6)

    def test_noise(self) -> None:
        """White noise keeps a / (2 - a) of its variance, where a is the weight of a new point."""
        noise = np.random.default_rng(1).normal(0, 1, 200_000)
        weight = 1 - math.exp(-STEP_S / 0.1)
        assert weight / (2 - weight) == pytest.approx(smoothed(noise, 0.1).var(), rel=0.03)

    @pytest.mark.parametrize("time_constant_s", [0, -1, math.nan])
    def test_bad(self, time_constant_s: float) -> None:
        """A time constant that is not above 0 is an input error."""
        with pytest.raises(InputError, match="time_constant_s is"):
            smoothed([1, 2], time_constant_s)


@pytest.fixture(scope="module")
def packaged_set() -> TrainingSet:
    """Give the packaged set for one setting."""
    packaged_set = TrainingSet.load(PACKAGED)
    own = tuple(sample for sample in packaged_set.samples if sample.setting == SETTINGS[0])
    return replace(
        packaged_set, samples=own, thresholds={SETTINGS[0]: packaged_set.thresholds[SETTINGS[0]]}
    )


class TestSmoothedSet:
    def test_alike(self, packaged_set: TrainingSet) -> None:
        """The set's traces are smoothed like a server's: each is at distance 0 from itself."""
        smooth = Filters(smooth_s=0.2).applied_to(packaged_set, SETTINGS[:1])
        for i in (0, -1):
            sample = packaged_set.samples[i]
            (one,) = judge([replace(sample, points=smoothed(sample.points, 0.2))], smooth).traces
            assert (packaged_set.samples[i].cca, 0.0) == (one.label, one.distance)

    def test_threshold(self, packaged_set: TrainingSet) -> None:
        """The threshold is the same quantile of distances within a CCA, of smoothed traces."""
        smooth = Filters(smooth_s=0.2).applied_to(packaged_set, SETTINGS[:1])
        distances = []
        for cca in smooth.ccas:
            traces = [sample.points for sample in smooth.samples if sample.cca == cca]
            pairs = np.triu_indices(len(traces), 1)
            distances.append(dtw.pairwise(traces)[pairs] / 1000)
        threshold = smooth.thresholds[SETTINGS[0]]
        assert packaged_set.thresholds[SETTINGS[0]].quantile == threshold.quantile
        assert threshold.quantile == pytest.approx(
            (np.concatenate(distances) <= threshold.distance).mean(), abs=1e-3
        )
        assert math.isnan(threshold.false_known)

    def test_shorter(self, packaged_set: TrainingSet) -> None:
        """Shorter traces are those of the set, cut, and have no second stage."""
        shorter = Filters(duration_s=10).applied_to(packaged_set, SETTINGS[:1])
        assert shorter.limits is None is not packaged_set.limits
        np.testing.assert_array_equal(
            packaged_set.samples[0].points[:500], shorter.samples[0].points
        )

    def test_longer(self, packaged_set: TrainingSet) -> None:
        """Traces longer than those of the set are an input error that names its length."""
        with pytest.raises(InputError, match=r"duration_s is 60; it must be at most 20"):
            Filters(duration_s=60).applied_to(packaged_set, SETTINGS[:1])

    def test_skipped(self, packaged_set: TrainingSet) -> None:
        """A start is skipped in the set's traces too, and the rest is as long as the query's."""
        filters = Filters(skip_s=3).of_length_of(packaged_set)
        late = filters.applied_to(packaged_set, SETTINGS[:1])
        events = events_of([5] * 1300)
        assert {850} == {len(sample.points) for sample in late.samples}
        assert 850 == len(filters.trace(events, SETTINGS[0]).points)
        assert late.limits is None
        with pytest.raises(
            InputError, match=r"duration_s is 18; it must be at most 17 after the 3"
        ):
            Filters(skip_s=3, duration_s=18).applied_to(packaged_set, SETTINGS[:1])
        with pytest.raises(InputError, match=r"skip_s is 19\.5; it must be at most 19"):
            Filters(skip_s=19.5).of_length_of(packaged_set)

    def test_own_length(self, packaged_set: TrainingSet) -> None:
        """Without a length, filters take that of the training set."""
        short = Filters(duration_s=5).applied_to(packaged_set, SETTINGS[:1])
        assert Filters(duration_s=5) == Filters().of_length_of(short)
        assert Filters(duration_s=4) == Filters(duration_s=4).of_length_of(short)

    def test_setting(self, packaged_set: TrainingSet) -> None:
        """A setting without samples is an input error."""
        with pytest.raises(InputError, match="setting is '10bw"):
            Filters(smooth_s=0.2).applied_to(packaged_set, [SETTINGS[2]])


class TestPauses:
    @pytest.mark.parametrize(("longest_s", "expected"), [(0.9, 1), (1.1, 0)])
    def test_length(self, longest_s: float, expected: int) -> None:
        """A pause is an empty queue without arrivals for longer than the limit."""
        times_s = [0, 1, 2, 3, 4]
        events = pd.DataFrame(
            {"time_ns": np.array(times_s) * 10**9, "backlog_packets": [2, 1, 0, 1, 0]}
        )
        assert expected == len(pauses(events, longest_s))

    def test_arrivals(self) -> None:
        """A queue that is empty because packets leave at once is no pause."""
        assert 0 == len(pauses(events_of([0] * 500), 0.1))

    def test_full(self) -> None:
        """A queue with waiting packets is no pause."""
        events = pd.DataFrame({"time_ns": [0, 10**10, 2 * 10**10], "backlog_packets": [2, 1, 3]})
        assert 0 == len(pauses(events, 1.0))

    def test_drops(self) -> None:
        """Dropped packets count as arrivals."""
        events = pd.DataFrame(
            {"time_ns": np.arange(6) * 10**9, "backlog_packets": [1, 0, 1, 0, 1, 0]}
        )
        assert 0 == len(pauses(events, 1.5))


class TestBridged:
    def test_line(self) -> None:
        """A pause becomes a line from the last arrival before it to the queue's return."""
        trace = [20.0] * 100 + [10.0, 0.0] + [np.nan] * 97 + [5.0] + [15.0] + [30.0] * 300
        events = quiet(np.array(trace))
        actual = bridged(occupancy(events, duration_s=10), events, 0.5)
        np.testing.assert_allclose(np.linspace(20, 30, 104), actual[98:202], rtol=1e-5)
        np.testing.assert_array_equal([20] * 99, actual[:99])
        np.testing.assert_array_equal([30] * 298, actual[202:])

    @pytest.mark.parametrize(("held", "back"), [(60.0, 30.0), (20.0, 20.0)])
    def test_back(self, held: float, back: float) -> None:
        """The queue is back at its level before the pause, or its usual level if that is lower.

        A sender that restarts with slow start returns to a lower level.
        """
        before = [30.0] * 300 + [held] * 20
        trace = [*before, 0.0, *[np.nan] * 99, *np.arange(1.0, 31.0), *[30.0] * 250]
        events = quiet(np.array(trace))
        raw = occupancy(events, duration_s=14)
        actual = bridged(raw, events, 0.5)
        end = 420 + round(back) - 1
        assert (actual[319:end] >= min(held, back)).all()
        assert back == actual[end] == raw[end]
        np.testing.assert_array_equal(raw[end:], actual[end:])

    def test_no_pause(self) -> None:
        """A trace without pauses stays unchanged, however short its queue."""
        trace = np.random.default_rng(1).integers(0, 3, 1000).astype(np.float32)
        np.testing.assert_array_equal(trace, bridged(trace, events_of(trace), 0.1))

    def test_gone(self) -> None:
        """A pause without a return of the queue stays unchanged."""
        trace = [20.0] * 300 + [0.0] + [np.nan] * 99 + [1.0] * 200
        events = quiet(np.array(trace))
        raw = occupancy(events, duration_s=12)
        np.testing.assert_array_equal(raw, bridged(raw, events, 0.5))

    @pytest.mark.parametrize("cca", CCAS)
    def test_classified(self, cca: str) -> None:
        """A server with pauses is classified as without, and nearer than unbridged."""
        packaged_set = TrainingSet.load(PACKAGED)
        for setting in SETTINGS[:2]:
            own = next(
                sample
                for sample in packaged_set.samples
                if (sample.cca, sample.setting, sample.variation.name) == (cca, setting, "plain")
            )
            others = tuple(item for item in packaged_set.samples if item is not own)
            events = quiet(paused(own.points, at=400))
            (raw,), (straight,) = (
                judge(
                    [filters.trace(events, setting)], replace(packaged_set, samples=others)
                ).traces
                for filters in (Filters(), Filters(bridge_s=0.5))
            )
            assert cca == straight.nearest
            assert straight.distance < raw.distance


class TestCommand:
    def test_options(self, tmp_path: Path) -> None:
        """`ccbench classify` bridges and smooths: distance and threshold change."""
        packaged_set = TrainingSet.load(PACKAGED)
        own = next(
            sample
            for sample in packaged_set.samples
            if sample.cca == "cubic" and sample.setting in SETTINGS
        )
        trace = np.nan_to_num(paused(own.points, at=400))
        rows = [f"{i * STEP_S:.2f},{packets}" for i, packets in enumerate(trace)]
        path = tmp_path / "queue.csv"
        path.write_text("\n".join(["time_s,occupancy_packets", *rows]), encoding="utf-8")
        words = ["classify", str(path), "--setting", own.setting.name]
        lines = []
        for more in ([], ["--bridge", "0.5"], ["--bridge", "0.5", "--smooth", "0.2"]):
            done = CliRunner().invoke(program, [*words, *more])
            assert 0 == done.exit_code, done.output
            lines.append(done.stdout.splitlines()[-3])
        assert 3 == len(set(lines))

    def test_bad(self, tmp_path: Path) -> None:
        """A time that is not above 0 is refused."""
        done = CliRunner().invoke(program, ["classify", str(tmp_path), "--smooth", "0"])
        assert 2 == done.exit_code
        assert "is not a number above 0" in done.stderr
