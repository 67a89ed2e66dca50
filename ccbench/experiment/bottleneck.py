# SPDX-License-Identifier: Apache-2.0
"""Bottlenecks: the queues and links that a scenario's flows share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from ccbench.base import number_tables, validation
from ccbench.base.checked_fields import (
    check_exactly_one,
    check_fields,
    checked,
    document_form,
    instance_of,
    number,
    open_table,
    set_field,
    table,
    whole,
)
from ccbench.base.dataclass_dicts import Document, build
from ccbench.base.validation import RATE_MBPS, Range
from ccbench.experiment import trace_library
from ccbench.experiment._time_points import written_points
from ccbench.experiment.flow import MTU_BYTES
from ccbench.experiment.impairments import (
    BurstLoss,
    Jitter,
    Policer,
    Reordering,
)
from ccbench.experiment.loss_trace import LossTrace, read_loss_trace
from ccbench.experiment.qdiscs import QDISCS
from ccbench.experiment.trace import Trace
from ccbench.experiment.wifi import Wifi

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

__all__ = ["Bottleneck", "Option", "checked_options"]

Option: TypeAlias = int | float | str | bool

IntOrArray = TypeVar("IntOrArray", int, "npt.NDArray[np.int64]")

#: Size of an ATM cell, and of its payload.
_CELL_BYTES, _CELL_PAYLOAD_BYTES = 53, 48

#: Maximum number of a lost packet.
_LAST_PACKET = 2**32 - 1

_QDISC_NAME = '"droptail" or the Linux name of a qdisc'


def _qdisc(name: str, value: object) -> str:
    return validation.text(name, value, r"[a-z0-9_]{1,15}", _QDISC_NAME, example="pie")


def _ascending(name: str, value: object) -> tuple[int, ...]:
    """Check ascending numbers of packets."""
    several = validation.several(name, value, "a list of numbers of packets", f"write {name} = [3]")
    allowed = Range(1, _LAST_PACKET)
    numbers = tuple(
        validation.whole(f"{name}[{i}]", number, allowed, example=3)
        for i, number in enumerate(several)
    )
    if sorted(set(numbers)) != list(numbers):
        raise validation.bad(name, list(numbers), "ascending", "sort it, without duplicates")
    return numbers


def checked_options(name: str, options: Any) -> tuple[tuple[str, Option], ...]:
    """Check the names and values of options of a qdisc, without knowledge of the qdisc."""
    pairs = validation.pairs(name, options, "write for example {target_ms = 5}")
    result: dict[str, Option] = {}
    allowed = "a name of lower-case letters, digits and _"
    for key, value in pairs.items():
        option = validation.text(name, key, r"[a-z0-9_]+", allowed, example="target_ms")
        where = f"{name}.{option}"
        if isinstance(value, str):
            result[option] = validation.text(where, value, r"\S+", "one word", example="dual")
        elif isinstance(value, bool | int):
            result[option] = value
        else:
            result[option] = validation.number(where, value, Range(), example=5)
    return tuple(sorted(result.items()))


def _read_trace(name: str, value: object, base_dir: Path) -> Trace:
    if isinstance(value, Trace):  # read before
        return value
    if isinstance(value, str):
        return trace_library.find(value, base_dir)
    if not isinstance(value, Mapping):
        allowed = "the path of a Mahimahi trace file or the name of a trace"
        raise validation.bad(name, value, allowed, "see `ccbench traces list`")
    with validation.within(f"{name}."):
        return build(Trace, value)


def _written_trace(trace: Trace) -> dict[str, object]:
    return {"name": trace.name, "opportunities_ms": list(trace.opportunities_ms)}


def _read_packets(_: str, value: object, base_dir: Path) -> object:
    return number_tables.column(value, base_dir, "lost packets", "packet", int)


@dataclass(frozen=True, kw_only=True)
class Bottleneck(Document):
    """A queue and the link that drains it.

    Parameters
    ----------
    bandwidth_mbps : float
        Rate of the link in Mbit/s of IP bytes, 0.001 to 100,000. Exactly one of `bandwidth_mbps`,
        `trace` and `wifi` is required.
    trace : Trace
        A link of varying rate. In TOML the path of a Mahimahi trace file, relative to the TOML
        file, or a name from ``ccbench traces list``.
    wifi : Wifi
        A Wi-Fi link. In TOML a table, ``wifi = {bitrates_mbps = [13, 65]}``.
    overhead_bytes : int
        Bytes that the link layer adds to each packet, 0 to 1000, on a link of constant rate, such
        as 38 for Ethernet with preamble and gap. The rate then counts them.
    cells : bool
        Whether packets with their overhead are sent in ATM cells, 53 bytes for 48, as on ADSL.
    queue_packets : int
        Limit of the queue in packets, without the packet in transmission. Exactly one of
        `queue_packets` and `queue_bdp` is required. A qdisc that limits bytes (``bfifo``, ``red``,
        ``tbf``) or memory (``cake``) has those of so many full packets; ``fq`` and ``sfq`` also
        have a limit for each flow (``flow_limit``, 100; 127).
    queue_bdp : float
        Limit of the queue as a multiple of the bandwidth-delay product.
        :class:`~ccbench.experiment.scenario.Scenario`, which has the round-trip time, replaces it
        by `queue_packets`.
    qdisc : str
        ``"droptail"`` (a FIFO of exactly `queue_packets`) or the name of another queueing
        discipline, of Linux (:mod:`ccbench.experiment.qdiscs`) or of a module.
    qdisc_options : tuple of (str, value)
        Options of the queueing discipline; in TOML a table, ``qdisc_options = {target_ms = 5}``.
        The engine checks names and values.
    loss : float
        Probability of random loss before the queue, 0 or more and below 1.
    loss_every_packets : int
        Period of a deterministic loss before the queue, in packets of all flows, 2 to 1e12. By
        default, there is no such loss.
    loss_packets : tuple of int
        Numbers of packets that are lost before the queue, ascending; the first packet to arrive is
        1. In TOML also the name of a CSV file with the column ``packet``.
    loss_trace : LossTrace, optional
        Losses before the queue that vary over time. In TOML a list of pairs ``[time_s, loss]`` or
        the path of a CSV file with these two columns, relative to the TOML file.
    burst_loss : BurstLoss, optional
        Random losses in bursts before the queue; in TOML a table, ``burst_loss = {to_bad = 0.002,
        to_good = 0.2}``, or ``burst_loss = {good_ms = 2000, bad_ms = 50}``.
    policer : Policer, optional
        A token bucket before the queue that drops packets above its rate; in TOML a table,
        ``policer = {rate_mbps = 10, burst_bytes = 50_000}``.
    duplicates : float
        Share of the packets of each flow that arrive twice at the queue, 0 or more and below 1.
    reordering : Reordering, optional
        Packets that arrive late after the link; in TOML a table, ``reordering = {share = 0.01,
        delay_ms = 5}``.
    jitter : Jitter, optional
        Random delays of single packets after the link; in TOML a table, ``jitter = {delay_ms = 10,
        jitter_ms = 3}``.
    clears_ecn : bool
        Whether packets lose their ECN codepoint and marks before the queue, as at some old routers
        (RFC 8311, section 2). By default, they keep them.

    Raises
    ------
    InputError
        If a setting is out of range or two settings exclude each other.

    Examples
    --------
    >>> Bottleneck(bandwidth_mbps=100, queue_packets=333).mean_mbps
    100.0
    """

    bandwidth_mbps: float | None = field(
        default=None, metadata=number(RATE_MBPS, example=100, optional=True)
    )
    overhead_bytes: int | None = field(
        default=None, metadata=whole(Range(0, 1000), example=38, optional=True)
    )
    cells: bool | None = field(default=None, metadata=checked(validation.flag, optional=True))
    trace: Trace | None = field(
        default=None,
        metadata=checked(instance_of(Trace, "Trace.from_file(...)"), optional=True)
        | document_form(read=_read_trace, write=_written_trace),
    )
    wifi: Wifi | None = field(
        default=None, metadata=table(Wifi, "{bitrates_mbps = [65]}", optional=True)
    )
    queue_packets: int | None = field(
        default=None, metadata=whole(Range(1, 1_000_000), example=100, optional=True)
    )
    queue_bdp: float | None = field(
        default=None, metadata=number(Range(0, 1000, low_open=True), example=1, optional=True)
    )
    qdisc: str = field(default="droptail", metadata=checked(_qdisc))
    qdisc_options: tuple[tuple[str, Option], ...] = field(
        default=(), metadata=open_table(checked_options)
    )
    loss: float = field(default=0.0, metadata=number(Range(0, 1, high_open=True), example=0.01))
    loss_every_packets: int | None = field(
        default=None, metadata=whole(Range(2, 1e12), example=1_000_000, optional=True)
    )
    loss_packets: tuple[int, ...] = field(
        default=(), metadata=checked(_ascending) | document_form(read=_read_packets)
    )
    loss_trace: LossTrace | None = field(
        default=None,
        metadata=checked(instance_of(LossTrace, "LossTrace(points=...)"), optional=True)
        | document_form(read=read_loss_trace, write=written_points),
    )
    burst_loss: BurstLoss | None = field(
        default=None, metadata=table(BurstLoss, BurstLoss.example, optional=True)
    )
    policer: Policer | None = field(
        default=None, metadata=table(Policer, Policer.example, optional=True)
    )
    duplicates: float | None = field(
        default=None, metadata=number(Range(0, 1, high_open=True), example=0.01, optional=True)
    )
    reordering: Reordering | None = field(
        default=None, metadata=table(Reordering, Reordering.example, optional=True)
    )
    jitter: Jitter | None = field(
        default=None, metadata=table(Jitter, Jitter.example, optional=True)
    )
    clears_ecn: bool | None = field(default=None, metadata=checked(validation.flag, optional=True))

    def __post_init__(self) -> None:
        check_exactly_one(self, "bandwidth_mbps", "trace", "wifi", example="bandwidth_mbps = 100")
        check_exactly_one(self, "queue_packets", "queue_bdp", example="queue_bdp = 1")
        check_fields(self)
        if self.bandwidth_mbps is None:
            for name in ("overhead_bytes", "cells"):
                if value := getattr(self, name):
                    allowed = "left out without bandwidth_mbps"
                    raise validation.bad(name, value, allowed, "remove it")
        if self.qdisc == "droptail" and self.qdisc_options:
            allowed = "left out for droptail, which has no options"
            step = "remove it, name a qdisc"
            raise validation.bad("qdisc_options", dict(self.qdisc_options), allowed, step)
        if self.jitter is not None and self.reordering is not None:
            allowed = "left out with jitter, which reorders packets"
            raise validation.bad("reordering", self.reordering, allowed, "remove one of them")
        # Absent rather than 0 or false, so that the identities of other scenarios remain the same.
        for name in ("duplicates", "clears_ecn", "overhead_bytes", "cells"):
            set_field(self, name, getattr(self, name) or None)
        if self.reordering is not None and self.reordering.share == 0:
            set_field(self, "reordering", None)
        if self.burst_loss is not None and self.burst_loss.mean == 0:
            set_field(self, "burst_loss", None)

    @property
    def mean_mbps(self) -> float:
        """Mean rate of the link in Mbit/s."""
        if (varying := self.trace or self.wifi) is not None:
            return varying.mean_mbps
        return cast("float", self.bandwidth_mbps)  # exactly one of the three is present

    @property
    def draws_at_random(self) -> bool:
        """Whether it is random: losses, duplicates, reordering, jitter or Wi-Fi."""
        lost = (self.loss, self.loss_trace, self.burst_loss)
        return any((*lost, self.duplicates, self.reordering, self.jitter, self.wifi))

    @property
    def loses(self) -> bool:
        """Whether packets are lost before the queue, at random, by number or by a policer."""
        given = (self.loss, self.loss_every_packets, self.loss_packets)
        return any(given) or any((self.loss_trace, self.burst_loss, self.policer))

    @property
    def packet_ms(self) -> float:
        """Transmission time of a full packet in milliseconds, at the mean rate.

        Examples
        --------
        >>> Bottleneck(bandwidth_mbps=12, queue_packets=1).packet_ms
        1.0
        """
        return MTU_BYTES * 8e-3 / self.mean_mbps

    def bytes_on_link(self, ip_bytes: IntOrArray) -> IntOrArray:
        """Return the bytes that packets of some IP bytes take on a link of constant rate.

        Examples
        --------
        >>> adsl = Bottleneck(bandwidth_mbps=1, queue_packets=9, overhead_bytes=10, cells=True)
        >>> adsl.bytes_on_link(1500), adsl.bytes_on_link(40)
        (1696, 106)
        """
        link_bytes = ip_bytes + (self.overhead_bytes or 0)
        return -(-link_bytes // _CELL_PAYLOAD_BYTES) * _CELL_BYTES if self.cells else link_bytes

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the two queues of a qdisc for L4S; empty for any other qdisc.

        Examples
        --------
        >>> Bottleneck(bandwidth_mbps=12, queue_packets=100, qdisc="dualpi2").queues
        ('classic', 'l4s')
        """
        return QDISCS[self.qdisc].queues if self.qdisc in QDISCS else ()

    def capacity_bytes(self, duration_s: float) -> float:
        """Return the link's capacity in IP bytes over the first `duration_s` seconds.

        Examples
        --------
        >>> Bottleneck(bandwidth_mbps=8, queue_packets=1).capacity_bytes(2)
        2000000.0
        """
        if (varying := self.trace or self.wifi) is not None:
            return varying.capacity_bytes(duration_s)
        return self.mean_mbps * 1e6 / 8 * duration_s
