# SPDX-License-Identifier: Apache-2.0
"""Encoding of rtnetlink requests to the guest's network stack.

The guest has no ``ip`` or ``tc``; its init passes the encoded requests to the kernel.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs import Link, attribute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.experiment.qdiscs import Qdisc, Value

__all__ = ["add_address", "qdisc_attribute", "set_qdisc", "set_up"]

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


def set_up(interface: int) -> bytes:
    """Return the request that brings the interface with this index up."""
    header = struct.pack("=BxHiII", 0, 0, interface, _IFF_UP, _IFF_UP)
    return _message(_RTM_NEWLINK, 0, header)


def add_address(interface: int, address: str, prefix: int) -> bytes:
    """Return the request that gives an interface an IPv4 address."""
    packed = bytes(int(byte) for byte in address.split("."))
    header = struct.pack("=BBBBi", _AF_INET, prefix, 0, 0, interface)
    attributes = attribute(_IFA_LOCAL, packed) + attribute(_IFA_ADDRESS, packed)
    return _message(_RTM_NEWADDR, _NLM_F_CREATE, header + attributes)


def qdisc_attribute(qdisc: Qdisc, encoded: bytes) -> bytes:
    """Return the attribute with the encoded options of a qdisc."""
    # Options are either nested attributes or one structure.
    return attribute(_TCA_OPTIONS | (_NLA_F_NESTED if qdisc.is_nested else 0), encoded)


def set_qdisc(
    interface: int, qdisc: Qdisc, queue_packets: int, options: Mapping[str, Value], mbps: float
) -> bytes:
    """Return the request that sets the root qdisc of an interface.

    Parameters
    ----------
    interface : int
        Index of the interface.
    qdisc : Qdisc
        The qdisc.
    queue_packets : int
        Limit in packets, for qdiscs that have one.
    options : mapping
        Options as returned by :meth:`~ccbench.experiment.qdiscs.Qdisc.check`.
    mbps : float
        Rate of the link after the queue in Mbit/s, required by RED.
    """
    header = struct.pack("=BxxxiIII", 0, interface, _ROOT_HANDLE, _TC_H_ROOT, 0)
    name = attribute(_TCA_KIND, qdisc.kernel_name.encode() + b"\0")
    body = qdisc_attribute(qdisc, qdisc.encode(Link(queue_packets, mbps), options))
    return _message(_RTM_NEWQDISC, _NLM_F_CREATE | _NLM_F_REPLACE, header + name + body)
