# SPDX-License-Identifier: Apache-2.0
"""Encoding of rtnetlink requests to the guest's network stack.

The guest has no ``ip`` or ``tc``; its init passes the encoded requests to the kernel.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs import attribute

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Interface, IPv6Interface

    from ccbench.experiment.qdiscs import Qdisc, QueuedLink, Value

__all__ = [
    "add_address",
    "qdisc_attribute",
    "remove_qdisc",
    "set_metrics",
    "set_qdisc",
    "set_up",
]

_NLM_F_REQUEST = 0x1
_NLM_F_ACK = 0x4
_NLM_F_REPLACE = 0x100
_NLM_F_CREATE = 0x400
_RTM_NEWLINK = 16
_RTM_NEWADDR = 20
_RTM_NEWROUTE = 24
_RTM_NEWQDISC = 36
_RTM_DELQDISC = 37
_FAMILIES = {4: 2, 6: 10}
_IFF_UP = 1
_IFA_ADDRESS = 1
_IFA_LOCAL = 2
#: IPv6: no search for duplicates (``IFA_F_NODAD``).
_ADDRESS_FLAGS = {4: 0, 6: 2}
_RT_TABLE_MAIN = 254
_RTPROT_KERNEL = 2
_RTN_UNICAST = 1
_RTA_DST = 1
_RTA_OIF = 4
_RTA_PRIORITY = 6
_RTA_PREFSRC = 7
_RTA_METRICS = 8
_RTAX_LOCK = 1
_RTAX_INITCWND = 11
#: Numbers of the metrics that Linux remembers and uses: RTT, RTTVAR, SSTHRESH, REORDERING.
_REMEMBERED = (4, 5, 6, 9)
#: Scope and priority of the routes to the networks of addresses, by version of IP.
_NETWORK_SCOPE = {4: 253, 6: 0}
_NETWORK_PRIORITY = {4: 0, 6: 256}
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


def add_address(interface: int, address: IPv4Interface | IPv6Interface) -> bytes:
    """Return the request that gives an interface an address, without a search for duplicates."""
    family, prefix = _FAMILIES[address.version], address.network.prefixlen
    flags = _ADDRESS_FLAGS[address.version]
    header = struct.pack("=BBBBi", family, prefix, flags, 0, interface)
    attributes = attribute(_IFA_LOCAL, address.packed) + attribute(_IFA_ADDRESS, address.packed)
    return _message(_RTM_NEWADDR, _NLM_F_CREATE, header + attributes)


def set_metrics(
    interface: int,
    address: IPv4Interface | IPv6Interface,
    initcwnd: int | None,
    *,
    forgets: bool,
) -> bytes:
    """Return the request that sets the metrics of the route to the network of an address.

    Parameters
    ----------
    interface : int
        Index of the interface.
    address : IPv4Interface or IPv6Interface
        The address.
    initcwnd : int or None
        Initial congestion window of connections.
    forgets : bool
        Whether connections are forgotten: TCP neither stores nor uses locked metrics.
    """
    metrics = b""
    if forgets:
        lock = struct.pack("=I", sum(1 << metric for metric in _REMEMBERED))
        metrics += attribute(_RTAX_LOCK, lock)
    if initcwnd is not None:
        metrics += attribute(_RTAX_INITCWND, struct.pack("=I", initcwnd))
    network, version = address.network, address.version
    fixed = (_RT_TABLE_MAIN, _RTPROT_KERNEL, _NETWORK_SCOPE[version], _RTN_UNICAST, 0)
    header = struct.pack("=8BI", _FAMILIES[version], network.prefixlen, 0, 0, *fixed)
    attributes = (
        attribute(_RTA_DST, network.network_address.packed)
        + attribute(_RTA_OIF, struct.pack("=I", interface))
        + attribute(_RTA_PRIORITY, struct.pack("=I", _NETWORK_PRIORITY[version]))
        + attribute(_RTA_PREFSRC, address.packed)
        + attribute(_RTA_METRICS | _NLA_F_NESTED, metrics)
    )
    return _message(_RTM_NEWROUTE, _NLM_F_REPLACE, header + attributes)


def qdisc_attribute(qdisc: Qdisc, encoded: bytes) -> bytes:
    """Return the attribute with the encoded options of a qdisc."""
    # Options are either nested attributes or one structure.
    return attribute(_TCA_OPTIONS | (_NLA_F_NESTED if qdisc.is_nested else 0), encoded)


def set_qdisc(
    interface: int, qdisc: Qdisc, link: QueuedLink, options: Mapping[str, Value]
) -> bytes:
    """Return the request that sets the root qdisc of an interface.

    Parameters
    ----------
    interface : int
        Index of the interface.
    qdisc : Qdisc
        The qdisc.
    link : Link
        The limit of the queue and the link after it.
    options : mapping
        Options as returned by :meth:`~ccbench.experiment.qdiscs.Qdisc.check`.
    """
    header = struct.pack("=BxxxiIII", 0, interface, _ROOT_HANDLE, _TC_H_ROOT, 0)
    name = attribute(_TCA_KIND, qdisc.kernel_name.encode() + b"\0")
    body = qdisc_attribute(qdisc, qdisc.encode(link, options))
    return _message(_RTM_NEWQDISC, _NLM_F_CREATE | _NLM_F_REPLACE, header + name + body)


def remove_qdisc(interface: int) -> bytes:
    """Return the request that removes the root qdisc of an interface."""
    header = struct.pack("=BxxxiIII", 0, interface, _ROOT_HANDLE, _TC_H_ROOT, 0)
    return _message(_RTM_DELQDISC, 0, header)
