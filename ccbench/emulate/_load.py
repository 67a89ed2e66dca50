# SPDX-License-Identifier: Apache-2.0
"""Upper bounds of a scenario's traffic, by which time, memory and records are estimated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.experiment.scenario import MSS_BYTES, MTU_BYTES

if TYPE_CHECKING:
    from ccbench.experiment.flow import Flow
    from ccbench.experiment.scenario import Bottleneck, Scenario

__all__ = ["packets", "samples", "work_mbit"]

#: Packets sent again, as a share of those that a link carries.
_SENT_AGAIN = 0.2
#: Packets of a TCP flow besides full ones: SYN, the ACK that answers the receiver's, the last data,
#: FIN.
_SMALL_PACKETS = 4
#: A flow is sampled when it starts, and when it ends.
_FEWEST_SAMPLES = 2
#: Round trips of a flow that ends before it fills the link.
_ROUND_TRIPS = 10
#: What it costs to start a run, as so many Mbit sent.
_START_UP_MBIT = 500.0


def packets(scenario: Scenario) -> tuple[float, ...]:
    """Return about how many packets arrive at each bottleneck at most.

    UDP flows send what they offer, TCP flows that or what the link carries. Where losses keep them
    from that, it is too much.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, Scenario
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
    >>> scenario = Scenario(flows=(Flow(),), bottlenecks=(link,), rtt_ms=50, duration_s=10)
    >>> round(packets(scenario)[0])
    12004
    """
    arrive = []
    for i, link in enumerate(scenario.bottlenecks):
        joined = [flow for flow in scenario.flows if flow.first_bottleneck <= i]
        passing = [f for f in joined if f.last_bottleneck is None or f.last_bottleneck >= i]
        background_mbit = scenario.noise.background_share * link.mean_mbps * scenario.duration_s
        background = background_mbit * 1e6 / 8 / MTU_BYTES
        arrive.append(background + _packets(passing, link, scenario.duration_s))
    return tuple(arrive)


def samples(scenario: Scenario) -> float:
    """Return about how many samples of flows a run has at most."""
    interval_s = scenario.sample_interval_ms / 1e3
    return sum(
        flow.flow_count * (_FEWEST_SAMPLES + _lasts_s(flow, scenario) / interval_s)
        for flow in scenario.flows
    )


def work_mbit(scenario: Scenario) -> float:
    """Return what a run costs in time where that goes by packets: so many Mbit sent.

    A start counts as some, too.
    """
    return _START_UP_MBIT + sum(packets(scenario)) * MTU_BYTES * 8e-6


def _packets(flows: list[Flow], link: Bottleneck, duration_s: float) -> float:
    """Return how many packets of some flows arrive at a link."""
    arrive = 0.0
    tcp = [flow for flow in flows if not flow.is_udp]
    for flow in flows:
        if flow.rate_mbps is not None and flow.is_udp:
            sent_bytes = flow.count * flow.rate_mbps * 1e6 / 8 * _active_s(flow, duration_s)
            arrive += sent_bytes / flow.packet_bytes
    if tcp:
        stop_s = max(flow.start_s + _active_s(flow, duration_s) for flow in tcp)
        start_s = min(flow.start_s for flow in tcp)
        carried_bytes = link.capacity_bytes(stop_s) - link.capacity_bytes(start_s)
        offered = sum(_offered_packets(flow, link, duration_s) for flow in tcp)
        arrive += min(offered, carried_bytes / MTU_BYTES) * (1 + _SENT_AGAIN)
        arrive += _SMALL_PACKETS * sum(flow.flow_count for flow in tcp)
    return arrive


def _offered_packets(flow: Flow, link: Bottleneck, duration_s: float) -> float:
    """Return how many full packets a group of TCP flows would send over a link."""
    if flow.arrivals:
        return sum(size_bytes for _, size_bytes in flow.arrivals) / MSS_BYTES
    if flow.size_bytes is not None:
        return flow.count * flow.size_bytes / MSS_BYTES
    active_s = _active_s(flow, duration_s)
    mbps = flow.rate_mbps
    if flow.bitrates_mbps and flow.buffer_s is not None:
        mbps = flow.bitrates_mbps[-1]
        active_s += flow.buffer_s
    if mbps is not None:
        return flow.count * mbps * 1e6 / 8 * active_s / MSS_BYTES
    if flow.on_s is None or flow.off_s is None:
        return math.inf
    periods, rest_s = divmod(active_s, flow.on_s + flow.off_s)
    on_s = periods * flow.on_s + min(rest_s, flow.on_s)
    return flow.count * link.mean_mbps * 1e6 / 8 * on_s / MTU_BYTES


def _lasts_s(flow: Flow, scenario: Scenario) -> float:
    """Return how long each of a group's flows lasts, in seconds.

    One that sends some bytes is taken to need twice what ten round trips, a tenth of the link and
    those before it take.
    """
    active_s = _active_s(flow, scenario.duration_s)
    payload_bytes, came_within_s = 0.0, 0.0
    if flow.connections is not None:
        return active_s
    if flow.arrivals:
        payload_bytes = sum(size_bytes for _, size_bytes in flow.arrivals)
        came_within_s = flow.arrivals[-1][0] - flow.arrivals[0][0]
    elif flow.size_bytes is not None:
        payload_bytes = flow.count * flow.size_bytes
    if not payload_bytes:
        return active_s
    slowest_mbps = min(link.mean_mbps for link in scenario.bottlenecks)
    all_s = payload_bytes * 8e-6 / slowest_mbps
    round_trips_s = _ROUND_TRIPS * (scenario.rtt_ms + flow.extra_rtt_ms) / 1e3
    waits_s = max(0.0, all_s - came_within_s)
    return min(active_s, 2 * (round_trips_s + 10 * all_s / flow.flow_count + waits_s))


def _active_s(flow: Flow, duration_s: float) -> float:
    return (duration_s if flow.stop_s is None else flow.stop_s) - flow.start_s
