# SPDX-License-Identifier: Apache-2.0
"""Filters of traces against noise and application pauses.

They follow VCCAnalyzer, which classifies senders of video, whose applications pause.

**Smoothing** is an exponentially weighted moving average. It changes the trace of every CCA, so the
training set must be smoothed in the same way: :meth:`Filters.applied_to`.

**Bridging** removes application pauses from a trace. The queue length alone does not show why a
queue is short: Vegas and BBR keep it short on purpose, and so does an application that is slower
than the link. But a sender that has data and does not wait for a timer sends packets in every round
trip, even BBR in ProbeRTT. Therefore a pause is an interval in which the queue is empty and no
packet arrives, of more than a given time. This time must exceed a round trip, and the
retransmission timeouts (some tenths of a second) that are not to be bridged. The valley around a
pause starts at the last arrival before it, after which the queue drains. It ends when the queue has
recovered to its length at that arrival, or to its usual length (the median of the trace outside of
pauses) if that is less. A straight line replaces the valley. A pause without such a recovery
within the trace is not bridged. An application that is slow without pausing is not detected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import exponential_average
from ccbench.classify.measurements import measured_events
from ccbench.classify.occupancy import DURATION_S, STEP_S, occupancy
from ccbench.classify.threshold import refit_threshold
from ccbench.classify.trace import QueueTrace
from ccbench.classify.view import View

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from ccbench.classify.occupancy import Events
    from ccbench.classify.setting import Setting
    from ccbench.classify.threshold import Threshold
    from ccbench.classify.training_set import TrainingSet

__all__ = ["LEAST_S", "NO_FILTERS", "Filters", "bridged", "pauses", "smoothed"]

#: Least length of a trace in seconds.
LEAST_S = 1


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Filters applied to traces before the comparison; by default none.

    Parameters
    ----------
    skip_s : float
        Length of the start that is left out, in seconds.
    duration_s : float, optional
        Length of the rest of the trace in seconds; by default that of the training set's traces
        without the start, or 20.
    step_s : float
        Time between two points in seconds, a multiple of
        :data:`~ccbench.classify.occupancy.STEP_S`.
    smooth_s : float, optional
        Time constant of :func:`smoothed`, in seconds.
    bridge_s : float, optional
        Time without an arrival above which :func:`bridged` detects a pause, in seconds.

    Raises
    ------
    InputError
        If a time is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> from ccbench.classify.setting import SETTINGS
    >>> events = pd.DataFrame({"time_ns": [0, 20_000_000_000], "backlog_packets": [1, 2]})
    >>> Filters(smooth_s=0.1).trace(events, SETTINGS[0]).points.shape
    (1000,)
    """

    skip_s: float = 0.0
    duration_s: float | None = None
    step_s: float = STEP_S
    smooth_s: float | None = None
    bridge_s: float | None = None

    def __post_init__(self) -> None:
        validation.number("skip_s", self.skip_s, validation.Range(0, 3600), example=2)
        validation.number("step_s", self.step_s, validation.Range(STEP_S, 1), example=0.1)
        if not np.isclose(self.step_s / STEP_S, round(self.step_s / STEP_S)):
            step = f"write for example {5 * STEP_S:g}"
            raise validation.bad("step_s", self.step_s, f"a multiple of {STEP_S} s", step)
        # Stronger smoothing removes all shape; shorter pauses occur within a round trip.
        ranges = {
            "duration_s": (validation.Range(LEAST_S, 3600), 20),
            "smooth_s": (validation.Range(STEP_S / 2, 5), 0.5),
            "bridge_s": (validation.Range(0.1, 10), 0.5),
        }
        for name, (allowed, example) in ranges.items():
            if getattr(self, name) is not None:
                validation.number(name, getattr(self, name), allowed, example=example)

    def trace(self, events: Events, setting: Setting) -> QueueTrace:
        """Return the trace of a queue, bridged and then smoothed.

        A bridged trace has no measurements, as the sender's window is unknown during a pause.

        Parameters
        ----------
        events : DataFrame
            See :func:`~ccbench.classify.occupancy.occupancy`.
        setting : Setting
            The bottleneck.

        Raises
        ------
        InputError
            See :func:`~ccbench.classify.occupancy.occupancy`.
        """
        points = self.occupancy(events)
        if self.bridge_s is not None:
            return QueueTrace(setting=setting, points=points)
        part = self.part(events)
        view = View(length_s=part["duration_s"])
        measured = measured_events(events, setting, from_s=part["from_s"], view=view)
        return QueueTrace(setting=setting, points=points, measured=measured)

    def occupancy(self, events: Events) -> npt.NDArray[np.float32]:
        """Return the points of :meth:`trace`."""
        points = occupancy(events, duration_s=self.skip_s + self._length_s)
        if self.bridge_s is not None:
            points = bridged(points, events, self.bridge_s)
        return self.points(points)

    def part(self, events: Events) -> dict[str, float]:
        """Return the part of a queue's events that is compared.

        Returns
        -------
        dict
            ``from_s`` and ``duration_s`` of :func:`~ccbench.classify.occupancy.occupancy`.
        """
        first_s = float(np.asarray(events["time_ns"])[0]) / 1e9
        return {"from_s": self.skip_s + first_s, "duration_s": self._length_s}

    def points(self, points: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the part of a trace with the step, length and smoothing of the filters.

        Parameters
        ----------
        points : ndarray, shape (n_points,)
            Packets in a queue, at intervals of :data:`~ccbench.classify.occupancy.STEP_S`.
        """
        first, n_points = round(self.skip_s / STEP_S), round(self._length_s / STEP_S)
        part = points[first : first + n_points]
        if self.smooth_s is not None:
            part = smoothed(part, self.smooth_s)
        return part[:: round(self.step_s / STEP_S)]

    def of_length_of(self, training_set: TrainingSet, *, observed_s: float = math.inf) -> Filters:
        """Return filters with the length of a training set, unless they have a length.

        Parameters
        ----------
        training_set : TrainingSet
        observed_s : float
            The time in seconds for which servers are observed, if it is less.

        Raises
        ------
        InputError
            If start and length together are longer than the training set's traces.
        """
        longest_s = min(training_set.duration_s, observed_s)
        if self.duration_s is None:
            if self.skip_s > longest_s - LEAST_S:
                allowed = f"at most {longest_s - LEAST_S:g}: the traces have {longest_s:g} s"
                raise validation.bad("skip_s", self.skip_s, allowed, "skip less")
            return replace(self, duration_s=round(longest_s - self.skip_s, 6))
        if self.skip_s + self.duration_s > longest_s:
            after = f" after the {self.skip_s:g} that are skipped" if self.skip_s else ""
            allowed = f"at most {longest_s - self.skip_s:g}{after}: the traces have {longest_s:g} s"
            step = "leave it out, or train longer traces with `ccbench classify-train --length`"
            raise validation.bad("duration_s", self.duration_s, allowed, step)
        return self

    def applied_to(self, training_set: TrainingSet, settings: Collection[Setting]) -> TrainingSet:
        """Return the training set for filtered traces of these settings.

        Filtered traces have other distances, so the thresholds are recalculated
        (:func:`~ccbench.classify.threshold.refit_threshold`). Traces of another length have other
        measurements, so they have no second stage.

        Parameters
        ----------
        training_set : TrainingSet
        settings : collection of Setting
            Settings of the result.

        Raises
        ------
        InputError
            If the training set has no samples of a setting, or its traces are too short.

        Examples
        --------
        >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
        >>> training_set = TrainingSet.load(PACKAGED)
        >>> setting = training_set.settings[-1]
        >>> smooth = Filters(smooth_s=0.2).applied_to(training_set, (setting,))
        >>> smooth.thresholds[setting].distance < training_set.thresholds[setting].distance
        True
        """
        longest_s = training_set.duration_s
        own = self.of_length_of(training_set)
        if replace(own, bridge_s=None) == Filters(duration_s=longest_s):
            return training_set
        for setting in settings:
            names = [available.name for available in training_set.settings]
            validation.one_of("setting", setting.name, names)
        samples = tuple(
            replace(sample, points=own.points(sample.points))
            for sample in training_set.samples
            if sample.setting in settings
        )
        thresholds: dict[Setting, Threshold] = {}
        for setting, threshold in training_set.thresholds.items():
            of_setting = [sample for sample in samples if sample.setting == setting]
            if of_setting:
                labels = [sample.cca for sample in of_setting]
                traces = [sample.points for sample in of_setting]
                thresholds[setting] = refit_threshold(threshold, traces, labels)
        limits = training_set.limits if own.duration_s == longest_s else None
        return replace(training_set, samples=samples, thresholds=thresholds, limits=limits)

    @property
    def _length_s(self) -> float:
        return DURATION_S if self.duration_s is None else self.duration_s


#: No filter.
NO_FILTERS = Filters()


def smoothed(trace: npt.ArrayLike, time_constant_s: float) -> npt.NDArray[np.float32]:
    """Return the exponentially weighted moving average of a trace.

    Parameters
    ----------
    trace : array_like, shape (n_points,)
        Packets in a queue, at intervals of :data:`~ccbench.classify.occupancy.STEP_S`.
    time_constant_s : float
        Time in seconds after which the average has covered 63 % of a step: the weight of a new
        point is ``1 - exp(-STEP_S / time_constant_s)``.

    Returns
    -------
    ndarray, shape (n_points,)
        Its first point is that of the trace.

    Raises
    ------
    InputError
        If the time constant is not above 0, or the trace is not a row of numbers.

    Examples
    --------
    >>> smoothed([0, 1, 1, 1], 0.02).round(2)
    array([0.  , 0.63, 0.86, 0.95], dtype=float32)
    """
    above_0 = validation.Range(0, low_open=True)
    time_constant_s = validation.number("time_constant_s", time_constant_s, above_0, example=0.1)
    points = _points(trace)
    average = exponential_average(points, decay=math.exp(-STEP_S / time_constant_s))
    return np.asarray(average, dtype=np.float32)


def pauses(events: Events, longest_s: float) -> npt.NDArray[np.int64]:
    """Return the intervals in which a queue was empty and no packet arrived.

    Parameters
    ----------
    events : DataFrame
        Events at the queue in order, with the columns ``time_ns`` and ``backlog_packets``, as for
        :func:`ccbench.classify.occupancy.occupancy`. An increase of the backlog is an arrival.
    longest_s : float
        Longest interval in seconds that is not a pause.

    Returns
    -------
    ndarray, shape (n_pauses, 3)
        For each pause in nanoseconds: the last arrival before it, the start of the empty queue, and
        the next arrival.

    Raises
    ------
    InputError
        If the time is not above 0.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame(
    ...     {"time_ns": [0, 1, 2, 3, 9_000_000_000], "backlog_packets": [1, 2, 1, 0, 1]}
    ... )
    >>> pauses(events, 1.0)
    array([[         1,          3, 9000000000]])
    """
    above_0 = validation.Range(0, low_open=True)
    longest_s = validation.number("longest_s", longest_s, above_0, example=1)
    times_ns = np.asarray(events["time_ns"], dtype=np.int64)
    backlog = np.asarray(events["backlog_packets"], dtype=np.float64)
    rises = np.flatnonzero(np.diff(backlog, prepend=0) > 0)
    before, after = rises[:-1], rises[1:]
    # Between two rises the backlog only falls: the queue is empty from the first 0 on.
    empty = np.flatnonzero(backlog == 0)
    first = np.searchsorted(empty, before)
    exists = first < len(empty)
    before, after = before[exists], after[exists]
    drained = empty[first[exists]]
    waits_ns = times_ns[after] - times_ns[drained]
    is_pause = (drained < after) & (waits_ns > longest_s * 1e9)
    return np.stack([times_ns[at[is_pause]] for at in (before, drained, after)], axis=1)


def bridged(
    trace: npt.ArrayLike, events: Events, longest_s: float, *, from_s: float | None = None
) -> npt.NDArray[np.float32]:
    """Return a trace with application pauses replaced by straight lines.

    Parameters
    ----------
    trace : array_like, shape (n_points,)
        The :func:`~ccbench.classify.occupancy.occupancy` of the events.
    events : DataFrame
        See :func:`pauses`.
    longest_s : float
        Longest interval without an arrival that is not a pause, in seconds: more than a round trip
        with a full queue, and more than timeouts that are not to be bridged.
    from_s : float, optional
        Start of the trace in seconds; by default the first packet.

    Raises
    ------
    InputError
        See :func:`pauses`.
    """
    points = _points(trace)
    first_ns = np.asarray(events["time_ns"])[0] if from_s is None else round(from_s * 1e9)
    places = (pauses(events, longest_s) - first_ns) / (STEP_S * 1e9)
    places = places[(places[:, 2] < len(points)) & (places[:, 0] >= 0)]
    # The last point before the left edge, and the first point at or after the right edge.
    edges = np.stack([np.floor(places[:, 0]), np.ceil(places[:, 2])], axis=1).astype(int)
    is_pause = np.zeros(len(points), dtype=bool)
    for left, right in edges:
        is_pause[left:right] = True
    if is_pause.all():
        return points.astype(np.float32)
    usual = np.median(points[~is_pause])
    line = points.copy()
    for left, right in edges:
        # The backlog at the edge: the point before it may miss the last arrival.
        at_edge = points[left : left + 2].max()
        recovered = np.flatnonzero(points[right:] >= min(at_edge, usual))
        if recovered.size:
            end = right + int(recovered[0])
            line[left : end + 1] = np.linspace(line[left], points[end], end + 1 - left)
    return line.astype(np.float32)


def _points(trace: npt.ArrayLike) -> npt.NDArray[np.float64]:
    points = np.asarray(trace, dtype=np.float64)
    if points.ndim != 1 or points.size == 0:
        step = "write for example [0, 2, 4]"
        raise validation.bad("trace", trace, "one or more numbers in one dimension", step)
    return points
