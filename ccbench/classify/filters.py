# SPDX-License-Identifier: Apache-2.0
"""Filters of traces against noise and application pauses.

They follow VCCAnalyzer, which classifies senders of video, whose applications pause.

**Smoothing** is an exponentially weighted moving average. It changes the trace of every CCA, so the
training set must be smoothed in the same way: :func:`smoothed_set`.

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
from ccbench.classify.occupancy import STEP_S, occupancy
from ccbench.classify.threshold import refit_threshold

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt
    import pandas as pd

    from ccbench.classify.setting import Setting
    from ccbench.classify.threshold import Threshold
    from ccbench.classify.training_set import TrainingSet

__all__ = ["NO_FILTERS", "Filters", "bridged", "pauses", "smoothed", "smoothed_set"]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Filters applied to traces before the comparison; by default none.

    Parameters
    ----------
    smooth_s : float, optional
        Time constant of :func:`smoothed`, in seconds.
    bridge_s : float, optional
        Time without an arrival above which :func:`bridged` detects a pause, in seconds.

    Raises
    ------
    InputError
        If a time is out of range: 0.01 to 5 s, and 0.1 to 10 s.

    Examples
    --------
    >>> import pandas as pd
    >>> events = pd.DataFrame({"time_ns": [0, 20_000_000_000], "backlog_packets": [1, 2]})
    >>> Filters(smooth_s=0.1).trace(events).shape
    (1000,)
    """

    smooth_s: float | None = None
    bridge_s: float | None = None

    def __post_init__(self) -> None:
        # Stronger smoothing removes all shape; shorter pauses occur within a round trip.
        ranges = {
            "smooth_s": validation.Range(STEP_S / 2, 5),
            "bridge_s": validation.Range(0.1, 10),
        }
        for name, allowed in ranges.items():
            if getattr(self, name) is not None:
                validation.number(name, getattr(self, name), allowed, example=0.5)

    def trace(self, events: pd.DataFrame) -> npt.NDArray[np.float32]:
        """Return the trace of a queue, bridged and then smoothed.

        Parameters
        ----------
        events : DataFrame
            See :func:`~ccbench.classify.occupancy.occupancy`.

        Raises
        ------
        InputError
            See :func:`~ccbench.classify.occupancy.occupancy`.
        """
        trace = occupancy(events)
        if self.bridge_s is not None:
            trace = bridged(trace, events, self.bridge_s)
        return trace if self.smooth_s is None else smoothed(trace, self.smooth_s)

    def applied_to(self, training_set: TrainingSet, settings: Collection[Setting]) -> TrainingSet:
        """Return the training set for filtered traces of these settings."""
        if self.smooth_s is None:
            return training_set
        return smoothed_set(training_set, self.smooth_s, settings)


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


def smoothed_set(
    training_set: TrainingSet, time_constant_s: float, settings: Collection[Setting] | None = None
) -> TrainingSet:
    """Return a training set for smoothed traces.

    Smoothed traces are closer to each other, so the thresholds are recalculated
    (:func:`~ccbench.classify.threshold.refit_threshold`).

    Parameters
    ----------
    training_set : TrainingSet
    time_constant_s : float
        See :func:`smoothed`.
    settings : collection of Setting, optional
        Settings of the result; by default all.

    Raises
    ------
    InputError
        If the time constant is not above 0, or the training set has no samples of a setting.

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> setting = training_set.settings[-1]
    >>> smooth = smoothed_set(training_set, 0.2, (setting,))
    >>> smooth.thresholds[setting].distance < training_set.thresholds[setting].distance
    True
    """
    wanted = training_set.settings if settings is None else settings
    for setting in wanted:
        names = [available.name for available in training_set.settings]
        validation.one_of("setting", setting.name, names)
    samples = tuple(
        replace(sample, trace=smoothed(sample.trace, time_constant_s))
        for sample in training_set.samples
        if sample.setting in wanted
    )
    thresholds: dict[Setting, Threshold] = {}
    for setting, threshold in training_set.thresholds.items():
        own = [sample for sample in samples if sample.setting == setting]
        if own:
            labels = [sample.cca for sample in own]
            traces = [sample.trace for sample in own]
            thresholds[setting] = refit_threshold(threshold, traces, labels)
    return replace(training_set, samples=samples, thresholds=thresholds)


def pauses(events: pd.DataFrame, longest_s: float) -> npt.NDArray[np.int64]:
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
    times_ns = events["time_ns"].to_numpy(dtype=np.int64)
    backlog = events["backlog_packets"].to_numpy(dtype=np.float64)
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
    trace: npt.ArrayLike, events: pd.DataFrame, longest_s: float, *, from_s: float | None = None
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
    first_ns = events["time_ns"].iloc[0] if from_s is None else round(from_s * 1e9)
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
