# SPDX-License-Identifier: Apache-2.0
"""Measurements of a trace that loss and cross traffic change little.

The distance of two traces compares them point by point, so that a single random loss, which shifts
all that follows, makes them different. The reactions of a congestion control algorithm remain: the
factor of its decreases, its growth after them by time and by window, its reaction to the delay of
the queue, its periods. Each is measured here from the packets in flight (:mod:`.in_flight`) and the
packets in the queue, averaged over rounds (:mod:`.shape`).

All are dimensionless or in packets and round-trip times of the setting, limited to a range, and
stored in one byte: 1 to 32 for the range, 0 for an event that the trace does not contain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.classify.in_flight import in_flight
from ccbench.classify.occupancy import DURATION_S, STEP_S, occupancy
from ccbench.classify.setting import SETTINGS
from ccbench.classify.shape import decreases, points_per_round, rounds
from ccbench.classify.view import STANDARD, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from ccbench.classify.occupancy import Events
    from ccbench.classify.setting import Setting

    Values = dict[str, float]

__all__ = ["NAMES", "UNDEFINED", "in_byte", "measured_events", "measurements", "natural", "visible"]

#: The byte of a measurement that the trace does not allow.
UNDEFINED = 0
_LEVELS = 31
_POINTS = round(DURATION_S / STEP_S)
#: Least number of rounds of a trace that can be measured.
_LEAST_ROUNDS = 12
#: Share of the queue at which it is full, and at which it is empty.
_FULL, _EMPTY = 0.9, 0.05
#: Measurements that need the start of the connection, and those within a round-trip time.
_OF_THE_START = (
    *("start_largest", "start_last", "start_least_after", "start_full_at"),
    *("first_decrease_at", "first_factor", "slowest_at"),
)
_WITHIN_A_ROUND = ("step_mean", "second_step_mean", "range_in_round")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rounds:
    """A trace by round.

    Parameters
    ----------
    window, queue, fullest : ndarray, shape (n_rounds,)
        Mean packets in flight, and mean and largest queue.
    points : ndarray, shape (n_points,)
        The queue at each point.
    setting : Setting
    step_s : float
        Time between two points in seconds.
    """

    window: npt.NDArray[np.float64]
    queue: npt.NDArray[np.float64]
    fullest: npt.NDArray[np.float64]
    points: npt.NDArray[np.float64]
    setting: Setting
    step_s: float

    @property
    def per_rtt(self) -> float:
        """Rounds in a base round-trip time."""
        return self.setting.rtt_ms / 1e3 / self.round_s

    @property
    def round_s(self) -> float:
        """Length of a round in seconds."""
        return points_per_round(self.setting, self.step_s) * self.step_s

    @cached_property
    def before(self) -> npt.NDArray[np.int_]:
        """Last round before each decrease."""
        return np.array([each.before for each in decreases(self.window)], dtype=np.int_)

    @cached_property
    def end(self) -> npt.NDArray[np.int_]:
        """Last round of each decrease."""
        return np.array([each.end for each in decreases(self.window)], dtype=np.int_)

    @cached_property
    def factors(self) -> npt.NDArray[np.float64]:
        """Window after each decrease as a fraction of that before."""
        return self.window[self.end] / np.maximum(self.window[self.before], 1)

    @cached_property
    def grows(self) -> npt.NDArray[np.bool_]:
        """Whether neither a round nor the next is part of a decrease; shape (n_rounds - 1,)."""
        result = np.ones(len(self.window) - 1, dtype=bool)
        for before, end in zip(self.before, self.end, strict=True):
            result[before:end] = False
        return result

    @cached_property
    def growth(self) -> npt.NDArray[np.float64]:
        """Growth of the window from each round to the next, in packets per round-trip time."""
        return np.diff(self.window) * self.per_rtt

    @cached_property
    def elapsed_s(self) -> npt.NDArray[np.float64]:
        """Time of each round since the end of the last decrease; NaN before the first."""
        at = np.arange(len(self.window))
        last = np.searchsorted(self.end, at, side="right") - 1
        ends = np.append(self.end, 0)  # of a last index of -1
        return np.where(last >= 0, (at - ends[last]) * self.round_s, np.nan)


def _levels(trace: _Rounds) -> Values:
    """Return levels of window and queue, as fractions of their capacity."""
    shares = (5, 25, 50, 75, 95)
    in_flight = np.percentile(trace.window / trace.setting.capacity_packets, shares)
    queue = np.percentile(trace.queue / trace.setting.queue_packets, shares)
    return {
        **{f"window_p{share}": value for share, value in zip(shares, in_flight, strict=True)},
        **{f"queue_p{share}": value for share, value in zip(shares, queue, strict=True)},
        "queue_mean": trace.queue.mean() / trace.setting.queue_packets,
        "full_share": float((trace.fullest >= _FULL * trace.setting.queue_packets).mean()),
        "empty_share": float((trace.queue <= _EMPTY * trace.setting.queue_packets).mean()),
    }


def _decrease_shares(trace: _Rounds) -> Values:
    """Return factors of the decreases, and their shares at full and empty queues."""
    fullest = np.maximum(trace.fullest[trace.before], trace.fullest[trace.before + 1])
    is_full = fullest >= _FULL * trace.setting.queue_packets
    is_waiting = trace.queue[trace.before] > _EMPTY * trace.setting.queue_packets
    bdp = trace.setting.capacity_packets - trace.setting.queue_packets
    return {
        "factor_p25": _percentile(trace.factors, 25),
        "factor_p50": _percentile(trace.factors, 50),
        "factor_p75": _percentile(trace.factors, 75),
        "factor_full": _median(trace.factors[is_full]),
        "factor_not_full": _median(trace.factors[~is_full]),
        "factor_no_queue": _median(trace.factors[~is_waiting]),
        "after_over_bdp": _median(trace.window[trace.end] / bdp / 2),
        "decreases_full": _mean(is_full),
        "decreases_waiting": _mean(is_waiting),
        "largest_before": _maximum(trace.window[trace.before] / trace.setting.capacity_packets),
    }


def _decrease_times(trace: _Rounds) -> Values:
    """Return the number of decreases and their intervals, as binary logarithms of seconds."""
    between = np.log2(np.maximum(np.diff(trace.before) * trace.round_s, trace.round_s))
    return {
        "decreases": float(np.log2(1 + len(trace.before))),
        "interval_p10": _percentile(between, 10),
        "interval_p50": _percentile(between, 50),
        "interval_p90": _percentile(between, 90),
        "fall_rounds": _mean(trace.end - trace.before),
    }


def _growth_by_time(trace: _Rounds) -> Values:
    """Return the mean growth in packets per RTT in intervals after a decrease."""
    edges_s = (0.0, 0.4, 0.8, 1.5, 3.0, 5.0, 8.0, 20.0)
    elapsed_s = trace.elapsed_s[:-1]
    result = {}
    for i, (low_s, high_s) in enumerate(pairwise(edges_s)):
        chosen = trace.grows & (elapsed_s >= low_s) & (elapsed_s < high_s)
        result[f"growth_from_{edges_s[i]:g}s"] = _trimmed_mean(trace.growth[chosen])
    return result


def _growth_by_window(trace: _Rounds) -> Values:
    """Return the mean growth in packets per RTT by the window, as a fraction of the capacity."""
    share = trace.window[:-1] / trace.setting.capacity_packets
    edges = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 2.0)
    return {
        f"growth_at_{low:g}": _trimmed_mean(
            trace.growth[trace.grows & (share >= low) & (share < high)]
        )
        for low, high in pairwise(edges)
    }


def _relative_growth(trace: _Rounds) -> Values:
    """Return growth as a percentage of the window, early and late after a decrease."""
    percent = 100 * trace.growth / np.maximum(trace.window[:-1], 1)
    is_late = trace.elapsed_s[:-1] >= 2  # noqa: PLR2004
    return {
        "percent_p25": _percentile(percent[trace.grows], 25),
        "percent_p50": _percentile(percent[trace.grows], 50),
        "percent_p75": _percentile(percent[trace.grows], 75),
        "percent_late": _trimmed_mean(percent[trace.grows & is_late]),
    }


def _reaction_to_delay(trace: _Rounds) -> Values:
    """Return the mean and spread of growth in packets per RTT by the length of the queue."""
    share = trace.queue[:-1] / trace.setting.queue_packets
    edges = (0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 2.0)
    result = {}
    for low, high in pairwise(edges):
        chosen = trace.grows & (share >= low) & (share < high)
        result[f"delay_growth_at_{low:g}"] = _trimmed_mean(trace.growth[chosen])
    result["growth_when_empty_spread"] = _spread(trace.growth[trace.grows & (share < _EMPTY)])
    result["growth_when_waiting_spread"] = _spread(trace.growth[trace.grows & (share >= _EMPTY)])
    return result


def _curves(trace: _Rounds) -> Values:
    """Return the course of growth between decreases, as fractions of its time and height."""
    quarters, regained, heights = [], [], []
    for i, end in enumerate(trace.end):
        last = trace.before[i + 1] if i + 1 < len(trace.before) else len(trace.window) - 1
        segment = trace.window[end : last + 1]
        lost = trace.window[trace.before[i]] - segment[0]
        if len(segment) >= 10 and segment[-1] > segment[0] + 3:  # noqa: PLR2004
            at = np.linspace(0, len(segment) - 1, 5)
            course = np.interp(at, np.arange(len(segment)), segment)
            quarters.append((course[1:4] - course[0]) / (course[4] - course[0]))
            heights.append((segment[-1] - segment[0]) / max(lost, 1))
            reached = np.flatnonzero(segment >= segment[0] + 0.9 * lost)
            if len(reached):
                regained.append(reached[0] / len(segment))
    course = np.median(quarters, axis=0) if quarters else np.full(3, np.nan)
    return {
        **{f"course_{i}": value for i, value in enumerate(course, 1)},
        "regained_after": _median(np.array(regained)),
        "height_over_lost": _median(np.array(heights)) / 2,
    }


def _periods(trace: _Rounds) -> Values:
    """Return shares of the variance of the window by period, and its autocorrelation."""
    window = trace.window[len(trace.window) // 8 :]  # without slow start
    power = np.abs(np.fft.rfft(window - window.mean())[1:]) ** 2
    period = len(window) / np.arange(1, len(power) + 1)
    total = max(power.sum(), 1e-9)
    edges = (2, 3, 5, 7, 9.5, 13, 20, 35, 60, 1000)
    result = {
        f"power_{low:g}": float(power[(period >= low) & (period < high)].sum() / total) ** 0.5
        for low, high in pairwise(edges)
    }
    centred = window - window.mean()
    scale = max(float((centred**2).sum()), 1e-9)
    for lag in (1, 2, 4, 8, 16, 32, 64):
        # From -1 ... 1 to 0 ... 1.
        result[f"autocorrelation_{lag}"] = 0.5 + float((centred[lag:] * centred[:-lag]).sum()) / (
            2 * scale
        )
    return result


def _steadiness(trace: _Rounds) -> Values:
    """Return changes within and between rounds, as binary logarithms of packets."""
    steps = np.abs(np.diff(trace.points))
    waits = trace.points[:-1] > 0
    within = rounds(trace.points, trace.setting, trace.step_s)
    return {
        "step_mean": _log(_mean(steps[waits])),
        "second_step_mean": _log(_mean(np.abs(np.diff(trace.points, 2))[waits[1:]])),
        "range_in_round": _log(_median(np.ptp(within, axis=1))),
        "round_change_p50": _log(_median(np.abs(trace.growth))),
        "round_change_p90": _log(_percentile(np.abs(trace.growth), 90)),
        "window_spread": _log(float(np.std(trace.window))),
        "queue_p10_packets": _log(_percentile(trace.queue, 10)),
        "queue_p50_packets": _log(_median(trace.queue)),
    }


def _start(trace: _Rounds) -> Values:
    """Return the beginning: its largest window, and the time and depth of the first decrease."""
    early = trace.window[: max(4, round(4 / trace.round_s))]
    full = np.flatnonzero(trace.fullest >= _FULL * trace.setting.queue_packets)
    capacity = trace.setting.capacity_packets
    return {
        "start_largest": early.max() / capacity,
        "start_last": early[-1] / capacity,
        "start_least_after": early[int(early.argmax()) :].min() / capacity,
        "start_full_at": full[0] / len(trace.window) if len(full) else np.nan,
        "first_decrease_at": trace.before[0] / len(trace.window) if len(trace.before) else np.nan,
        "first_factor": trace.factors[0] if len(trace.factors) else np.nan,
        "slowest_at": int(trace.window[10:].argmin()) / len(trace.window),
        "deepest_queue_drop": float((trace.queue[:-2] - trace.queue[2:]).max())
        / trace.setting.queue_packets,
    }


#: Groups of measurements with their range.
_GROUPS: tuple[tuple[Callable[[_Rounds], Values], float, float], ...] = (
    (_levels, 0, 1.1),
    (_decrease_shares, 0, 1.1),
    (_decrease_times, -4, 8),
    (_growth_by_time, -4, 8),
    (_growth_by_window, -4, 8),
    (_relative_growth, -4, 8),
    (_reaction_to_delay, -4, 8),
    (_curves, 0, 1.5),
    (_periods, 0, 1),
    (_steadiness, -4, 8),
    (_start, 0, 1.1),
)


def measurements(
    occupancy: npt.NDArray[np.float32],
    in_flight: npt.NDArray[np.float32],
    setting: Setting,
    view: View = STANDARD,
) -> npt.NDArray[np.uint8]:
    """Measure a trace.

    Parameters
    ----------
    occupancy : ndarray, shape (n_points,)
        The result of :func:`~ccbench.classify.occupancy.occupancy`.
    in_flight : ndarray, shape (n_points,)
        The result of :func:`~ccbench.classify.in_flight.in_flight`.
    setting : Setting
        The bottleneck of the observation.
    view : View
        The part of the connection, and the step of the points.

    Returns
    -------
    ndarray of uint8, shape (n_measurements,)
        In the order of :data:`NAMES`; empty if the trace is shorter than twelve rounds. Those that
        the view does not show are undefined (:func:`visible`).

    Examples
    --------
    >>> flat = np.full(1000, 8, dtype=np.float32)
    >>> measured = dict(zip(NAMES, measurements(flat, flat + 35, SETTINGS[0]).tolist()))
    >>> measured["decreases"], measured["factor_p50"] == UNDEFINED
    (11, True)
    """
    trace = _by_round(occupancy, in_flight, setting, view.step_s)
    if len(trace.window) < _LEAST_ROUNDS:
        return np.zeros(0, dtype=np.uint8)
    parts = [_bytes(group(trace).values(), low, high) for group, low, high in _GROUPS]
    return visible(np.concatenate(parts), view)


def visible(measured: npt.NDArray[np.uint8], view: View) -> npt.NDArray[np.uint8]:
    """Return measurements, of which those that a view does not show are undefined.

    A trace without the start of the connection does not show its beginning, and one of averages
    does not show changes within a round-trip time.

    Parameters
    ----------
    measured : ndarray of uint8, shape (..., n_measurements)
    view : View

    Examples
    --------
    >>> every = np.ones(len(NAMES), dtype=np.uint8)
    >>> int((visible(every, View(from_start=False)) == UNDEFINED).sum())
    7
    """
    hidden = np.zeros(len(NAMES), dtype=bool)
    if not view.from_start:
        hidden |= np.isin(NAMES, _OF_THE_START)
    if view.is_coarse:
        hidden |= np.isin(NAMES, _WITHIN_A_ROUND)
    return np.where(hidden, np.uint8(UNDEFINED), measured)


def measured_events(
    events: Events,
    setting: Setting,
    *,
    from_s: float | None = None,
    view: View = STANDARD,
) -> npt.NDArray[np.uint8]:
    """Measure the trace of a queue's events.

    Parameters
    ----------
    events, from_s
        See :func:`~ccbench.classify.occupancy.occupancy`.
    setting : Setting
        The bottleneck of the observation.
    view : View
        The length of the trace, and its other properties.

    Returns
    -------
    ndarray of uint8, shape (n_measurements,)
        Empty if the trace is shorter than twelve rounds.
    """
    span: dict[str, Any] = {
        "from_s": from_s,
        "duration_s": view.length_s,
        "step_s": view.step_s,
    }
    waiting, flying = occupancy(events, **span), in_flight(events, setting, **span)
    return measurements(waiting, flying, setting, view)


def in_byte(name: str, value: float) -> int:
    """Return a value of a measurement as it is stored; see :func:`natural`.

    Examples
    --------
    >>> in_byte("decreases", 0)
    11
    """
    low, high = (float(limits[NAMES.index(name)]) for limits in (_LOWEST, _HIGHEST))
    return int(_bytes([value], low, high)[0])


def natural(measured: npt.NDArray[np.uint8]) -> dict[str, float]:
    """Return measurements as numbers, exact to 2 % of their range; NaN where undefined.

    Parameters
    ----------
    measured : ndarray of uint8, shape (n_measurements,)
        The result of :func:`measurements`.
    """
    share = np.where(measured == UNDEFINED, np.nan, (measured.astype(float) - 1) / _LEVELS)
    return dict(zip(NAMES, (_LOWEST + share * (_HIGHEST - _LOWEST)).tolist(), strict=True))


def _by_round(
    occupancy: npt.NDArray[np.float32],
    in_flight: npt.NDArray[np.float32],
    setting: Setting,
    step_s: float = STEP_S,
) -> _Rounds:
    queue = rounds(occupancy.astype(np.float64), setting, step_s)
    return _Rounds(
        window=rounds(in_flight.astype(np.float64), setting, step_s).mean(axis=1),
        queue=queue.mean(axis=1),
        fullest=queue.max(axis=1),
        points=occupancy.astype(np.float64),
        setting=setting,
        step_s=step_s,
    )


def _bytes(values: Iterable[float], low: float, high: float) -> npt.NDArray[np.uint8]:
    """Return values in a range as 1 to 32; 0 for NaN."""
    array = np.fromiter(values, dtype=np.float64)
    share = np.clip((array - low) / (high - low), 0, 1)
    return np.where(np.isnan(array), UNDEFINED, 1 + np.rint(_LEVELS * share)).astype(np.uint8)


def _mean(values: npt.NDArray[np.generic]) -> float:
    return float(values.mean()) if len(values) else np.nan


def _median(values: npt.NDArray[np.floating]) -> float:
    return float(np.median(values)) if len(values) else np.nan


def _maximum(values: npt.NDArray[np.floating]) -> float:
    return float(values.max()) if len(values) else np.nan


def _percentile(values: npt.NDArray[np.floating], share: float) -> float:
    return float(np.percentile(values, share)) if len(values) else np.nan


def _trimmed_mean(values: npt.NDArray[np.floating]) -> float:
    """Return the mean without the smallest and the largest tenth; NaN of fewer than 4 values."""
    if len(values) < 4:  # noqa: PLR2004
        return np.nan
    cut = len(values) // 10
    return float(np.sort(values)[cut : len(values) - cut].mean())


def _spread(values: npt.NDArray[np.floating]) -> float:
    return float(np.std(values)) if len(values) >= 4 else np.nan  # noqa: PLR2004


def _log(value: float) -> float:
    return float(np.log2(max(value, 1 / 16)))


def _named() -> list[tuple[str, float, float]]:
    """Return the name and range of each measurement."""
    flat = np.zeros(_POINTS, dtype=np.float32)
    trace = _by_round(flat, flat, SETTINGS[0])
    return [(name, low, high) for group, low, high in _GROUPS for name in group(trace)]


_NAMED = _named()
#: The names of the measurements, in their order.
NAMES: tuple[str, ...] = tuple(name for name, _, _ in _NAMED)
_LOWEST = np.array([low for _, low, _ in _NAMED])
_HIGHEST = np.array([high for _, _, high in _NAMED])
