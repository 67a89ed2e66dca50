# SPDX-License-Identifier: Apache-2.0
"""Requests to the guest's network stack, encoded on the host.

The guest has no ``ip`` or ``tc``; its init only passes on what is encoded here. Options of qdiscs
are a table: what a user writes, the attribute it becomes, and how.
"""

from __future__ import annotations

import difflib
import struct
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

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
    interface: int, qdisc: str, queue_packets: int, options: Mapping[str, Value]
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
    """
    kind = QDISCS[qdisc]
    header = struct.pack("=BxxxiIII", 0, interface, _ROOT_HANDLE, _TC_H_ROOT, 0)
    name = _attribute(_TCA_KIND, kind.name.encode() + b"\0")
    nested = _NLA_F_NESTED if kind.nested else 0
    body = _attribute(_TCA_OPTIONS | nested, kind.encode(queue_packets, options))
    return _message(_RTM_NEWQDISC, _NLM_F_CREATE | _NLM_F_REPLACE, header + name + body)


def check_qdisc_options(qdisc: str, options: Mapping[str, Value]) -> None:
    """Check that a qdisc is known and takes these options.

    Raises
    ------
    InputError
        If it is not or does not; the message names what there is.
    """
    if qdisc not in QDISCS:
        close = difflib.get_close_matches(qdisc, QDISCS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "choose one of these"
        message = f"qdisc = {qdisc!r}: allowed are {', '.join(sorted(QDISCS))}: {hint}"
        raise InputError(message)
    allowed = QDISCS[qdisc].options
    for name, value in options.items():
        if name not in allowed:
            names = ", ".join(allowed) or "none"
            message = (
                f"qdisc_options.{name}: {qdisc} takes {names}: remove it or choose one of these"
            )
            raise InputError(message)
        allowed[name].encode(name, value)


@dataclass(frozen=True)
class _Option:
    """One option of a qdisc: the attribute it becomes and the factor from its unit."""

    attribute: int
    scale: float = 1
    form: str = "=I"

    def encode(self, name: str, value: Value) -> bytes:
        if isinstance(value, str) or value < 0 or (scaled := round(value * self.scale)) >= 2**32:
            message = (
                f"qdisc_options.{name} = {value!r}: must be a number from 0 up: write a number"
            )
            raise InputError(message)
        return _attribute(self.attribute, struct.pack(self.form, scaled))


@dataclass(frozen=True)
class _Qdisc:
    """A qdisc: the kernel's name for it, how it takes the limit in packets, its options."""

    name: str
    limit: Callable[[int], bytes]
    options: Mapping[str, _Option] = field(default_factory=dict)

    @property
    def nested(self) -> bool:
        """Whether the options are attributes of their own rather than one structure."""
        return bool(self.options)

    def encode(self, queue_packets: int, options: Mapping[str, Value]) -> bytes:
        encoded = [self.options[name].encode(name, value) for name, value in options.items()]
        return self.limit(queue_packets) + b"".join(encoded)


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


_US_PER_MS = 1000
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
    "flow_max_rate_mbps": _Option(7, 1e6 / 8),
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

#: The qdiscs that can be a bottleneck's queue, by the names that scenarios use.
QDISCS: Mapping[str, _Qdisc] = MappingProxyType(
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
    }
)
