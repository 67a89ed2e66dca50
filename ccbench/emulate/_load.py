# SPDX-License-Identifier: Apache-2.0
"""Upper bounds of a scenario's traffic, for estimates of time, memory and records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from ccbench.base.validation import RATE_MBPS
from ccbench.experiment.dynamics import capacity_bytes as capacity
from ccbench.experiment.dynamics import with_events
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.experiment.flow import Flow
    from ccbench.experiment.scenario import Scenario

__all__ = ["Load", "acks", "packets", "samples", "slowest_link", "work_mbit"]

#: Retransmitted packets as a share of the packets that a link carries.
_RETRANSMITTED = 0.2
#: Packets of a TCP flow that are not full-sized: SYN, the ACK of the SYN-ACK, the last data, FIN.
_SMALL_PACKETS = 4
#: ACKs per packet of a receiver that acknowledges every second packet, and those out of order.
_DELAYED_ACKS = 2 / 3
#: Packets at the start of a flow that such a receiver acknowledges one by one, and its delay of the
#: ACK of a single packet.
_QUICK_ACKS = 16
_ACK_DELAY_S = 0.04
#: Samples of a flow at its start and end.
_MIN_SAMPLES = 2
#: Round trips of a flow that ends before it fills the link.
_ROUND_TRIPS = 10
#: Cost of a sample.
_SAMPLE_MBIT = 0.002
#: Time between two writes of an application at a rate, if they are larger than a packet.
_TICK_S = 1e-3
#: Cost of a packet at a link as a share of that of a packet that crosses one link: the rest is
#: that of the hosts.
_LINK_SHARE = 1 / 3
#: Cost of starting a run, expressed as sent data in Mbit.
_START_UP_MBIT = 500.0


@dataclass(frozen=True)
class Load:
    """The traffic of a run, by which its time, memory and records grow.

    Parameters
    ----------
    packets : tuple of float
        Packets that arrive at each bottleneck.
    samples : float
        Samples of flows.
    mtu_bytes : int
        Size of a full packet.
    """

    packets: tuple[float, ...]
    samples: float
    mtu_bytes: int = MTU_BYTES

    @classmethod
    def expected(cls, scenario: Scenario) -> Load:
        """Return the upper bounds of a scenario's traffic."""
        return cls(*_expected(scenario), scenario.path.mtu_bytes)

    @property
    def work_mbit(self) -> float:
        """The work of the run in Mbit sent, including the cost of its start and of samples.

        Hosts send about as many packets as arrive at the busiest link.
        """
        packets = _LINK_SHARE * sum(self.packets) + (1 - _LINK_SHARE) * max(self.packets)
        sent_mbit = packets * self.mtu_bytes * 8e-6
        return _START_UP_MBIT + sent_mbit + self.samples * _SAMPLE_MBIT


@lru_cache(maxsize=512)  # plans, progress and limits of memory all ask for it
def _expected(scenario: Scenario) -> tuple[tuple[float, ...], float]:
    return packets(scenario), samples(scenario)


def packets(scenario: Scenario) -> tuple[float, ...]:
    """Return an upper bound of the number of packets that arrive at each bottleneck.

    UDP flows send their offered load, TCP flows the lower of their offered load and the capacity of
    the slowest link or policer on their path. Flows that are limited by losses send less. Flows
    with optimistic ACKs, which conceal losses, send twice as much as is acknowledged: their window
    grows by each ACK.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=50)
    >>> scenario = Scenario(flows=(Flow(),), path=path, duration_s=10)
    >>> round(packets(scenario)[0])
    12004
    """
    arrivals = []
    scenario = _at_highest_rates(scenario)
    count = len(scenario.path.bottlenecks)
    places = [(flow, *scenario.path.links_of(flow)) for flow in scenario.split_flows]
    for i, link in enumerate(scenario.path.links):
        passing = [flow for flow, first, last in places if first <= i <= last]
        background_mbit = (
            scenario.path.noise.background_share * link.mean_mbps * scenario.duration_s
        )
        background = background_mbit * 1e6 / 8 / scenario.path.mtu_bytes
        acknowledged = [flow for flow in scenario.split_flows if flow.is_reverse != (i >= count)]
        arrivals.append(background + _packets(passing, scenario, i) + _acks(acknowledged, scenario))
    return tuple(arrivals)


def acks(scenario: Scenario) -> float:
    """Return an upper bound of the number of ACKs that both hosts send."""
    scenario = _at_highest_rates(scenario)
    return _acks(scenario.split_flows, scenario)


def samples(scenario: Scenario) -> float:
    """Return an upper bound of the number of samples of flows in a run."""
    interval_s = scenario.sample_interval_ms / 1e3
    return sum(
        flow.flow_count * (_MIN_SAMPLES + _flow_duration_s(flow, scenario) / interval_s)
        for flow in scenario.split_flows
    )


def work_mbit(scenario: Scenario) -> float:
    """Return the expected work of a run; see :attr:`Load.work_mbit`."""
    return Load.expected(scenario).work_mbit


def _at_highest_rates(scenario: Scenario) -> Scenario:
    """Return a scenario whose flows always offer at least what changes let them offer.

    At each change, an application offers its first data at once.
    """
    flows = list(scenario.flows)
    for change in scenario.path.changes:
        if change.flow is None or change.app_rate_mbps is None:
            continue
        group = scenario.group_of(change.flow)
        rate_mbps = flows[group].rate_mbps
        if rate_mbps is not None:
            times = scenario.duration_s / (change.every_s or scenario.duration_s) + 1
            at_once_mbit = times * max(
                change.app_rate_mbps * _TICK_S, scenario.path.mtu_bytes * 8e-6
            )
            at_once_mbps = at_once_mbit / _active_s(flows[group], scenario.duration_s)
            highest_mbps = max(rate_mbps, change.app_rate_mbps) + at_once_mbps
            flows[group] = replace(flows[group], rate_mbps=min(highest_mbps, RATE_MBPS.high))
    return scenario if flows == [*scenario.flows] else replace(scenario, flows=tuple(flows))


def _packets(flows: Sequence[Flow], scenario: Scenario, bottleneck: int) -> float:
    """Return an upper bound of the number of packets that flows send to a link."""
    copies = _copies(scenario, bottleneck)
    unlimited = sum(_unlimited_packets(flow, scenario) for flow in flows)
    arrivals = copies * unlimited
    tcp = [flow for flow in flows if not (KINDS[flow.kind].is_udp or _optimistic_mbps(flow))]
    if tcp:
        by_limit: dict[int, list[Flow]] = {}
        for flow in tcp:
            by_limit.setdefault(slowest_link(flow, scenario), []).append(flow)
        offered = copies * sum(_sent(own, scenario, i) for i, own in by_limit.items())
        arrivals += min(offered, _carried(tcp, scenario, bottleneck)) * (1 + _RETRANSMITTED)
        arrivals += _SMALL_PACKETS * sum(flow.flow_count for flow in tcp)
    return arrivals


def slowest_link(flow: Flow, scenario: Scenario) -> int:
    """Return the number of the link with the least capacity on a flow's path while it sends.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> links = [Bottleneck(bandwidth_mbps=rate, queue_packets=100) for rate in (1000, 10, 1000)]
    >>> path = NetworkPath(bottlenecks=tuple(links), rtt_ms=50)
    >>> scenario = Scenario(flows=(Flow(),), path=path, duration_s=10)
    >>> slowest_link(scenario.flows[0], scenario)
    1
    """
    first, last = scenario.path.links_of(flow)
    links = range(first, last + 1)
    return first if len(links) == 1 else min(links, key=lambda i: _carried([flow], scenario, i))


def _sent(flows: Sequence[Flow], scenario: Scenario, slowest: int) -> float:
    """Return an upper bound of the number of packets of TCP flows with the same slowest link."""
    highest_mbps = scenario.path.highest_mbps(slowest)
    offered = sum(_offered_packets(flow, highest_mbps, scenario) for flow in flows)
    return min(offered, _carried(flows, scenario, slowest) / _copies(scenario, slowest))


def _carried(flows: Sequence[Flow], scenario: Scenario, bottleneck: int) -> float:
    """Return how many full packets a link and its policer let through while flows send."""
    stop_s = max(flow.start_s + _active_s(flow, scenario.duration_s) for flow in flows)
    start_s = min(flow.start_s for flow in flows)
    capacity_bytes = _capacity_bytes(scenario, bottleneck, stop_s)
    capacity_bytes -= _capacity_bytes(scenario, bottleneck, start_s)
    if (policer := scenario.path.links[bottleneck].policer) is not None:
        policed_bytes = policer.rate_mbps * 1e6 / 8 * (stop_s - start_s) + policer.burst_bytes
        capacity_bytes = min(capacity_bytes, policed_bytes)
    return capacity_bytes / scenario.path.mtu_bytes


def _copies(scenario: Scenario, bottleneck: int) -> float:
    """Return the mean number of copies of a packet of the first link that arrive at a link."""
    count = len(scenario.path.bottlenecks)
    before = scenario.path.links[count if bottleneck >= count else 0 : bottleneck + 1]
    return math.prod(1 + (link.duplicates or 0.0) for link in before)


def _optimistic_mbps(flow: Flow) -> float:
    return (flow.receiver.optimistic_mbps if flow.receiver else None) or 0.0


def _unlimited_packets(flow: Flow, scenario: Scenario) -> float:
    """Return the number of packets of flows that no link slows down: UDP and optimistic ACKs."""
    active_s = _active_s(flow, scenario.duration_s)
    if flow.frame_bytes:
        packets = sum(map(flow.frame_packets, flow.frame_bytes)) / len(flow.frame_bytes)
        frames = (flow.frames_per_s or 0.0) * active_s + len(flow.frame_bytes)
        return flow.count * frames * packets
    if KINDS[flow.kind].is_udp:
        return flow.count * (flow.rate_mbps or 0.0) * 1e6 / 8 * active_s / flow.packet_bytes
    # In slow start, each ACK makes room for a packet more.
    acknowledged = (
        flow.count * _optimistic_mbps(flow) * 1e6 / 8 * active_s / scenario.path.mtu_bytes
    )
    return 2 * acknowledged + (_SMALL_PACKETS * flow.count if acknowledged else 0)


def _capacity_bytes(scenario: Scenario, bottleneck: int, until_s: float) -> float:
    """Return the capacity of a link, if the highest rate after an event applies from the start."""
    rates = [
        (change.bandwidth_mbps or 0, i)
        for i, change in enumerate(scenario.path.changes)
        if change.when is not None and change.bottleneck == bottleneck
    ]
    highest_mbps, index = max(rates, default=(0, 0))
    events = [(index, 0.0)] if highest_mbps > scenario.path.links[bottleneck].mean_mbps else []
    return capacity(with_events(scenario, events), bottleneck, until_s)


def _acks(flows: Sequence[Flow], scenario: Scenario) -> float:
    """Return an upper bound of the number of ACKs that flows of the other direction cause.

    Receivers acknowledge every second packet, or each, and add those of `extra_acks`. ACKs are sent
    whether the links on their way can carry them or not.
    """
    tcp = [flow for flow in flows if not KINDS[flow.kind].is_udp]
    return sum(
        _acks_after(
            [flow for flow in tcp if scenario.path.links_of(flow)[1] == last], scenario, last
        )
        for last in {scenario.path.links_of(flow)[1] for flow in tcp}
    )


def _acks_after(flows: Sequence[Flow], scenario: Scenario, last: int) -> float:
    """Return an upper bound of the number of ACKs of flows that end after a link."""
    by_factor: dict[int, list[Flow]] = {}
    for flow in flows:
        extra_acks = flow.receiver.extra_acks if flow.receiver else 0
        by_factor.setdefault(1 + extra_acks, []).append(flow)
    each = sum(factor * _single_acks(own, scenario, last) for factor, own in by_factor.items())
    return min(each, max(by_factor) * _single_acks(flows, scenario, last))


def _single_acks(flows: Sequence[Flow], scenario: Scenario, last: int) -> float:
    """Return an upper bound of the number of ACKs of flows, without additional ones."""
    arrivals = _packets(flows, scenario, last)
    if any(flow.acks == "every" or _optimistic_mbps(flow) for flow in flows):
        return arrivals
    timers = sum(
        flow.flow_count * (_QUICK_ACKS + _flow_duration_s(flow, scenario) / _ACK_DELAY_S)
        for flow in flows
    )
    return min(arrivals, arrivals * _DELAYED_ACKS + timers)


def _offered_packets(flow: Flow, highest_mbps: float, scenario: Scenario) -> float:
    """Return the offered load of a group of TCP flows in full-sized packets."""
    mss_bytes = scenario.path.mss_bytes
    if flow.arrivals:
        return sum(size_bytes for _, size_bytes in flow.arrivals) / mss_bytes
    if flow.size_bytes is not None:
        return flow.count * flow.size_bytes / mss_bytes
    active_s = _active_s(flow, scenario.duration_s)
    mbps = flow.rate_mbps
    if flow.bitrates_mbps and flow.buffer_s is not None:
        mbps = flow.bitrates_mbps[-1]
        active_s += flow.buffer_s
    if mbps is not None:
        return flow.count * mbps * 1e6 / 8 * active_s / mss_bytes
    if flow.on_s is None or flow.off_s is None:
        return math.inf
    periods, rest_s = divmod(active_s, flow.on_s + flow.off_s)
    on_s = periods * flow.on_s + min(rest_s, flow.on_s)
    return flow.count * highest_mbps * 1e6 / 8 * on_s / scenario.path.mtu_bytes


def _flow_duration_s(flow: Flow, scenario: Scenario) -> float:
    """Return the estimated duration of each of a group's flows in seconds.

    A flow of limited size is assumed to take twice the sum of ten round trips, its transmission at
    a tenth of the slowest link's rate, and the backlog of the group.
    """
    active_s = _active_s(flow, scenario.duration_s)
    payload_bytes, arrival_span_s = 0.0, 0.0
    if flow.connections is not None:
        return active_s
    if flow.arrivals:
        payload_bytes = sum(size_bytes for _, size_bytes in flow.arrivals)
        arrival_span_s = flow.arrivals[-1][0] - flow.arrivals[0][0]
    elif flow.size_bytes is not None:
        payload_bytes = flow.count * flow.size_bytes
    if not payload_bytes:
        return active_s
    slowest_mbps = min(link.mean_mbps for link in scenario.path.links)
    transmission_s = payload_bytes * 8e-6 / slowest_mbps
    round_trips_s = _ROUND_TRIPS * (scenario.path.longest_rtt_ms + flow.extra_rtt_ms) / 1e3
    backlog_s = max(0.0, transmission_s - arrival_span_s)
    return min(active_s, 2 * (round_trips_s + 10 * transmission_s / flow.flow_count + backlog_s))


def _active_s(flow: Flow, duration_s: float) -> float:
    return (duration_s if flow.stop_s is None else flow.stop_s) - flow.start_s
