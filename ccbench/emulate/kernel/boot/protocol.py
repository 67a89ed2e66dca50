# SPDX-License-Identifier: Apache-2.0
"""Descriptions of path and traffic for the guest, in the formats of ``ccbench.h``.

Lookups in the store encode thousands of scenarios, so this module avoids pandas, whose tables take
milliseconds each.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.emulate.kernel.boot import hosts, shared
from ccbench.experiment.flow import ACKS, ECN_FIELDS
from ccbench.experiment.jitter import QUANTILES
from ccbench.experiment.kinds import KINDS
from ccbench.experiment.qdiscs import QDISCS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from ccbench.emulate.kernel.boot.triggers import Trigger
    from ccbench.experiment.change import Change
    from ccbench.experiment.jitter import Jitter
    from ccbench.experiment.noise import Noise
    from ccbench.experiment.receiver import Receiver
    from ccbench.experiment.scenario import Bottleneck, Flow, Scenario

__all__ = ["QUEUE_LOGS", "describe_flows", "describe_link"]

#: Least units of a receive window that is limited later.
_FEW_UNITS = 16

#: Value of a setting that a change leaves as it is.
_UNCHANGED = 2**64 - 1

#: Values of `queue_log`; the guest receives the index.
QUEUE_LOGS = (False, True, "summary")


def describe_link(
    scenario: Scenario, triggers: Sequence[Trigger] = (), options: Sequence[bytes] = ()
) -> bytes:
    """Return the description of the path.

    It consists of header, bottlenecks, lists, paths of flows, RTTs and changes. `triggers` and
    `options`, the netlink attributes with the qdisc's options, are those of each change. The lists
    of a bottleneck are its trace, its lost packets, its losses over time and its jitter. The path
    of a flow consists of its extra delay and its first and last bottlenecks.
    """
    points = () if scenario.path.rtt_trace is None else scenario.path.rtt_trace.points
    header = {
        "protocol": shared.constant("PROTOCOL"),
        "bottlenecks": len(scenario.path.links),
        "reverse_bottlenecks": len(scenario.path.reverse_bottlenecks),
        "flows": scenario.flow_count,
        "queue_log": QUEUE_LOGS.index(scenario.queue_log),
        "changes": len(scenario.path.changes),
        "rtt_points": len(points),
        "rtt_ns": round(scenario.path.rtt_ms * 1e6),
        "forward_delay_ns": round((scenario.path.forward_delay_ms or 0) * 1e6),
        "forward_jitter_ns": round(scenario.path.noise.forward_jitter_ms * 1e6),
        "reverse_jitter_ns": round(scenario.path.noise.reverse_jitter_ms * 1e6),
        "sender_jitter_ns": round(scenario.path.noise.sender_jitter_ms * 1e6),
        "wifi_jitter_ns": round(scenario.path.noise.wifi_jitter_ms * 1e6),
        "ack_batch_ns": round(scenario.path.ack_batch_ms * 1e6),
        "seed": scenario.seed,
        "duration_ns": round(scenario.duration_s * 1e9),
        "sample_interval_ns": round(scenario.sample_interval_ms * 1e6),
        "mtu_bytes": scenario.path.mtu_bytes,
    }
    lists = [part for link in scenario.path.links for part in _lists(link)]
    extra_us = [round(flow.extra_rtt_ms * 1e3) for flow in scenario.split_flows]
    first, last = zip(*map(scenario.path.links_of, scenario.split_flows), strict=True)
    paths = (_per_flow(scenario, np.array(column, "u4")) for column in (extra_us, first, last))
    rtts = [{"time_ns": _nanoseconds(time), "rtt_ns": round(rtt * 1e6)} for time, rtt in points]
    changes = [
        {**_change(change), "trigger": trigger, "options_bytes": len(attribute)}
        for change, trigger, attribute in zip(scenario.path.changes, triggers, options, strict=True)
    ]
    parts = (
        shared.rows("link_header", [header]),
        shared.rows(
            "bottleneck", (_bottleneck(link, scenario.path.noise) for link in scenario.path.links)
        ),
        *lists,
        *paths,
        shared.rows("rtt_point", rtts),
        shared.rows("change", changes),
    )
    return b"".join((*(part.tobytes() for part in parts), *options))


def _change(change: Change) -> dict[str, object]:
    settings = {
        "loss": (change.loss, 2**32),
        "rtt_ns": (change.rtt_ms, 1e6),
        "forward_delay_ns": (change.forward_delay_ms, 1e6),
        "wifi_jitter_ns": (change.wifi_jitter_ms, 1e6),
        "app_rate_bps": (change.app_rate_mbps, 1e6),
    }
    return {
        "time_ns": _nanoseconds(change.at_s or change.after_s or 0),
        "every_ns": _nanoseconds(change.every_s or 0),
        "rate_bps": round((change.bandwidth_mbps or 0) * 1e6),
        "outage_ns": _nanoseconds(change.outage_s or 0),
        **{
            name: _UNCHANGED if value is None else round(value * unit)
            for name, (value, unit) in settings.items()
        },
        "bottleneck": change.bottleneck,
        "overtakes": bool(change.overtakes),
        "end_flow": change.flow or 0,
        "window_bytes": change.window_bytes or _UNCHANGED,
    }


def _bottleneck(link: Bottleneck, noise: Noise) -> dict[str, object]:
    qdisc = QDISCS.get(link.qdisc)
    wifi, losses, jitter = link.wifi, link.loss_trace, link.jitter
    correlation = jitter.correlation if jitter else 0.0
    bursts, policer, late = link.burst_loss, link.policer, link.reordering
    return {
        "rate_bps": round((link.bandwidth_mbps or 0) * 1e6),
        "background_bps": round(noise.background_share * link.mean_mbps * 1e6),
        "trace_length": len(_steps(link)),
        "loss": _probability(link.loss),
        "wifi_frames": wifi.max_frames if wifi else 0,
        "wifi_stations": wifi.stations if wifi else 0,
        "wifi_step_ns": round(wifi.step_s * 1e9) if wifi else 0,
        "wifi_overhead_ns": _in_ns(*wifi.overhead_ms) if wifi else (0, 0),
        "loss_every_packets": link.loss_every_packets or 0,
        "l4s_mask": qdisc.l4s_mask(dict(link.qdisc_options)) if qdisc else 0,
        "statistics": bool(qdisc and qdisc.statistics),
        "lost_packets": len(link.loss_packets),
        "duplicates": _probability(link.duplicates or 0),
        "burst_change": _shares(bursts.to_bad, bursts.to_good) if bursts else (0, 0),
        "burst_mean_ns": _in_ns(bursts.good_ms, bursts.bad_ms) if bursts else (0, 0),
        "burst_loss": _shares(bursts.loss_good, bursts.loss_bad) if bursts else (0, 0),
        "policer_bps": round(policer.rate_mbps * 1e6) if policer else 0,
        "policer_bytes": policer.burst_bytes if policer else 0,
        "overhead_bytes": link.overhead_bytes or 0,
        "cells": bool(link.cells),
        "reordered": _probability(late.share) if late else 0,
        "reordered_packets": (late.packets or 0) if late else 0,
        "reordered_ns": round((late.delay_ms or 0) * 1e6) if late else 0,
        "loss_points": len(losses.points) if losses else 0,
        "jitter_delays": QUANTILES if jitter else 0,
        "jitter_memory": _share(correlation),
        "jitter_innovation": _share(math.sqrt(1 - correlation**2)) if correlation else 0,
    }


def _in_ns(*times_ms: float | None) -> tuple[int, ...]:
    return tuple(round((time_ms or 0) * 1e6) for time_ms in times_ms)


def _shares(*shares: float | None) -> tuple[int, ...]:
    return tuple(_share(share or 0) for share in shares)


def _lists(bottleneck: Bottleneck) -> Iterator[npt.NDArray[Any]]:
    """Yield the lists that follow the bottlenecks."""
    yield np.array([*_steps(bottleneck), *bottleneck.loss_packets], dtype="u4")
    points = bottleneck.loss_trace.points if bottleneck.loss_trace else ()
    losses = ({"time_ns": _nanoseconds(time_s), "loss": _share(loss)} for time_s, loss in points)
    yield shared.rows("loss_point", losses)
    if (jitter := bottleneck.jitter) is not None:
        yield _delays_ns(jitter)
        if jitter.correlation:
            yield _normal_quantiles()


@cache
def _delays_ns(jitter: Jitter) -> npt.NDArray[np.uint64]:
    return np.array([round(ms * 1e6) for ms in jitter.quantiles_ms], "u8")


@cache
def _normal_quantiles() -> npt.NDArray[np.int64]:
    shares = ((i + 0.5) / QUANTILES for i in range(QUANTILES))
    return np.array([round(NormalDist().inv_cdf(share) * 2**24) for share in shares], "i8")


def _share(share: float) -> int:
    """Return a probability in units of 2^-32; 0 only if it is 0."""
    return max(round(share * 2**32), share > 0)


def _probability(share: float) -> int:
    """Return the same in 32 bits, for probabilities below 1."""
    return min(_share(share), 2**32 - 1)


def _steps(bottleneck: Bottleneck) -> Sequence[int]:
    """Return a link's delivery opportunities in ms, or bitrates in kbit/s; empty if constant."""
    if bottleneck.trace is not None:
        return bottleneck.trace.opportunities_ms
    if bottleneck.wifi is not None:
        return [round(mbps * 1e3) for mbps in bottleneck.wifi.bitrates_mbps]
    return ()


def describe_flows(scenario: Scenario, *, served: bool = False) -> bytes:
    """Return the description of the traffic: header, specifications, lists and receivers.

    The lists are those of messages and of sizes of frames.

    With `served`, programs in the guest send the bulk flows.
    """
    receivers = shared.rows("receiver", _receivers(scenario))
    header = {
        "protocol": shared.constant("PROTOCOL"),
        "flows": scenario.flow_count,
        "duration_ns": round(scenario.duration_s * 1e9),
        "sample_interval_ns": round(scenario.sample_interval_ms * 1e6),
        "seed": scenario.seed,
        "receivers": receivers.size,
        "mtu_bytes": scenario.path.mtu_bytes,
    }
    groups = shared.rows(
        "flow_spec",
        (
            _group(scenario, path, len(flow.subflows), is_first=not i, served=served)
            for flow in scenario.flows
            for i, path in enumerate(flow.split)
        ),
    )
    subnets = hosts.subnets(scenario)
    groups["subnet"] = [subnets.get(hosts.subnet_key(path), 0) for path in scenario.split_flows]
    specs = _per_flow(scenario, groups)
    specs["start_ns"] = np.round(scenario.starts_s() * 1e9)
    first = 0
    messages: list[npt.NDArray[Any]] = []
    frames = [np.array(flow.frame_bytes * flow.count, "u8") for flow in scenario.flows]
    for flow in scenario.flows:
        group = slice(first, first + flow.flow_count)
        if flow.connections is not None:
            per_connection = [_messages(flow, i) for i in range(flow.connections)]
            specs["messages"][group] = [len(connection) for connection in per_connection]
            messages += per_connection
        elif flow.arrivals:
            specs["size_bytes"][group] = [size for _, size in flow.arrivals]
        first += flow.flow_count
    return b"".join(
        part.tobytes()
        for part in (shared.rows("flows_header", [header]), specs, *messages, *frames, receivers)
    )


def _receivers(scenario: Scenario) -> Iterator[dict[str, int]]:
    """Yield the record of each group of flows whose receivers differ from Linux's."""
    first = 0
    for flow in scenario.flows:
        last = first + flow.flow_count - 1
        windows = [
            change.window_bytes
            for change in scenario.path.changes
            if change.window_bytes and first <= (change.flow or 0) <= last
        ]
        is_own = flow.receiver is not None and flow.receiver.program is None
        if is_own or windows:
            record = _receiver(flow.receiver, windows, scenario.path.mss_bytes)
            yield {**record, "first_flow": first, "flows": flow.flow_count}
        first = last + 1


def _receiver(receiver: Receiver | None, windows: Sequence[int], mss_bytes: int) -> dict[str, int]:
    """Return a receiver's part of its record, given the windows of its changes."""
    unset = shared.unset("receiver")
    if receiver is None:
        return {**unset, "window_scale": _window_scale(0, windows)}
    return {
        **unset,
        "read_bps": round((receiver.read_mbps or 0) * 1e6),
        "read_interval_ns": round(receiver.interval_ms(mss_bytes) * 1e6),
        "optimistic_bps": round((receiver.optimistic_mbps or 0) * 1e6),
        "window_bytes": receiver.largest_window_bytes,
        "window_scale": _window_scale(receiver.largest_window_bytes, windows),
        "packets_per_ack": receiver.packets_per_ack or 0,
        "ack_delay_us": round(receiver.longest_ack_delay_ms * 1e3),
        "ack_parts": receiver.ack_parts or 0,
        "duplicate_acks": receiver.duplicate_acks or 0,
        "hides_ecn": bool(receiver.hides_ecn),
    }


def _window_scale(window_bytes: int, windows: Sequence[int]) -> int:
    """Return the scale of a receive window, which has 16 bits.

    With a limit (0: none), it is the smallest for the largest window. Without one before the
    changes, it is the largest for which the smallest window has a few units.
    """
    if window_bytes:
        return max(max((window_bytes, *windows)).bit_length() - 16, 0)
    return (
        max((min(windows) // _FEW_UNITS).bit_length() - 1, 0)
        if windows
        else shared.constant("NO_SCALE")
    )


def _messages(flow: Flow, connection: int) -> npt.NDArray[Any]:
    """Return the short flows over one of a group's connections."""
    arrivals = flow.arrivals[connection :: flow.flow_count]
    messages = ({"time_ns": _nanoseconds(at_s), "bytes": size} for at_s, size in arrivals)
    return shared.rows("message", messages)


def _group(
    scenario: Scenario, flow: Flow, subflows: int, *, is_first: bool, served: bool
) -> dict[str, object]:
    kind = "program" if served and flow.kind == "bulk" else flow.kind
    kind = kind if is_first else "subflow"
    kind = kind if flow.connections is None else "messages"
    # Of ACKs for every packet, the path passes those that acknowledge several.
    sparse = flow.receiver is not None and flow.receiver.packets_per_ack is not None
    return {
        # Of other kinds, or set for each flow or group.
        **shared.unset("flow_spec"),
        "stop_ns": _nanoseconds(flow.stop_s or scenario.duration_s),
        "rate_bps": round((flow.rate_mbps or 0) * 1e6),
        "kind": shared.constant(kind.upper()),
        "ecn": ECN_FIELDS[flow.ecn],
        "acks": ACKS.index("every" if sparse else flow.acks),
        "single_packets": not flow.segmentation_offload,
        "packet_bytes": flow.packet_bytes,
        "reverse": flow.is_reverse,
        "subflows": subflows,
        "cca": flow.cca.encode(),
        "ip_version": flow.ip_version,
        **KINDS[flow.kind].guest_fields(**flow.kind_settings),
    }


def _per_flow(scenario: Scenario, groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the entry of each single flow from an array with one for each path."""
    return groups[scenario.split_numbers()]


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
