# SPDX-License-Identifier: Apache-2.0
"""Traces of recordings: the part that is compared, and how it shows the connection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation
from ccbench.classify.in_flight import in_flight
from ccbench.classify.measurements import measured_events
from ccbench.classify.occupancy import DURATION_S, STEP_S, occupancy
from ccbench.classify.trace import QueueTrace
from ccbench.classify.view import View
from ccbench.classify.windows import NETWORKS

if TYPE_CHECKING:
    from ccbench.classify.filters import Filters
    from ccbench.classify.recording import Recording
    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet

__all__ = ["LEAST_S", "observed"]

#: Least length of a recording in seconds, unless it begins with the connection.
LEAST_S = 10
#: Largest number of parts of one connection.
_MOST_PARTS = 3
#: Largest window after one round-trip time of a connection that starts: twice the initial window of
#: Linux and some more; at most this share of what path and queue hold.
_INITIAL_PACKETS, _INITIAL_SHARE = 30, 0.5


def observed(
    recording: Recording,
    filters: Filters,
    training_set: TrainingSet,
    *,
    trains: bool = False,
) -> QueueTrace:
    """Return the trace of a recording.

    A recording of a queue that begins with the connection, in a setting of the training set, is
    compared as in the thesis. Any other one is compared in up to three parts of 20 s, if the
    training set has parts of connections.

    Parameters
    ----------
    recording : Recording
    filters : Filters
    training_set : TrainingSet
        The training set that will judge the trace.
    trains : bool
        Whether the training set will be trained for the setting of the recording.

    Raises
    ------
    InputError
        If the recording is too short, or its network is outside the range of the training set.
    """
    events, setting = recording.events, recording.setting
    if filters.bridge_s is not None or not training_set.has_windows:
        return filters.of_length_of(training_set).trace(events, setting)
    is_exact = not recording.source and recording.interval_s <= STEP_S and not recording.average_s
    is_whole = not filters.skip_s and filters.duration_s in {None, training_set.duration_s}
    length_s = _length_s(recording) - filters.skip_s
    is_long = length_s >= training_set.duration_s - STEP_S
    is_known = (trains or setting in training_set.settings) and is_long
    is_from_start = not filters.skip_s and _starts(recording)
    if is_exact and is_whole and is_known and is_from_start:
        return filters.of_length_of(training_set).trace(events, setting)
    _check_network(recording)
    return _in_parts(recording, filters, length_s, is_from_start=is_from_start)


def _in_parts(
    recording: Recording, filters: Filters, length_s: float, *, is_from_start: bool
) -> QueueTrace:
    """Return a trace of up to three parts."""
    events, setting = recording.events, recording.setting
    step_s = max(STEP_S, round(recording.interval_s, 6))
    if filters.duration_s is not None:
        in_training = validation.Range(LEAST_S, DURATION_S)
        validation.number("duration_s", filters.duration_s, in_training, example=DURATION_S)
    part_s = filters.duration_s or min(DURATION_S, math.floor(length_s + STEP_S))
    if part_s < LEAST_S or length_s < part_s - step_s:
        allowed = f"at least {max(part_s, LEAST_S):g} s"
        length = f"{max(0.0, length_s):.3g} s"
        raise validation.bad(f"trace of {recording.name}", length, allowed, "record for longer")
    view = View(
        from_start=is_from_start,
        length_s=part_s,
        step_s=step_s,
        average_s=recording.average_s,
        is_estimated=bool(recording.source),
    )
    first_s = float(np.asarray(events["time_ns"])[0]) / 1e9 + filters.skip_s
    count = 1 if filters.duration_s else max(1, min(_MOST_PARTS, int(length_s // part_s)))
    later = View(
        from_start=False,
        length_s=part_s,
        step_s=step_s,
        average_s=recording.average_s,
        is_estimated=view.is_estimated,
    )
    measured = [
        measured_events(
            events, setting, from_s=first_s + part * part_s, view=later if part else view
        )
        for part in range(count)
    ]
    if not len(measured[0]):
        allowed = "a recording of at least 12 round-trip times"
        raise validation.bad("trace", recording.name, allowed, "record for longer")
    return QueueTrace(
        setting=setting,
        points=occupancy(events, from_s=first_s, duration_s=part_s),
        measured=measured[0],
        view=view,
        later=tuple(measured[1:]),
    )


def _length_s(recording: Recording) -> float:
    times_ns = np.asarray(recording.events["time_ns"])
    return float(times_ns[-1] - times_ns[0]) / 1e9 if len(times_ns) else 0.0


def _starts(recording: Recording) -> bool:
    """Return whether a recording begins with the connection, by its window if it does not say.

    After one round-trip time, a connection that starts has at most some tens of packets in flight.
    """
    if recording.is_from_start is not None:
        return recording.is_from_start
    events, setting = recording.events, recording.setting
    rtt_s = max(setting.rtt_ms / 1e3, STEP_S)
    waiting = np.asarray(events["backlog_packets"])
    if _length_s(recording) < 3 * rtt_s or waiting[0] > _initial(setting):
        return False
    span: dict[str, Any] = {"duration_s": max(2 * rtt_s, 2 * STEP_S)}
    window = in_flight(events, setting, **span)
    second = window[len(window) // 2 :]
    return bool(np.mean(second) <= _initial(setting))


def _initial(setting: Setting) -> float:
    return min(_INITIAL_PACKETS, _INITIAL_SHARE * setting.capacity_packets)


def _check_network(recording: Recording) -> None:
    """Check that the training set has similar networks."""
    setting = recording.setting
    product = setting.capacity_packets - setting.queue_packets
    for name, value, (low, high), unit in (
        ("RTT", setting.rtt_ms, NETWORKS.rtts_ms, " ms"),
        ("bandwidth-delay product", product, NETWORKS.products, " packets"),
        ("queue", setting.queue_packets / product, NETWORKS.queues, " bandwidth-delay products"),
    ):
        if not low <= value <= high:
            allowed = f"{low:g} to {high:g}{unit} in the packaged training set"
            step = "record on another path, or train for it: --kernel 6.12"
            shown = float(f"{value:.3g}")
            raise validation.bad(f"{name} of {recording.name}", shown, allowed, step)
