# SPDX-License-Identifier: Apache-2.0
"""The path of a scenario over time: its delays and the capacity of its links.

Changes after events count only once the events are known: see :func:`with_events`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ccbench.experiment.change import Change
    from ccbench.experiment.scenario import Scenario

__all__ = [
    "capacities_bytes",
    "capacity_bytes",
    "delays_ms",
    "is_split",
    "occurrences",
    "on_link_ns",
    "with_events",
]

#: A change at time 0 is not possible.
_EARLIEST_S = 1e-9


def with_events(scenario: Scenario, events: Iterable[tuple[int, float]]) -> Scenario:
    """Return a scenario with changes at the times at which they occurred instead of `when`.

    Parameters
    ----------
    scenario : Scenario
        A scenario with changes after events.
    events : iterable of (int, float)
        Index of the change, and time in seconds, of each occurrence of such a change.

    Examples
    --------
    >>> from ccbench import Bottleneck, Change, Flow, NetworkPath, Scenario, When
    >>> link = Bottleneck(bandwidth_mbps=8, queue_packets=9)
    >>> changes = (Change(when=When(flow=0, packet=50), rtt_ms=9),)
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=20, changes=changes)
    >>> scenario = Scenario(flows=(Flow(),), path=path, duration_s=6)
    >>> [change.at_s for change in with_events(scenario, [(0, 1.5)]).path.changes]
    [1.5]
    """
    changes = [change for change in scenario.path.changes if change.when is None]
    for index, time_s in events:
        at_s = max(time_s, _EARLIEST_S)
        if at_s < scenario.duration_s:
            change = scenario.path.changes[index]
            changes.append(replace(change, at_s=at_s, when=None, after_s=None, every_s=None))
    return replace(scenario, path=replace(scenario.path, changes=tuple(changes)))


def occurrences(scenario: Scenario) -> list[tuple[float, Change]]:
    """Return the changes of the path in order of time, each as often as it occurs.

    Examples
    --------
    >>> from ccbench import Bottleneck, Change, Flow, NetworkPath, Scenario
    >>> link = Bottleneck(bandwidth_mbps=8, queue_packets=9)
    >>> changes = (Change(at_s=2, every_s=2, rtt_ms=9), Change(at_s=3, bandwidth_mbps=4))
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=20, changes=changes)
    >>> [time for time, _ in occurrences(Scenario(flows=(Flow(),), path=path, duration_s=6))]
    [2.0, 3.0, 4.0]
    """
    times = (
        (time_s, change)
        for change in scenario.path.changes
        for time_s in change.times_s(scenario.duration_s)
    )
    return sorted(times, key=lambda pair: pair[0])


def delays_ms(
    scenario: Scenario, at_s: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the base RTT, and its part on the way to the receiving host, at some times.

    If the scenario does not split the RTT, half of it counts as this part.
    """
    times_s, bases_ms, forwards_ms = (
        [0.0],
        [scenario.path.rtt_ms],
        [scenario.path.forward_delay_ms or 0.0],
    )
    for time_s, change in occurrences(scenario):
        if change.changes_delay:
            times_s.append(time_s)
            bases_ms.append(change.rtt_ms or bases_ms[-1])
            given = change.forward_delay_ms
            forwards_ms.append(forwards_ms[-1] if given is None else given)
    trace = scenario.path.rtt_trace
    rtts_ms = _at(times_s, bases_ms, at_s) if trace is None else trace.at(at_s)
    return rtts_ms, _at(times_s, forwards_ms, at_s) if is_split(scenario) else rtts_ms / 2


def is_split(scenario: Scenario) -> bool:
    """Return whether a scenario says which part of the RTT is on the way to the receiver."""
    given = (scenario.path.forward_delay_ms, *(c.forward_delay_ms for c in scenario.path.changes))
    return any(delay_ms is not None for delay_ms in given)


def _at(
    times: list[float], values: list[float], at: npt.NDArray[np.float64] | npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the values, of which each holds from its time on, at some times."""
    if len(times) == 1:  # avoids a search for each of millions of packets
        return np.broadcast_to(np.float64(values[0]), at.shape)
    found: npt.NDArray[np.float64] = np.array(values)[np.searchsorted(times, at, side="right") - 1]
    return found


def on_link_ns(
    scenario: Scenario,
    bottleneck: int,
    ip_bytes: npt.NDArray[np.int64],
    at_ns: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Return the time on a link of packets that leave its queue at some times.

    It is 0 on links without a constant rate, where that of single packets is unknown.
    """
    link = scenario.path.links[bottleneck]
    if link.bandwidth_mbps is None:
        return np.zeros(at_ns.size)
    times_ns, mbps, ups_ns = [0.0], [link.bandwidth_mbps], [0.0]
    for time_s, change in occurrences(scenario):
        if change.bottleneck == bottleneck:
            times_ns.append(time_s * 1e9)
            mbps.append(change.bandwidth_mbps or mbps[-1])
            outage_ns = (change.outage_s or 0) * 1e9
            ups_ns.append(max(ups_ns[-1], times_ns[-1]) + outage_ns if outage_ns else ups_ns[-1])
    waits_ns = np.maximum(_at(times_ns, ups_ns, at_ns) - at_ns, 0)
    sends_ns = link.bytes_on_link(ip_bytes) * 8e3 / _at(times_ns, mbps, at_ns)
    return waits_ns + sends_ns


def capacity_bytes(scenario: Scenario, bottleneck: int, until_s: float) -> float:
    """Return the capacity of a link from the start to a time, in IP bytes.

    Examples
    --------
    1 MB/s for 2 s, then half as much for 4 s, of which an outage takes one:

    >>> from ccbench import Bottleneck, Change, Flow, NetworkPath, Scenario
    >>> link = Bottleneck(bandwidth_mbps=8, queue_packets=9)
    >>> changes = (Change(at_s=2, bandwidth_mbps=4), Change(at_s=3, outage_s=1))
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=20, changes=changes)
    >>> capacity_bytes(Scenario(flows=(Flow(),), path=path, duration_s=6), 0, 6)
    3500000.0
    """
    return float(capacities_bytes(scenario, bottleneck, [until_s])[0])


def capacities_bytes(
    scenario: Scenario, bottleneck: int, until_s: Sequence[float]
) -> npt.NDArray[np.float64]:
    """Return :func:`capacity_bytes` at several times."""
    link = scenario.path.links[bottleneck]
    periods = list(_periods(scenario, bottleneck, max(until_s)))
    if link.bandwidth_mbps is None or len(periods) == 1:
        return np.array([link.capacity_bytes(time_s) for time_s in until_s])
    starts_s, ends_s, mbps = np.array(periods).T
    edges_s = np.stack([starts_s, ends_s], axis=1).ravel()
    sent_mbit = np.cumsum(mbps * (ends_s - starts_s))
    edges_mbit = np.stack([sent_mbit - mbps * (ends_s - starts_s), sent_mbit], axis=1).ravel()
    carried_mbit: npt.NDArray[np.float64] = np.interp(until_s, edges_s, edges_mbit)
    return carried_mbit * 1e6 / 8


def _periods(
    scenario: Scenario, bottleneck: int, until_s: float
) -> Iterator[tuple[float, float, float]]:
    """Yield begin, end and rate in Mbit/s of each period of constant rate."""
    now_s, up_s, mbps = 0.0, 0.0, scenario.path.links[bottleneck].mean_mbps
    own = [(time_s, c) for time_s, c in occurrences(scenario) if c.bottleneck == bottleneck]
    for time_s, change in [*own, (until_s, None)]:
        start_s = min(max(now_s, up_s), until_s)
        end_s = min(max(time_s, start_s), until_s)
        yield start_s, end_s, mbps
        now_s = time_s
        if change is not None:
            mbps = change.bandwidth_mbps or mbps
            if change.outage_s is not None:
                up_s = max(up_s, time_s) + change.outage_s
