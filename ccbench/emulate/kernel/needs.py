# SPDX-License-Identifier: Apache-2.0
"""Memory, scratch space and work of a run in the virtual kernel.

The constants were measured; ``tests/kernel/test_resources.py`` compares them with actual runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.emulate._load import Load, slowest_link
from ccbench.emulate.kernel.boot import shared
from ccbench.emulate.kernel.boot.plan import in_flight_packets, path_packets, unread_packets
from ccbench.emulate.kernel.boot.results import EVENTS_AT_ONCE
from ccbench.emulate.resources import Needs
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.qdiscs import QDISCS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.experiment.flow import Flow
    from ccbench.experiment.scenario import Scenario

__all__ = ["needs"]

#: Memory of a guest: constant, with huge pages, per packet on the path and per flow, in bytes.
_GUEST_BYTES = 16e6
_GUEST_PACKET_BYTES = 1200
#: The same per background packet: it has its own payload, while packets of flows share a page.
_BACKGROUND_PACKET_BYTES = 2400
_GUEST_FLOW_BYTES = 8192
#: The same per packet that a slow receiver has not read; Linux merges those in sequence.
_UNREAD_PACKET_BYTES = 200

#: Memory for reading the records: constant, per sample, other record and flow, in bytes.
_READER_BYTES = 24e6
_SAMPLE_BYTES = 300
_OTHER_BYTES = 160
_FLOW_BYTES = 1000
#: The same per event of the log: it is read in parts, and the columns of at most two are in memory.
_EVENT_BYTES = 120
_READ_EVENTS = 2 * EVENTS_AT_ONCE
#: What the run keeps per event, which is encoded, and per sample.
_RUN_EVENT_BYTES = 6
_RUN_SAMPLE_BYTES = 130

#: Size of files other than records, such as the plan and the console, in bytes.
_SMALL_FILES_BYTES = 64e3

#: Queues of a qdisc for L4S: classic, L4S and both together.
_QUEUES_OF_L4S = 3

#: Small packets in the place of a full packet, where a limit is not in packets.
_SMALL_PER_FULL_PACKET = 25

#: Events per packet: it is enqueued, and dequeued or dropped.
_EVENTS_PER_PACKET = 2


def _bytes(record: str) -> int:
    return shared.structure(record).itemsize


def needs(scenario: Scenario, load: Load | None = None) -> Needs:
    """Return the resources of a run; of the guest's memory only the part in use counts.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    load : Load, optional
        Its traffic; by default the upper bounds.
    """
    load = load or Load.expected(scenario)
    flows = scenario.flow_count
    share = scenario.path.noise.background_share
    larger = max(1.0, scenario.path.mtu_bytes / MTU_BYTES)
    packet_bytes = (1 - share) * _GUEST_PACKET_BYTES + share * _BACKGROUND_PACKET_BYTES * larger
    guest_bytes = _GUEST_BYTES + packet_bytes * _path_packets(scenario) + _GUEST_FLOW_BYTES * flows
    guest_bytes += _UNREAD_PACKET_BYTES * unread_packets(scenario)
    logged = _EVENTS_PER_PACKET * sum(load.packets) if scenario.queue_log is True else 0.0
    event_bytes = min(logged, _READ_EVENTS) * _EVENT_BYTES + logged * _RUN_EVENT_BYTES
    sampled = load.samples
    other = _other_records(scenario, load)
    is_log = event_bytes > sampled * _SAMPLE_BYTES
    return Needs(
        running_bytes=guest_bytes,
        shared_bytes=guest_bytes,
        reading_bytes=_READER_BYTES
        + event_bytes
        + sampled * _SAMPLE_BYTES
        + other * _OTHER_BYTES
        + flows * _FLOW_BYTES,
        result_bytes=logged * _RUN_EVENT_BYTES + sampled * _RUN_SAMPLE_BYTES,
        scratch_bytes=_SMALL_FILES_BYTES
        + logged * _bytes("queue_record")
        + sampled * _bytes("flow_record")
        + other * max(_bytes("batch_record"), _bytes("qdisc_record")),
        work=load.work_mbit,
        running_remedy="shorten the queues or the RTT, or start fewer flows",
        reading_remedy='set queue_log = "summary", or lower duration_s or the bandwidth'
        if is_log
        else "raise sample_interval_ms, or lower duration_s or the number of flows",
    )


def _path_packets(scenario: Scenario) -> float:
    """Return the maximum number of packets of a run on the path and in its queues.

    At most twice the packets that fill a slow link and its queue are underway: a window in slow
    start doubles until the first loss is known. Faster links on the path hold none besides.
    """
    whole = path_packets(scenario)
    if any(flow.is_udp or flow.receiver for flow in scenario.flows):
        return whole
    slow = {link for flow in scenario.split_flows for link in _slow_links(flow, scenario)}
    data = 2 * sum(
        in_flight_packets(scenario, scenario.path.highest_mbps(link))
        + scenario.path.longest_queue(link)
        for link in slow
    )
    others = set(range(len(scenario.path.links))) - slow
    return min(whole, data + sum(min(scenario.path.longest_queue(link), data) for link in others))


def _slow_links(flow: Flow, scenario: Scenario) -> Iterator[int]:
    """Yield the links on a flow's path that may be the slowest at some time."""
    first, last = scenario.path.links_of(flow)
    slowest_mbps = scenario.path.highest_mbps(slowest_link(flow, scenario))
    for i in range(first, last + 1):
        link = scenario.path.links[i]
        is_constant = link.bandwidth_mbps is not None and all(
            change.bottleneck != i for change in scenario.path.changes
        )
        if not (is_constant and link.mean_mbps > slowest_mbps):
            yield i


def _other_records(scenario: Scenario, load: Load) -> float:
    """Return the maximum number of records of summaries, qdiscs, connections and batches."""
    times = scenario.duration_s * 1e3 / scenario.sample_interval_ms
    number = times * sum(flow.count for flow in scenario.flows if flow.subflows)
    for i, bottleneck in enumerate(scenario.path.links):
        qdisc = QDISCS.get(bottleneck.qdisc)
        has_statistics = bool(qdisc and qdisc.statistics)
        number += times * has_statistics
        if scenario.queue_log == "summary":
            # A qdisc with statistics has two queues, each of which has samples of its own.
            queues = _QUEUES_OF_L4S if has_statistics else 1
            small = 1 if qdisc is None or qdisc.limit == "packets" else _SMALL_PER_FULL_PACKET
            number += queues * (small * scenario.path.longest_queue(i) + times)
    for bottleneck, arrived in zip(scenario.path.links, load.packets, strict=True):
        if bottleneck.wifi is not None:
            batch_ms = sum(bottleneck.wifi.overhead_ms) / 2
            number += min(arrived, scenario.duration_s * 1e3 / batch_ms if batch_ms else arrived)
    return number
