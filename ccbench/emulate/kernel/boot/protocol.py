# SPDX-License-Identifier: Apache-2.0
"""Formats of the guest's input, equal to structs in ``kernel_modules/include/ccbench.h``.

Lookups in the store encode thousands of scenarios, so this module avoids pandas, whose tables take
milliseconds each.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.emulate.kernel.boot import hosts
from ccbench.experiment.flow import ACKS, ECN_FIELDS, MAX_BITRATES
from ccbench.experiment.jitter import QUANTILES
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

__all__ = [
    "BOTTLENECK",
    "FLOWS_HEADER",
    "FLOW_SPEC",
    "LINK_HEADER",
    "QUEUE_LOGS",
    "describe_flows",
    "describe_link",
]

_PROTOCOL = 13

LINK_HEADER = np.dtype(
    [
        ("protocol", "u4"),
        ("bottlenecks", "u4"),
        ("reverse_bottlenecks", "u4"),
        ("flows", "u4"),
        ("queue_log", "u4"),
        ("changes", "u4"),
        ("rtt_points", "u8"),
        ("rtt_ns", "u8"),
        ("forward_delay_ns", "u8"),
        ("forward_jitter_ns", "u8"),
        ("reverse_jitter_ns", "u8"),
        ("sender_jitter_ns", "u8"),
        ("wifi_jitter_ns", "u8"),
        ("ack_batch_ns", "u8"),
        ("seed", "u8"),
        ("duration_ns", "u8"),
        ("sample_interval_ns", "u8"),
        ("mtu_bytes", "u8"),
    ]
)
BOTTLENECK = np.dtype(
    [
        ("rate_bps", "u8"),
        ("background_bps", "u8"),
        ("trace_length", "u4"),
        ("loss", "u4"),
        ("wifi_frames", "u4"),
        ("wifi_stations", "u4"),
        ("wifi_step_ns", "u8"),
        ("wifi_overhead_ns", "u8", 2),
        ("loss_every_packets", "u8"),
        ("l4s_mask", "u4"),
        ("statistics", "u4"),
        ("lost_packets", "u4"),
        ("duplicates", "u4"),
        ("burst_change", "u8", 2),
        ("burst_mean_ns", "u8", 2),
        ("burst_loss", "u8", 2),
        ("policer_bps", "u8"),
        ("policer_bytes", "u8"),
        ("overhead_bytes", "u4"),
        ("cells", "u4"),
        ("reordered", "u4"),
        ("reordered_packets", "u4"),
        ("reordered_ns", "u8"),
        ("loss_points", "u4"),
        ("jitter_delays", "u4"),
        ("jitter_memory", "u8"),
        ("jitter_innovation", "u8"),
    ]
)
LOSS_POINT = np.dtype([("time_ns", "u8"), ("loss", "u8")])
RTT_POINT = np.dtype([("time_ns", "u8"), ("rtt_ns", "u8")])
CHANGE = np.dtype(
    [
        ("low", "i8"),
        ("high", "i8"),
        ("count", "u8"),
        ("flow", "u4"),
        ("kind", "u1"),
        ("offset", "u1"),
        ("bytes", "u1"),
        ("is_signed", "u1"),
        ("time_ns", "u8"),
        ("every_ns", "u8"),
        ("rate_bps", "u8"),
        ("outage_ns", "u8"),
        ("loss", "u8"),
        ("rtt_ns", "u8"),
        ("forward_delay_ns", "u8"),
        ("wifi_jitter_ns", "u8"),
        ("bottleneck", "u4"),
        ("overtakes", "u2"),
        ("options_bytes", "u2"),
        ("end_flow", "u8"),
        ("app_rate_bps", "u8"),
        ("window_bytes", "u8"),
    ]
)
FLOWS_HEADER = np.dtype(
    [
        ("protocol", "u4"),
        ("flows", "u4"),
        ("duration_ns", "u8"),
        ("sample_interval_ns", "u8"),
        ("seed", "u8"),
        ("receivers", "u8"),
        ("mtu_bytes", "u8"),
    ]
)
FLOW_SPEC = np.dtype(
    [
        ("start_ns", "u8"),
        ("stop_ns", "u8"),
        ("size_bytes", "u8"),
        ("rate_bps", "u8"),
        ("on_ns", "u8"),
        ("off_ns", "u8"),
        ("kind", "u1"),
        ("ecn", "u1"),
        ("acks", "u1"),
        ("single_packets", "u1"),
        ("packet_bytes", "u2"),
        ("reverse", "u1"),
        ("subflows", "u1"),
        ("cca", "S16"),
        ("segment_ns", "u8"),
        ("buffer_ns", "u8"),
        ("ladder_kbps", "u4", MAX_BITRATES),
        ("messages", "u8"),
        ("frame_uhz", "u8"),
        ("frames", "u8"),
        ("ip_version", "u4"),
        ("subnet", "u4"),
    ]
)

#: One short flow over an open connection.
MESSAGE = np.dtype([("time_ns", "u8"), ("bytes", "u8")])

#: The receivers of a group of flows.
RECEIVER = np.dtype(
    [
        ("first_flow", "u4"),
        ("flows", "u4"),
        ("read_bps", "u8"),
        ("read_interval_ns", "u8"),
        ("optimistic_bps", "u8"),
        ("window_bytes", "u4"),
        ("window_scale", "u4"),
        ("packets_per_ack", "u4"),
        ("ack_delay_us", "u4"),
        ("ack_parts", "u4"),
        ("duplicate_acks", "u4"),
        ("hides_ecn", "u4"),
        ("reserved", "u4"),
    ]
)

#: Scale of a receive window that Linux chooses, and least units of one that is limited later.
_NO_SCALE = 255
_FEW_UNITS = 16

#: Value of a setting that a change leaves as it is.
_UNCHANGED = 2**64 - 1

#: Values of `queue_log`; the guest receives the index.
QUEUE_LOGS = (False, True, "summary")
_FLOW_KINDS = (
    *("bulk", "bytes", "rate", "onoff", "cbr", "poisson", "served", "video", "messages"),
    *("subflow", "frames"),
)


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
    header = np.array(
        (
            _PROTOCOL,
            len(scenario.path.links),
            len(scenario.path.reverse_bottlenecks),
            scenario.flow_count,
            QUEUE_LOGS.index(scenario.queue_log),
            len(scenario.path.changes),
            len(points),
            round(scenario.path.rtt_ms * 1e6),
            round((scenario.path.forward_delay_ms or 0) * 1e6),
            round(scenario.path.noise.forward_jitter_ms * 1e6),
            round(scenario.path.noise.reverse_jitter_ms * 1e6),
            round(scenario.path.noise.sender_jitter_ms * 1e6),
            round(scenario.path.noise.wifi_jitter_ms * 1e6),
            round(scenario.path.ack_batch_ms * 1e6),
            scenario.seed,
            round(scenario.duration_s * 1e9),
            round(scenario.sample_interval_ms * 1e6),
            scenario.path.mtu_bytes,
        ),
        dtype=LINK_HEADER,
    )
    bottlenecks = np.array(
        [_bottleneck(b, scenario.path.noise) for b in scenario.path.links], dtype=BOTTLENECK
    )
    lists = [part for link in scenario.path.links for part in _lists(link)]
    extra_us = [round(flow.extra_rtt_ms * 1e3) for flow in scenario.split_flows]
    first, last = zip(*map(scenario.path.links_of, scenario.split_flows), strict=True)
    paths = (_per_flow(scenario, np.array(column, "u4")) for column in (extra_us, first, last))
    rtts = np.array([(_nanoseconds(time), round(rtt * 1e6)) for time, rtt in points], RTT_POINT)
    records = [
        (*trigger, *_change(change, len(attribute)))
        for change, trigger, attribute in zip(scenario.path.changes, triggers, options, strict=True)
    ]
    changes = np.array(records, dtype=CHANGE)
    parts = (header, bottlenecks, *lists, *paths, rtts, changes)
    return b"".join((*(part.tobytes() for part in parts), *options))


def _change(change: Change, options_bytes: int) -> tuple[object, ...]:
    return (
        _nanoseconds(change.at_s or change.after_s or 0),
        _nanoseconds(change.every_s or 0),
        round((change.bandwidth_mbps or 0) * 1e6),
        _nanoseconds(change.outage_s or 0),
        *(
            _UNCHANGED if value is None else round(value * unit)
            for value, unit in (
                (change.loss, 2**32),
                (change.rtt_ms, 1e6),
                (change.forward_delay_ms, 1e6),
                (change.wifi_jitter_ms, 1e6),
            )
        ),
        change.bottleneck,
        bool(change.overtakes),
        options_bytes,
        change.flow or 0,
        _UNCHANGED if change.app_rate_mbps is None else round(change.app_rate_mbps * 1e6),
        change.window_bytes or _UNCHANGED,
    )


def _bottleneck(bottleneck: Bottleneck, noise: Noise) -> tuple[object, ...]:
    rate_bps = round((bottleneck.bandwidth_mbps or 0) * 1e6)
    wifi = bottleneck.wifi
    if wifi is None:
        batches: tuple[object, ...] = (0, 0, 0, (0, 0))
    else:
        overhead_ns = tuple(round(part * 1e6) for part in wifi.overhead_ms)
        batches = (wifi.max_frames, wifi.stations, round(wifi.step_s * 1e9), overhead_ns)
    background_bps = round(noise.background_share * bottleneck.mean_mbps * 1e6)
    steps = len(_steps(bottleneck))
    every = bottleneck.loss_every_packets or 0
    qdisc = QDISCS.get(bottleneck.qdisc)
    l4s_mask = qdisc.l4s_mask(dict(bottleneck.qdisc_options)) if qdisc else 0
    statistics = bool(qdisc and qdisc.statistics)
    return (
        rate_bps,
        background_bps,
        steps,
        _probability(bottleneck.loss),
        *batches,
        every,
        l4s_mask,
        statistics,
        len(bottleneck.loss_packets),
        _probability(bottleneck.duplicates or 0),
        *_impairments(bottleneck),
    )


def _impairments(bottleneck: Bottleneck) -> Iterator[object]:
    """Yield the fields of losses in bursts, policer, link layer and reordering."""
    bursts, policer, late = bottleneck.burst_loss, bottleneck.policer, bottleneck.reordering
    if bursts is None:
        yield from ((0, 0), (0, 0), (0, 0))
    else:
        yield _share(bursts.to_bad or 0), _share(bursts.to_good or 0)
        yield tuple(round((mean_ms or 0) * 1e6) for mean_ms in (bursts.good_ms, bursts.bad_ms))
        yield _share(bursts.loss_good), _share(bursts.loss_bad)
    yield round(policer.rate_mbps * 1e6) if policer else 0
    yield policer.burst_bytes if policer else 0
    yield bottleneck.overhead_bytes or 0
    yield bool(bottleneck.cells)
    yield _probability(late.share) if late else 0
    yield (late.packets or 0) if late else 0
    yield round((late.delay_ms or 0) * 1e6) if late else 0
    losses, jitter = bottleneck.loss_trace, bottleneck.jitter
    yield len(losses.points) if losses else 0
    yield QUANTILES if jitter else 0
    correlation = jitter.correlation if jitter else 0.0
    yield _share(correlation)
    yield _share(math.sqrt(1 - correlation**2)) if correlation else 0


def _lists(bottleneck: Bottleneck) -> Iterator[npt.NDArray[Any]]:
    """Yield the lists that follow the bottlenecks."""
    yield np.array([*_steps(bottleneck), *bottleneck.loss_packets], dtype="u4")
    points = bottleneck.loss_trace.points if bottleneck.loss_trace else ()
    yield np.array([(_nanoseconds(time_s), _share(loss)) for time_s, loss in points], LOSS_POINT)
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
    receivers = np.array([*_receivers(scenario)], RECEIVER)
    header = np.array(
        (
            _PROTOCOL,
            scenario.flow_count,
            round(scenario.duration_s * 1e9),
            round(scenario.sample_interval_ms * 1e6),
            scenario.seed,
            receivers.size,
            scenario.path.mtu_bytes,
        ),
        dtype=FLOWS_HEADER,
    )
    groups = np.array(
        [
            _group(scenario, path, len(flow.subflows), is_first=not i, served=served)
            for flow in scenario.flows
            for i, path in enumerate(flow.split)
        ],
        FLOW_SPEC,
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
    return b"".join(part.tobytes() for part in (header, specs, *messages, *frames, receivers))


def _receivers(scenario: Scenario) -> Iterator[tuple[int, ...]]:
    """Yield the record of each group of flows whose receivers differ from Linux's."""
    first = 0
    for flow in scenario.flows:
        last = first + flow.flow_count - 1
        windows = [
            change.window_bytes
            for change in scenario.path.changes
            if change.window_bytes and first <= (change.flow or 0) <= last
        ]
        if flow.receiver is not None or windows:
            yield (
                first,
                flow.flow_count,
                *_receiver(flow.receiver, windows, scenario.path.mss_bytes),
            )
        first = last + 1


def _receiver(receiver: Receiver | None, windows: Sequence[int], mss_bytes: int) -> tuple[int, ...]:
    """Return a receiver's part of its record, given the windows of its changes."""
    if receiver is None:
        return (0, 0, 0, 0, _window_scale(0, windows), *(0,) * 6)
    return (
        round((receiver.read_mbps or 0) * 1e6),
        round(receiver.interval_ms(mss_bytes) * 1e6),
        round((receiver.optimistic_mbps or 0) * 1e6),
        receiver.largest_window_bytes,
        _window_scale(receiver.largest_window_bytes, windows),
        receiver.packets_per_ack or 0,
        round(receiver.longest_ack_delay_ms * 1e3),
        receiver.ack_parts or 0,
        receiver.duplicate_acks or 0,
        bool(receiver.hides_ecn),
        0,
    )


def _window_scale(window_bytes: int, windows: Sequence[int]) -> int:
    """Return the scale of a receive window, which has 16 bits.

    With a limit (0: none), it is the smallest for the largest window. Without one before the
    changes, it is the largest for which the smallest window has a few units.
    """
    if window_bytes:
        return max(max((window_bytes, *windows)).bit_length() - 16, 0)
    return max((min(windows) // _FEW_UNITS).bit_length() - 1, 0) if windows else _NO_SCALE


def _messages(flow: Flow, connection: int) -> npt.NDArray[Any]:
    """Return the short flows over one of a group's connections."""
    arrivals = flow.arrivals[connection :: flow.flow_count]
    return np.array([(_nanoseconds(start_s), size) for start_s, size in arrivals], MESSAGE)


def _group(
    scenario: Scenario, flow: Flow, subflows: int, *, is_first: bool, served: bool
) -> tuple[object, ...]:
    kind = "served" if served and flow.kind == "bulk" else flow.kind
    kind = kind if is_first else "subflow"
    kind = kind if flow.connections is None else "messages"
    # Of ACKs for every packet, the path passes those that acknowledge several.
    sparse = flow.receiver is not None and flow.receiver.packets_per_ack is not None
    ladder_kbps = [round(mbps * 1e3) for mbps in flow.bitrates_mbps]
    return (
        0,  # start: set for each flow
        _nanoseconds(flow.stop_s or scenario.duration_s),
        flow.size_bytes or 0,
        round((flow.rate_mbps or 0) * 1e6),
        _nanoseconds(flow.on_s or 0),
        _nanoseconds(flow.off_s or 0),
        _FLOW_KINDS.index(kind),
        ECN_FIELDS[flow.ecn],
        ACKS.index("every" if sparse else flow.acks),
        not flow.segmentation_offload,
        flow.packet_bytes,
        flow.is_reverse,
        subflows,
        flow.cca.encode(),
        _nanoseconds(flow.segment_s or 0),
        _nanoseconds(flow.buffer_s or 0),
        ladder_kbps + [0] * (MAX_BITRATES - len(ladder_kbps)),
        0,  # messages: set for each flow
        round((flow.frames_per_s or 0) * 1e6),
        len(flow.frame_bytes),
        flow.ip_version,
        0,  # subnet: set for each group
    )


def _per_flow(scenario: Scenario, groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the entry of each single flow from an array with one for each path."""
    return groups[scenario.split_numbers()]


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
