# SPDX-License-Identifier: Apache-2.0
"""Samples from qlogs: congestion windows, RTTs and data in flight of QUIC connections.

A qlog in the format JSON-SEQ (``.sqlog``) has an event per line; ``metrics_updated`` has the state
of the congestion control (draft-ietf-quic-qlog-main-schema and -quic-events, versions 0.3 and 0.4).
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

__all__ = ["samples"]

#: Metrics of events, the columns of flows for them, and their units.
_METRICS = {
    "congestion_window": ("cwnd_packets", "bytes"),
    "bytes_in_flight": ("inflight_packets", "bytes"),
    "ssthresh": ("ssthresh_packets", "bytes"),
    "smoothed_rtt": ("srtt_us", "rtt"),
    "min_rtt": ("min_rtt_us", "rtt"),
    "pacing_rate": ("pacing_rate_bps", "bps"),
}

#: Sizes from this one on stand for no limit.
_NO_LIMIT_BYTES = 2**40

_METRICS_EVENT, _SENT_EVENT = b"metrics_updated", b"packet_sent"
_LENGTH = re.compile(rb'"length": ?(\d+)')

#: Times from this one on, in milliseconds since 1970, are those of a clock of the day: 2001.
_FIRST_DAY_MS = 978_307_200_000

#: Size of a full datagram, if the qlog has no packet.
_DATAGRAM_BYTES = 1200


def samples(
    lines: Iterable[bytes],
    times_ns: npt.NDArray[np.int64],
    *,
    start_ns: int,
    day_ns: int,
    rtt_ms: float = 1.0,
) -> dict[str, npt.NDArray[np.float64]] | None:
    """Return the state of a connection at some times, by the names of columns of flows.

    The state is that of the last event until then, and NaN before the first. Numbers of packets
    are those of the largest sent so far and later, as windows are in bytes.

    Parameters
    ----------
    lines : iterable of bytes
        The qlog. An incomplete line at its end, of a program that was stopped, is ignored.
    times_ns : ndarray
        The times, sorted.
    start_ns : int
        Start of the connection on the same clock, if times in the qlog are relative to it.
    day_ns : int
        Start of that clock in nanoseconds since 1970, if they are those of the day.
    rtt_ms : float
        Unit of RTTs in milliseconds, where a program deviates from the drafts.

    Returns
    -------
    dict or None
        None if the qlog has no such event.

    Examples
    --------
    >>> event = b'{"time": 5, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": 40.5}}'
    >>> times_ns = np.array([0, 10_000_000])
    >>> samples([event], times_ns, start_ns=0, day_ns=0)["srtt_us"]
    array([   nan, 40500.])
    """
    state = dict.fromkeys(_METRICS, np.nan)
    columns = {name: np.full(len(times_ns), np.nan) for name in _METRICS}
    reference_ms, at, datagram_bytes, has_events = 0.0, 0, 0, False
    for line in lines:
        if _METRICS_EVENT in line:
            if (event := _parsed(line)) is None:
                continue
            time_ns = _time_ns(reference_ms + float(event["time"]), start_ns, day_ns)
            while at < len(times_ns) and times_ns[at] < time_ns:
                _set(columns, at, state)
                at += 1
            state.update((name, event["data"][name]) for name in _METRICS if name in event["data"])
            has_events = True
        elif _SENT_EVENT in line:
            # Those of frames are shorter than that of their packet.
            datagram_bytes = max([datagram_bytes, *map(int, _LENGTH.findall(line))])
        elif b"reference_time" in line:
            reference_ms = _reference_ms(_parsed(line) or {})
    if not has_events:
        return None
    for i in range(at, len(times_ns)):
        _set(columns, i, state)
    return _in_units(columns, datagram_bytes or _DATAGRAM_BYTES, rtt_ms)


def _set(
    columns: Mapping[str, npt.NDArray[np.float64]], at: int, state: Mapping[str, float]
) -> None:
    for name, value in state.items():
        columns[name][at] = value


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        parsed: dict[str, Any] = json.loads(line.lstrip(b"\x1e"))
    except ValueError:  # the last line of a program that was stopped
        return None
    return parsed


def _reference_ms(header: Mapping[str, Any]) -> float:
    """Return the time to which those of events are relative; 0 if it is the connection's start."""
    trace = header.get("trace") or {}
    reference = (trace.get("common_fields") or {}).get("reference_time", 0)
    if isinstance(reference, dict):
        text = str(reference.get("wall_clock_time") or reference.get("epoch") or "")
        try:
            return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1e3
        except ValueError:
            return 0.0
    return float(reference)


def _time_ns(time_ms: float, start_ns: int, day_ns: int) -> float:
    return time_ms * 1e6 + (start_ns if time_ms < _FIRST_DAY_MS else -day_ns)


def _in_units(
    columns: Mapping[str, npt.NDArray[np.float64]], datagram_bytes: int, rtt_ms: float
) -> dict[str, npt.NDArray[np.float64]]:
    found = {}
    for name, (column, unit) in _METRICS.items():
        values = columns[name]
        if unit == "bytes":
            values = np.round(np.where(values < _NO_LIMIT_BYTES, values, np.nan) / datagram_bytes)
        elif unit == "rtt":
            values = values * rtt_ms * 1e3
        found[column] = values
    return found
