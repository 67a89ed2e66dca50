# SPDX-License-Identifier: Apache-2.0
"""Filters of traces: against noise, and for what the application did and not the network.

The idea is VCCAnalyzer's, which classifies the senders of video: those pause.

**Smoothing** is an exponentially weighted moving average. It changes the trace of every CCA, so the
training set has to be smoothed alike: :func:`smoothed_set`.

**Bridging** replaces what a pause of the application has left in a trace. A queue alone cannot say
why it is short: Vegas and BBR keep it so on purpose, and an application that is slower than the
link does the same. But a sender that has data and is not waiting for a timer sends something in
every round trip, even BBR while it probes for the round trip's length. So a pause is when the queue
is empty and nothing arrives, for longer than a time that is to be given: longer than a round trip,
and than the retransmission timeouts (some tenths of a second) that are not to be bridged. The
valley around it begins with the last arrival before it, after which the queue drains, and ends when
the sender is back at work: when the queue again holds what it held there, or what it usually holds
(the median of the trace outside of pauses) if that is less. From edge to edge the trace becomes a
straight line. A pause after which the queue does not come back within the trace stays as it is, and
so does all that is no pause: an application that is slow without ever stopping is not recognised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import validation
from ccbench.base.arrays import exponential_average
from ccbench.classify.occupancy import STEP_S, occupancy
from ccbench.classify.threshold import chosen_before

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
    """What is done to traces before they are compared; by default nothing.

    Parameters
    ----------
    smooth_s : float, optional
        Time constant of :func:`smoothed`, in seconds.
    bridge_s : float, optional
        The longest time without an arrival that is no pause, for :func:`bridged`, in seconds.

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
        # What is smoother has no shape left, and shorter pauses are a round trip's.
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
            As for :func:`~ccbench.classify.occupancy.occupancy`.

        Raises
        ------
        InputError
            As for :func:`~ccbench.classify.occupancy.occupancy`.
        """
        trace = occupancy(events)
        if self.bridge_s is not None:
            trace = bridged(trace, events, self.bridge_s)
        return trace if self.smooth_s is None else smoothed(trace, self.smooth_s)

    def known(self, known: TrainingSet, settings: Collection[Setting]) -> TrainingSet:
        """Return what such traces of some settings are compared with."""
        if self.smooth_s is None:
            return known
        return smoothed_set(known, self.smooth_s, settings)


#: Traces as they are.
NO_FILTERS = Filters()


def smoothed(trace: npt.ArrayLike, time_constant_s: float) -> npt.NDArray[np.float32]:
    """Return the exponentially weighted moving average of a trace.

    Parameters
    ----------
    trace : array_like, shape (n_points,)
        Packets in a queue, every :data:`~ccbench.classify.occupancy.STEP_S`.
    time_constant_s : float
        After a step, the average has gone 63 % of the way after this time: the weight of a new
        point is ``1 - exp(-STEP_S / time_constant_s)``.

    Returns
    -------
    ndarray, shape (n_points,)
        It begins with the first point.

    Raises
    ------
    InputError
        If the time constant is not above 0, or the trace is no row of numbers.

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
    known: TrainingSet, time_constant_s: float, settings: Collection[Setting] | None = None
) -> TrainingSet:
    """Return a training set for traces that are smoothed.

    Smooth traces are nearer to each other, so the thresholds are found again
    (:func:`~ccbench.classify.threshold.chosen_before`).

    Parameters
    ----------
    known : TrainingSet
        The training set.
    time_constant_s : float
        As for :func:`smoothed`.
    settings : collection of Setting, optional
        Which are needed; the others are left out. By default all.

    Raises
    ------
    InputError
        If the time constant is not above 0, or the training set has no samples of a setting.

    Examples
    --------
    >>> from ccbench.classify.training_set import PACKAGED, TrainingSet
    >>> known = TrainingSet.load(PACKAGED)
    >>> setting = known.settings[-1]
    >>> smooth = smoothed_set(known, 0.2, (setting,))
    >>> smooth.thresholds[setting].distance < known.thresholds[setting].distance
    True
    """
    wanted = known.settings if settings is None else settings
    for setting in wanted:
        names = [one.name for one in known.settings]
        validation.one_of("setting", setting.name, names)
    samples = tuple(
        replace(one, trace=smoothed(one.trace, time_constant_s))
        for one in known.samples
        if one.setting in wanted
    )
    thresholds: dict[Setting, Threshold] = {}
    for setting, threshold in known.thresholds.items():
        own = [one for one in samples if one.setting == setting]
        if own:
            labels = [one.cca for one in own]
            thresholds[setting] = chosen_before(threshold, [one.trace for one in own], labels)
    return replace(known, samples=samples, thresholds=thresholds)


def pauses(events: pd.DataFrame, longest_s: float) -> npt.NDArray[np.int64]:
    """Return when a queue was empty and nothing arrived for longer than a time.

    Parameters
    ----------
    events : DataFrame
        What happened at the queue, in order: columns ``time_ns`` and ``backlog_packets``, as for
        :func:`ccbench.classify.occupancy.occupancy`. An arrival is when the backlog grows.
    longest_s : float
        In seconds; what is no longer is no pause.

    Returns
    -------
    ndarray, shape (n_pauses, 3)
        Of each, in nanoseconds: the last arrival before, since when it is empty, the next arrival.

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
    # From one rise to the next it only falls: it is empty from the first 0 on.
    empty = np.flatnonzero(backlog == 0)
    first = np.searchsorted(empty, before)
    is_there = first < len(empty)
    before, after = before[is_there], after[is_there]
    drained = empty[first[is_there]]
    waits_ns = times_ns[after] - times_ns[drained]
    found = (drained < after) & (waits_ns > longest_s * 1e9)
    return np.stack([times_ns[some[found]] for some in (before, drained, after)], axis=1)


def bridged(
    trace: npt.ArrayLike, events: pd.DataFrame, longest_s: float, *, from_s: float | None = None
) -> npt.NDArray[np.float32]:
    """Return a trace with straight lines where the application paused.

    Parameters
    ----------
    trace : array_like, shape (n_points,)
        What :func:`~ccbench.classify.occupancy.occupancy` gives of the events.
    events : DataFrame
        As for :func:`pauses`.
    longest_s : float
        How long nothing may arrive without that being a pause, in seconds: more than a round trip
        with a full queue, and than timeouts that are not to be bridged.
    from_s : float, optional
        When the trace begins. Left out: with the first packet.

    Raises
    ------
    InputError
        As for :func:`pauses`.
    """
    points = _points(trace)
    first_ns = events["time_ns"].iloc[0] if from_s is None else round(from_s * 1e9)
    places = (pauses(events, longest_s) - first_ns) / (STEP_S * 1e9)
    places = places[(places[:, 2] < len(points)) & (places[:, 0] >= 0)]
    # Of the points, the last before the edge and the first from it on.
    edges = np.stack([np.floor(places[:, 0]), np.ceil(places[:, 2])], axis=1).astype(int)
    is_pause = np.zeros(len(points), dtype=bool)
    for left, right in edges:
        is_pause[left:right] = True
    if is_pause.all():
        return points.astype(np.float32)
    usual = np.median(points[~is_pause])
    line = points.copy()
    for left, right in edges:
        # What it held there: the point before the edge may be an arrival too early.
        held = points[left : left + 2].max()
        back = np.flatnonzero(points[right:] >= min(held, usual))
        if back.size:
            end = right + int(back[0])
            line[left : end + 1] = np.linspace(line[left], points[end], end + 1 - left)
    return line.astype(np.float32)


def _points(trace: npt.ArrayLike) -> npt.NDArray[np.float64]:
    points = np.asarray(trace, dtype=np.float64)
    if points.ndim != 1 or points.size == 0:
        step = "write for example [0, 2, 4]"
        raise validation.bad("trace", trace, "one or more numbers in one dimension", step)
    return points
