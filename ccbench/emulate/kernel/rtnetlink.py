# SPDX-License-Identifier: Apache-2.0
"""Requests to the guest's network stack, encoded on the host.

The guest has no ``ip`` or ``tc``; its init only passes on what is encoded here. Options of qdiscs
are a table: what a user writes, the attribute it becomes, and how. Older qdiscs take all of theirs
as one structure, so each of them has a function here.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ccbench import _validate
from ccbench._validate import Range
from ccbench.errors import InputError
from ccbench.flow import MTU_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["QDISCS", "add_address", "check_qdisc_options", "set_qdisc", "set_up"]

Value: TypeAlias = "int | float | str | bool"

_NLM_F_REQUEST = 0x1
_NLM_F_ACK = 0x4
_NLM_F_REPLACE = 0x100
_NLM_F_CREATE = 0x400
_RTM_NEWLINK = 16
_RTM_NEWADDR = 20
_RTM_NEWQDISC = 36
_AF_INET = 2
_IFF_UP = 1
_IFA_ADDRESS = 1
_IFA_LOCAL = 2
_TCA_KIND = 1
_TCA_OPTIONS = 2
_NLA_F_NESTED = 0x8000
_TC_H_ROOT = 0xFFFFFFFF
_ROOT_HANDLE = 0x00010000  # 1:


def _message(kind: int, flags: int, payload: bytes) -> bytes:
    flags |= _NLM_F_REQUEST | _NLM_F_ACK
    return struct.pack("=IHHII", 16 + len(payload), kind, flags, 1, 0) + payload


def _attribute(kind: int, payload: bytes) -> bytes:
    padding = -len(payload) % 4
    return struct.pack("=HH", 4 + len(payload), kind) + payload + bytes(padding)


def set_up(interface: int) -> bytes:
    """Return the request that brings the interface with this index up."""
    header = struct.pack("=BxHiII", 0, 0, interface, _IFF_UP, _IFF_UP)
    return _message(_RTM_NEWLINK, 0, header)


def add_address(interface: int, address: str, prefix: int) -> bytes:
    """Return the request that gives an interface an IPv4 address."""
    packed = bytes(int(byte) for byte in address.split("."))
    header = struct.pack("=BBBBi", _AF_INET, prefix, 0, 0, interface)
    attributes = _attribute(_IFA_LOCAL, packed) + _attribute(_IFA_ADDRESS, packed)
    return _message(_RTM_NEWADDR, _NLM_F_CREATE, header + attributes)


def set_qdisc(
    interface: int, qdisc: str, queue_packets: int, options: Mapping[str, Value], mbps: float
) -> bytes:
    """Return the request that makes a qdisc the root of an interface.

    Parameters
    ----------
    interface : int
        Index of the interface.
    qdisc : str
        A name in :data:`QDISCS`.
    queue_packets : int
        Limit in packets, for the qdiscs that have one.
    options : mapping
        As :func:`check_qdisc_options` accepts them.
    mbps : float
        Rate of the link behind the queue: RED has to know it.
    """
    kind = QDISCS[qdisc]
    header = struct.pack("=BxxxiIII", 0, interface, _ROOT_HANDLE, _TC_H_ROOT, 0)
    name = _attribute(_TCA_KIND, kind.name.encode() + b"\0")
    nested = _NLA_F_NESTED if kind.nested else 0
    body = _attribute(_TCA_OPTIONS | nested, kind.encode(_Link(queue_packets, mbps), options))
    return _message(_RTM_NEWQDISC, _NLM_F_CREATE | _NLM_F_REPLACE, header + name + body)


def check_qdisc_options(qdisc: str, options: Mapping[str, Value]) -> None:
    """Check that a qdisc is known and takes these options.

    Raises
    ------
    InputError
        If it is not or does not; the message names what there is.
    """
    if qdisc not in QDISCS:
        hint = _validate.choice_hint(qdisc, QDISCS)
        message = f"qdisc = {qdisc!r}: allowed are {', '.join(sorted(QDISCS))}: {hint}"
        raise InputError(message)
    kind = QDISCS[qdisc]
    for name, value in options.items():
        if name not in kind.options:
            names = ", ".join(kind.options) or "none"
            message = (
                f"qdisc_options.{name}: {qdisc} takes {names}: remove it or choose one of these"
            )
            raise InputError(message)
        kind.options[name].scaled(name, value)
    if kind.needs and kind.needs not in options:
        message = f"qdisc_options.{kind.needs} is missing: add it, as {qdisc} needs it"
        raise InputError(message)


class _Link(NamedTuple):
    """What a qdisc may have to know."""

    queue_packets: int
    mbps: float


_YES_NO = Range(0, 1)
_LARGEST_U32 = 2**32 - 1


@dataclass(frozen=True)
class _Option:
    """One option of a qdisc: the attribute or field that it becomes, and the factor from its unit.

    Options that are fields of a structure have no attribute, but a default value. One with
    `choices` is one of these words, and becomes its place among them. `largest` is in the kernel's
    unit.
    """

    attribute: int = 0
    scale: float = 1
    default: float = 0
    allowed: Range | None = None
    choices: tuple[str, ...] = ()
    largest: int = _LARGEST_U32

    def scaled(self, name: str, value: Value) -> int:
        field_name = f"qdisc_options.{name}"
        if self.choices:
            _validate.one_of(field_name, value, self.choices)
            return self.choices.index(str(value))
        if self.allowed == _YES_NO and isinstance(value, bool):
            return int(value)
        if self.allowed is not None and self.scale == 1:
            _validate.whole(field_name, value, self.allowed, example=round(self.default))
        elif self.allowed is not None:
            _validate.number(field_name, value, self.allowed, example=self.default)
        # Compared before it is multiplied: whole numbers in TOML may be longer than floats.
        most = self.largest / self.scale
        if isinstance(value, str) or not 0 <= value <= most:
            allowed = f"a number from 0 to {most:.10g}"
            raise _validate.bad(field_name, value, allowed, "write one of these")
        return min(round(value * self.scale), _LARGEST_U32)

    def encode(self, name: str, value: Value) -> bytes:
        return _attribute(self.attribute, struct.pack("=I", self.scaled(name, value)))


@dataclass(frozen=True)
class _Qdisc:
    """A qdisc: the kernel's name for it, how it takes the limit in packets, its options."""

    name: str
    limit: Callable[[int], bytes]
    options: Mapping[str, _Option] = field(default_factory=dict)
    needs = ""

    @property
    def nested(self) -> bool:
        """Whether the options are attributes of their own rather than one structure."""
        return bool(self.options)

    def encode(self, link: _Link, options: Mapping[str, Value]) -> bytes:
        encoded = [self.options[name].encode(name, value) for name, value in options.items()]
        return self.limit(link.queue_packets) + b"".join(encoded)


@dataclass(frozen=True)
class _StructQdisc:
    """A qdisc that takes all its options in one structure.

    `pack` gets the options in their units in the kernel, those not given with their defaults.
    """

    name: str
    pack: Callable[[_Link, Mapping[str, int]], bytes]
    options: Mapping[str, _Option]
    needs: str = ""
    nested = True

    def encode(self, link: _Link, options: Mapping[str, Value]) -> bytes:
        scaled = {
            name: option.scaled(name, options.get(name, option.default))
            for name, option in self.options.items()
        }
        return self.pack(link, scaled)


def _plain(queue_packets: int) -> bytes:
    return struct.pack("=I", queue_packets)


def _in_bytes(queue_packets: int) -> bytes:
    return struct.pack("=I", queue_packets * MTU_BYTES)


def _sfq(queue_packets: int) -> bytes:
    # Quantum, perturbation period, limit, divisor, flows: 0 is the kernel's default.
    return struct.pack("=IiIII", 0, 0, queue_packets, 0, 0)


def _none(_: int) -> bytes:
    return b""


def _attribute_1(queue_packets: int) -> bytes:
    return _attribute(1, struct.pack("=I", queue_packets))


def _attribute_2(queue_packets: int) -> bytes:
    return _attribute(2, struct.pack("=I", queue_packets))


_RED_ECN = 1
_RED_ADAPTIVE = 4
#: Weight of a new sample in RED's average as a power of 1/2: 0.002, as Floyd recommends.
_RED_WEIGHT_LOG = 9


def _red(link: _Link, options: Mapping[str, int], unit: int) -> bytes:
    """Encode RED, or CHOKe, which is alike but for the unit of lengths: bytes, or packets."""
    longest = options["max_packets"] or max(2, link.queue_packets // 4)
    shortest = options["min_packets"] or max(1, longest // 3)
    if shortest >= longest:
        message = (
            f"qdisc_options.min_packets = {shortest}: must be below max_packets, which is {longest}"
            ": lower it"
        )
        raise InputError(message)
    longest, shortest = unit * longest, unit * shortest
    # The average has to fit into 32 bits with its fraction.
    weight_log = max(1, min(_RED_WEIGHT_LOG, 31 - longest.bit_length()))
    # After an idle time the average decays as if small packets had come all the while: a table has
    # how often it halves in 0 to 255 cells of time, each about as long as 1/weight packets.
    packet_us = MTU_BYTES * 8 / link.mbps
    cell_log = min(31, max(0, round(math.log2(packet_us) + weight_log)))
    halvings = -math.log2(1 - 2**-weight_log) * 2**cell_log / packet_us
    table = bytes(min(31, round(cell * halvings)) for cell in range(256))
    flags = _RED_ECN * bool(options["ecn"]) | _RED_ADAPTIVE * bool(options.get("adaptive"))
    limit = unit * link.queue_packets
    parameters = struct.pack("=IIIBBBB", limit, shortest, longest, weight_log, 0, cell_log, flags)
    return (
        _attribute(1, parameters)
        + _attribute(2, table)
        + _attribute(3, struct.pack("=I", options["probability"]))
    )


def _red_bytes(link: _Link, options: Mapping[str, int]) -> bytes:
    return _red(link, options, MTU_BYTES)


def _choke(link: _Link, options: Mapping[str, int]) -> bytes:
    return _red(link, options, 1)


def _sfb(link: _Link, options: Mapping[str, int]) -> bytes:
    values = (options[name] for name in ("rehash_ms", "warmup_ms", "max_packets", "bin_packets"))
    steps = (options[name] for name in ("increment", "decrement"))
    penalty = (options[name] for name in ("penalty_rate", "penalty_burst"))
    return _attribute(1, struct.pack("=9I", *values, *steps, link.queue_packets, *penalty))


def _tbf(link: _Link, options: Mapping[str, int]) -> bytes:
    # Cell log, link layer (1: no table of transmission times), overhead, alignment, MPU, rate.
    rate = struct.pack("=BBHhHI", 0, 1, 0, 0, 0, options["rate_mbps"])
    no_peak = bytes(len(rate))
    parameters = struct.pack("=III", link.queue_packets * MTU_BYTES, 0, 0)
    burst = struct.pack("=I", options["burst_packets"] * MTU_BYTES)
    return _attribute(1, rate + no_peak + parameters) + _attribute(6, burst)


_US_PER_MS = 1000
_BYTES_PER_MBIT = 1e6 / 8
#: Of options that become a number of bytes.
_MOST_PACKETS = _LARGEST_U32 // MTU_BYTES
_FLAG = _Option  # a number as well: 0 or 1

_CODEL = {
    "target_ms": _Option(1, _US_PER_MS),
    "interval_ms": _Option(3, _US_PER_MS),
    "ecn": _FLAG(4),
    "ce_threshold_ms": _Option(5, _US_PER_MS),
}
_PIE = {
    "target_ms": _Option(1, _US_PER_MS),
    "tupdate_ms": _Option(3, _US_PER_MS),
    "alpha": _Option(4),
    "beta": _Option(5),
    "ecn": _FLAG(6),
    "bytemode": _FLAG(7),
    "dq_rate_estimator": _FLAG(8),
}
_FQ = {
    "flow_limit": _Option(2),
    "quantum": _Option(3),
    "initial_quantum": _Option(4),
    "pacing": _FLAG(5),
    "flow_max_rate_mbps": _Option(7, _BYTES_PER_MBIT),
    "horizon_ms": _Option(14, _US_PER_MS),
    "ce_threshold_ms": _Option(12, _US_PER_MS),
}
_FQ_CODEL = {
    "target_ms": _Option(1, _US_PER_MS),
    "interval_ms": _Option(3, _US_PER_MS),
    "ecn": _FLAG(4),
    "flows": _Option(5),
    "quantum": _Option(6),
    "ce_threshold_ms": _Option(7, _US_PER_MS),
    "drop_batch": _Option(8),
    "memory_limit": _Option(9),
}
_FQ_PIE = {
    "flows": _Option(2),
    "target_ms": _Option(3, _US_PER_MS),
    "tupdate_ms": _Option(4, _US_PER_MS),
    "alpha": _Option(5),
    "beta": _Option(6),
    "quantum": _Option(7),
    "memory_limit": _Option(8),
    "ecn_prob": _Option(9),
    "ecn": _FLAG(10),
    "bytemode": _FLAG(11),
}
_CAKE = {
    "rtt_ms": _Option(7, _US_PER_MS),
    "target_ms": _Option(8, _US_PER_MS),
    "flow_mode": _Option(5),
    "diffserv_mode": _Option(3),
    "memory": _Option(10),
    "ack_filter": _Option(16),
}
_HHF = {
    "quantum": _Option(2),
    "hh_limit": _Option(3),
    "reset_timeout_ms": _Option(4, _US_PER_MS),
    "admit_bytes": _Option(5),
    "evict_timeout_ms": _Option(6, _US_PER_MS),
    "non_hh_weight": _Option(7),
}
_CHOKE = {
    # 0: a quarter of the queue, and a third of that.
    "max_packets": _Option(largest=_MOST_PACKETS),
    "min_packets": _Option(largest=_MOST_PACKETS),
    "probability": _Option(scale=2**32, default=0.02, largest=2**32),
    "ecn": _FLAG(),
}
_RED = {**_CHOKE, "adaptive": _FLAG()}
_SFB_PROBABILITY = 2**16 - 1
_SFB = {
    "max_packets": _Option(default=25),
    "bin_packets": _Option(default=20),
    "increment": _Option(scale=_SFB_PROBABILITY, default=0.001),
    "decrement": _Option(scale=_SFB_PROBABILITY, default=0.000_17),
    "rehash_ms": _Option(default=600_000),
    "warmup_ms": _Option(default=60_000),
    "penalty_rate": _Option(default=10),
    "penalty_burst": _Option(default=20),
}
_SHARE = 2**16
_LONGEST_MS = 1e5
_ABC = {
    "eta": _Option(2, _SHARE, 0.98, Range(0.001, 1)),
    "delta_ms": _Option(3, _US_PER_MS, 133, Range(1, _LONGEST_MS)),
    "d_t_ms": _Option(4, _US_PER_MS, 20, Range(0, _LONGEST_MS)),
    "window_ms": _Option(5, _US_PER_MS, 40, Range(1, 1e4)),
    "token_limit": _Option(6, _SHARE, 5, Range(2, 1000)),
    "rate_mbps": _Option(7, 1000, 24, Range(0.001, 4e6)),
    "rate": _Option(8, choices=("known", "estimated")),
    "encoding": _Option(9, choices=("proxied", "full")),
    "feedback": _Option(10, choices=("dequeue", "enqueue")),
    "lookahead_ms": _Option(11, _US_PER_MS, 100, Range(0, _LONGEST_MS)),
    "two_queues": _Option(12, 1, 1, _YES_NO),
    "largest_flows": _Option(13, 1, 10, Range(1, 64)),
    "headroom": _Option(14, _SHARE, 0.1, Range(0, 1)),
    "weight_interval_ms": _Option(15, _US_PER_MS, 200, Range(1, _LONGEST_MS)),
}
_TBF = {
    "rate_mbps": _Option(scale=_BYTES_PER_MBIT),
    "burst_packets": _Option(default=10, largest=_MOST_PACKETS),
}

#: The qdiscs that can be a bottleneck's queue, by the names that scenarios use. The kernel has more
#: in which packets can wait: they need several priorities or classes (gred, htb, pfifo_fast, prio,
#: skbprio), or are no queue but a link of their own (netem).
QDISCS: Mapping[str, _Qdisc | _StructQdisc] = MappingProxyType(
    {
        "droptail": _Qdisc("pfifo", _plain),
        "pfifo": _Qdisc("pfifo", _plain),
        "pfifo_head_drop": _Qdisc("pfifo_head_drop", _plain),
        "bfifo": _Qdisc("bfifo", _in_bytes),
        "sfq": _Qdisc("sfq", _sfq),
        "codel": _Qdisc("codel", _attribute_2, _CODEL),
        "pie": _Qdisc("pie", _attribute_2, _PIE),
        "fq": _Qdisc("fq", _attribute_1, _FQ),
        "fq_codel": _Qdisc("fq_codel", _attribute_2, _FQ_CODEL),
        "fq_pie": _Qdisc("fq_pie", _attribute_1, _FQ_PIE),
        # cake's queue is limited by its memory, not in packets.
        "cake": _Qdisc("cake", _none, _CAKE),
        "hhf": _Qdisc("hhf", _attribute_1, _HHF),
        "abc": _Qdisc("abc", _attribute_1, _ABC),
        "red": _StructQdisc("red", _red_bytes, _RED),
        "choke": _StructQdisc("choke", _choke, _CHOKE),
        "sfb": _StructQdisc("sfb", _sfb, _SFB),
        # A rate below the link's, with bursts: what providers shape with.
        "tbf": _StructQdisc("tbf", _tbf, _TBF, needs="rate_mbps"),
    }
)
