# SPDX-License-Identifier: Apache-2.0
"""Paths: the network between the two hosts of a scenario, without its flows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.checked_fields import (
    check_fields,
    checked,
    document_form,
    instance_of,
    number,
    open_table,
    set_field,
    table,
    tables,
    whole,
)
from ccbench.base.dataclass_dicts import Document
from ccbench.base.validation import Range
from ccbench.experiment import kernel_settings
from ccbench.experiment._time_points import written_points
from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.change import Change
from ccbench.experiment.flow import LARGEST_MTU_BYTES, MTU_BYTES, Flow
from ccbench.experiment.noise import NO_NOISE, Noise, typical
from ccbench.experiment.rtt_trace import RttTrace

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "LEAST_MTU_BYTES",
    "MSS_BYTES",
    "TCP_HEADER_BYTES",
    "NetworkPath",
    "check_holds",
    "typical_path",
]

#: Headers of a full TCP packet in bytes: 20 of IP, 20 of TCP and 12 of timestamps.
TCP_HEADER_BYTES = 52

#: TCP payload of a full packet in bytes by default.
MSS_BYTES = MTU_BYTES - TCP_HEADER_BYTES

#: Least size of a full packet of each version of IP: that which every host of IPv4 can receive (RFC
#: 1122, section 3.3.2), and that of every path of IPv6 (RFC 8200, section 5).
LEAST_MTU_BYTES = {4: 576, 6: 1280}

#: Maximum number of bottlenecks in each direction.
MAX_BOTTLENECKS = 8


def _read_rtt_trace(name: str, value: Any, base_dir: Path) -> RttTrace:
    if isinstance(value, str):
        return RttTrace.from_file(base_dir / value)
    if not value:  # the other messages name the point
        allowed, step = "a list of pairs", "write for example [[0, 40], [60, 80]]"
        raise validation.bad(name, value, allowed, step)
    with validation.within(f"{name}."):
        return RttTrace(points=value)


def _ecn(name: str, value: object) -> bool | str:
    if isinstance(value, bool) or value == "accecn":
        return value
    allowed, step = 'true, false or "accecn"', f'write for example {name} = "accecn"'
    raise validation.bad(name, value, allowed, step)


@dataclass(frozen=True, kw_only=True)
class NetworkPath(Document):
    """The network between two hosts: bottlenecks in a row, delays, their changes, and settings.

    Parameters
    ----------
    bottlenecks : tuple of Bottleneck
        1 to 8 bottlenecks in the order of the path from the sending to the receiving host. The
        path replaces each `queue_bdp` by the equivalent `queue_packets`.
    reverse_bottlenecks : tuple of Bottleneck
        Up to 8 bottlenecks in the order of the reverse path, which ACKs cross, and data of flows
        with ``direction="reverse"``. By default, ACKs are neither queued nor lost. In a run, their
        numbers follow those of `bottlenecks` (:attr:`links`).
    rtt_ms : float
        Base round-trip time in milliseconds, 0.001 to 10,000, without queueing and transmission.
    forward_delay_ms : float, optional
        Part of `rtt_ms` between the bottlenecks and the receiving host; the rest is on the reverse
        path. By default 0: flows and queues of one direction depend on the sum only. Analysis
        (:func:`ccbench.run.packets.delivered`) then counts half of it in each direction.
    mtu_bytes : int
        Size of a full IP packet, as both hosts know it: 576 (IPv6: 1280) to 9216. `queue_bdp` and
        limits of queues in bytes count such packets.
    rtt_trace : RttTrace, optional
        Base round-trip time over time, instead of `rtt_ms`, which then is the one of `queue_bdp`.
        In TOML a list of pairs ``[time_s, rtt_ms]`` or the path of a CSV file with these two
        columns, relative to the TOML file.
    changes : tuple of Change
        Changes of the path or of applications at given times or after events; in TOML tables
        headed ``[[changes]]``.
    noise : Noise
        Random disturbance of the path and the hosts; none by default. In TOML a table,
        ``noise = {reverse_jitter_ms = 0.1}``. Without noise, deterministic flows (Reno, CUBIC) can
        synchronise.
    ack_batch_ms : float
        Interval, in milliseconds, at whose multiples the receiving host sends all ACKs that are
        ready. This models ACK compression by interrupt coalescing, Wi-Fi and cable modems. 0 sends
        each ACK when it is ready.
    ecn : bool or "accecn"
        The most accurate ECN that the end hosts negotiate: none, ECN of RFC 3168, or with
        ``"accecn"`` accurate ECN (RFC 9768), which Linux has since 7.0. A flow whose ends differ
        uses the less accurate one. Some congestion controls (dctcp) negotiate ECN in any case.
    receiver_ecn : bool or "accecn", optional
        The same for the receiving host, which then is an ordinary host without the flows'
        congestion controls. By default it has them, and `ecn`.
    sysctls : tuple of (str, str), or mapping
        Settings below ``net.`` for both end hosts, such as ``{"net.ipv4.tcp_sack": 0}``; in TOML a
        table. Numbers become strings.
    module_parameters : tuple of (str, str), or mapping
        Parameters of modules of the virtual kernel, from ccbench or Linux, by ``module.parameter``,
        such as ``{"tcp_rapid.tolerance": 64}``; in TOML a table. They are set before the start.
        Numbers become strings; booleans become the kernel's ``Y`` and ``N``.

    Raises
    ------
    InputError
        If a setting is out of range. The message starts with the path of the setting, such as
        ``bottlenecks[0].bandwidth_mbps``.

    Examples
    --------
    >>> path = NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=100, queue_bdp=1),), rtt_ms=40)
    >>> path.bottlenecks[0].queue_packets
    333
    """

    bottlenecks: tuple[Bottleneck, ...] = field(metadata=tables(Bottleneck))
    reverse_bottlenecks: tuple[Bottleneck, ...] = field(
        default=(), metadata=tables(Bottleneck, least=0)
    )
    rtt_ms: float = field(metadata=number(Range(0.001, 10_000), example=40))
    forward_delay_ms: float | None = field(
        default=None, metadata=number(Range(0, 10_000), example=20, optional=True)
    )
    mtu_bytes: int = field(
        default=MTU_BYTES,
        metadata=whole(Range(LEAST_MTU_BYTES[4], LARGEST_MTU_BYTES), example=9000)
        | document_form(omits_default=True),
    )
    rtt_trace: RttTrace | None = field(
        default=None,
        metadata=checked(instance_of(RttTrace, "RttTrace(points=...)"), optional=True)
        | document_form(read=_read_rtt_trace, write=written_points),
    )
    changes: tuple[Change, ...] = field(
        default=(), metadata=tables(Change, least=0, is_suggested=False)
    )
    noise: Noise = field(default=NO_NOISE, metadata=table(Noise, "{reverse_jitter_ms = 0.1}"))
    ack_batch_ms: float = field(default=0.0, metadata=number(Range(0, 1_000), example=1))
    ecn: bool | str = field(default=False, metadata=checked(_ecn))
    receiver_ecn: bool | str | None = field(default=None, metadata=checked(_ecn, optional=True))
    sysctls: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=open_table(kernel_settings.sysctls, read=kernel_settings.flattened, has_dots=True),
    )
    module_parameters: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=open_table(
            kernel_settings.module_parameters, read=kernel_settings.flattened, has_dots=True
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("bottlenecks", "reverse_bottlenecks"):
            if (count := len(getattr(self, name))) > MAX_BOTTLENECKS:
                raise validation.bad(name, count, f"at most {MAX_BOTTLENECKS}", "remove some")
        shortest_ms = self.rtt_ms if self.rtt_trace is None else self.rtt_trace.shortest_ms
        if self.forward_delay_ms is not None and self.forward_delay_ms > shortest_ms:
            allowed, step = f"at most the RTT, {shortest_ms:g}", "lower it, or raise the RTT"
            raise validation.bad("forward_delay_ms", self.forward_delay_ms, allowed, step)
        self._check_mtu()
        for i, change in enumerate(self.changes):
            with validation.within(f"changes[{i}]."):
                self._check_change(change)
        self._check_delays()
        sized = tuple(map(self._with_queue_packets, range(len(self.links))))
        set_field(self, "bottlenecks", sized[: len(self.bottlenecks)])
        set_field(self, "reverse_bottlenecks", sized[len(self.bottlenecks) :])

    @property
    def links(self) -> tuple[Bottleneck, ...]:
        """The bottlenecks of both directions, by their numbers in runs."""
        return self.bottlenecks + self.reverse_bottlenecks

    @property
    def mss_bytes(self) -> int:
        """TCP payload of a full packet of IPv4 in bytes.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> NetworkPath(bottlenecks=(link,), rtt_ms=40, mtu_bytes=9000).mss_bytes
        8948
        """
        return self.mtu_bytes - TCP_HEADER_BYTES

    def bdp_packets(self, bottleneck: int = 0) -> float:
        """Return the bandwidth-delay product in full packets: mean rate times `rtt_ms`.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=12, queue_bdp=1)
        >>> NetworkPath(bottlenecks=(link,), rtt_ms=50).bdp_packets()
        50.0
        """
        return self.links[bottleneck].mean_mbps * 1e3 * self.rtt_ms / (8 * self.mtu_bytes)

    def longest_queue(self, number: int) -> int:
        """Return the largest limit of a bottleneck's queue during the run, in packets."""
        own = (change for change in self.changes if change.bottleneck == number)
        limits = (self.links[number].queue_packets, *(change.queue_packets for change in own))
        return max(limit or 0 for limit in limits)

    def highest_mbps(self, number: int) -> float:
        """Return the highest rate of a bottleneck in Mbit/s, or the mean rate of a trace."""
        own = (change for change in self.changes if change.bottleneck == number)
        rates = (self.links[number].mean_mbps, *(change.bandwidth_mbps for change in own))
        return max(rate or 0 for rate in rates)

    @property
    def longest_rtt_ms(self) -> float:
        """The longest base round-trip time during the run in milliseconds, of flows without extra.

        Examples
        --------
        >>> link = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
        >>> changes = (Change(at_s=9, rtt_ms=80),)
        >>> NetworkPath(bottlenecks=(link,), rtt_ms=40, changes=changes).longest_rtt_ms
        80.0
        """
        base_ms = self.rtt_ms if self.rtt_trace is None else self.rtt_trace.longest_ms
        return max(base_ms, *(change.rtt_ms or 0.0 for change in self.changes), 0.0)

    def loses(self, number: int) -> bool:
        """Return whether packets are lost before a bottleneck's queue at some time."""
        own = (change for change in self.changes if change.bottleneck == number)
        return self.links[number].loses or any(change.loss for change in own)

    def link_name(self, number: int) -> str:
        """Return a bottleneck's place in the document, such as ``reverse_bottlenecks[0]``."""
        position = number - len(self.bottlenecks)
        is_reverse = position >= 0
        return f"reverse_bottlenecks[{position}]" if is_reverse else f"bottlenecks[{number}]"

    def links_of(self, flow: Flow) -> tuple[int, int]:
        """Return the numbers of the first and of the last bottleneck of a flow's data."""
        before = len(self.bottlenecks) if flow.is_reverse else 0
        count = len(self.reverse_bottlenecks if flow.is_reverse else self.bottlenecks)
        last = count - 1 if flow.last_bottleneck is None else flow.last_bottleneck
        return before + flow.first_bottleneck, before + last

    @property
    def hosts_ecn(self) -> tuple[bool | str, bool | str]:
        """The ECN of the sending and of the receiving host."""
        return self.ecn, self.ecn if self.receiver_ecn is None else self.receiver_ecn

    @property
    def draws_at_random(self) -> bool:
        """Whether the path is random: noise, links that draw, or changes to such."""
        parts: tuple[Bottleneck | Change, ...] = (*self.links, *self.changes)
        return bool(self.noise) or any(part.draws_at_random for part in parts)

    def _check_mtu(self) -> None:
        """Check what has to hold a full packet."""
        mtu = self.mtu_bytes
        for i, change in enumerate(self.changes):
            check_holds(f"changes[{i}].window_bytes", change.window_bytes, mtu)
        for i, link in enumerate(self.links):
            burst = link.policer.burst_bytes if link.policer else None
            check_holds(f"{self.link_name(i)}.policer.burst_bytes", burst, mtu)
            if link.wifi is not None and mtu != MTU_BYTES:
                allowed, step = f"{MTU_BYTES} with Wi-Fi", "leave it out, or wifi"
                raise validation.bad("mtu_bytes", mtu, allowed, step)

    def _check_change(self, change: Change) -> None:
        if change.changes_delay and self.rtt_trace is not None:
            name = "forward_delay_ms" if change.rtt_ms is None else "rtt_ms"
            allowed, step = "left out with rtt_trace", "write it into the trace"
            raise validation.bad(name, getattr(change, name), allowed, step)
        if change.bottleneck >= len(self.links):
            allowed = f"at most {len(self.links) - 1}, the last bottleneck"
            raise validation.bad("bottleneck", change.bottleneck, allowed, "name another one")
        link = self.links[change.bottleneck]
        for name in ("bandwidth_mbps", "outage_s"):
            if (value := getattr(change, name)) is not None and link.bandwidth_mbps is None:
                allowed = "left out, as the bottleneck has no constant rate"
                raise validation.bad(name, value, allowed, "remove it")

    def _check_delays(self) -> None:
        """Check that the way to the receiver is never longer than the round trip."""
        # Any change without one of the two may follow any change of the other.
        rtts_ms = (self.rtt_ms, *(change.rtt_ms for change in self.changes))
        parts_ms = (self.forward_delay_ms, *(change.forward_delay_ms for change in self.changes))
        least_ms = min(rtt_ms for rtt_ms in rtts_ms if rtt_ms is not None)
        longest_ms = max((part_ms for part_ms in parts_ms if part_ms is not None), default=0.0)
        for i, change in enumerate(self.changes):
            if change.changes_delay:
                with validation.within(f"changes[{i}]."):
                    _check_delay(change, least_ms, longest_ms)

    def _with_queue_packets(self, i: int) -> Bottleneck:
        bottleneck = self.links[i]
        if bottleneck.queue_bdp is None:
            return bottleneck
        packets = max(1, round(bottleneck.queue_bdp * self.bdp_packets(i)))
        with validation.within(f"{self.link_name(i)}.queue_bdp = {bottleneck.queue_bdp:g}: "):
            return replace(bottleneck, queue_bdp=None, queue_packets=packets)


def typical_path(*, rtt_ms: float, **link: Any) -> NetworkPath:
    """Return a path with one bottleneck and typical noise, as in comparisons of competing flows.

    Parameters
    ----------
    rtt_ms : float
        Base round-trip time in milliseconds.
    **link
        Settings of the :class:`~ccbench.experiment.bottleneck.Bottleneck`.

    Examples
    --------
    >>> path = typical_path(bandwidth_mbps=100, rtt_ms=40, queue_bdp=1)
    >>> path.bottlenecks[0].queue_packets, path.noise == typical(rtt_ms=40)
    (333, True)
    """
    return NetworkPath(
        bottlenecks=(Bottleneck(**link),), rtt_ms=rtt_ms, noise=typical(rtt_ms=rtt_ms)
    )


def _check_delay(change: Change, least_ms: float, longest_ms: float) -> None:
    """Check a change of delays, given the least RTT and the longest part of all other changes."""
    rtt_ms, part_ms = change.rtt_ms, change.forward_delay_ms
    if part_ms is None:
        if rtt_ms is not None and rtt_ms < longest_ms:
            allowed = f"at least forward_delay_ms, {longest_ms:g}"
            step = "raise it, or change forward_delay_ms as well"
            raise validation.bad("rtt_ms", rtt_ms, allowed, step)
    elif part_ms > (shortest_ms := rtt_ms or least_ms):
        allowed, step = f"at most the RTT, {shortest_ms:g}", "lower it, or raise rtt_ms"
        raise validation.bad("forward_delay_ms", part_ms, allowed, step)


def check_holds(where: str, size_bytes: int | None, mtu_bytes: int) -> None:
    """Check that a window or a bucket holds a full packet."""
    if size_bytes is not None and size_bytes < mtu_bytes:
        allowed, step = f"at least mtu_bytes, {mtu_bytes}", "raise it, or lower mtu_bytes"
        raise validation.bad(where, size_bytes, allowed, step)
