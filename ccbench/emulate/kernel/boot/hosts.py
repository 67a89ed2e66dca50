# SPDX-License-Identifier: Apache-2.0
"""Addresses of both hosts, and their memory of each other.

Linux remembers connections by source and destination address, and has initial windows by
destination. Flows with the same `host` and `initcwnd` therefore have a pair of addresses of their
own, and the routes between the others remember nothing.
"""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv6Interface
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ccbench.experiment.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.experiment.scenario import Flow, Scenario

Interface: TypeAlias = IPv4Interface | IPv6Interface

__all__ = [
    "SENDER",
    "addresses",
    "plain_address",
    "routes",
    "subnet_key",
    "subnets",
    "sysctls",
    "uses_ipv6",
]

#: IPv4 address of the sending host, as in ``kernel_modules/flows/flows.h``.
SENDER = "10.0.0.1"

_IPV6 = 6

#: Last parts of addresses, as in ``kernel_modules/flows/address.c``.
_SENDER = 1
_FIRST_RECEIVER = 2

#: Maximum number of flows per address of the receiver, since each uses a port of the sender; as in
#: ``kernel_modules/flows/address.c``.
_FLOWS_PER_ADDRESS = 25_000

#: Number of the first subnet of its own; background traffic uses the subnet 1.
_FIRST_SUBNET = 256


class Route(NamedTuple):
    """The route of a host to the network of its address.

    Parameters
    ----------
    address : IPv4Interface or IPv6Interface
        The address.
    initcwnd : int or None
        Initial congestion window of connections; by default Linux's.
    forgets : bool
        Whether connections neither store nor use metrics of earlier ones.
    """

    address: Interface
    initcwnd: int | None
    forgets: bool


def uses_ipv6(scenario: Scenario) -> bool:
    """Return whether a flow uses IPv6, or a program may, if only for the sockets of IPv4."""
    return any(flow.ip_version == _IPV6 or KINDS[flow.kind].is_program for flow in scenario.flows)


def subnet_key(flow: Flow) -> tuple[str, int | None]:
    """Return what flows in the same subnet have in common."""
    return flow.host, flow.initcwnd


def subnets(scenario: Scenario) -> dict[tuple[str, int | None], int]:
    """Return the number of the subnet by :func:`subnet_key`; other flows have subnet 0."""
    keys = dict.fromkeys(map(subnet_key, scenario.flows))
    return {key: number for number, key in enumerate(filter(any, keys), _FIRST_SUBNET)}


def addresses(scenario: Scenario, version: int, *, sends: bool) -> list[Interface]:
    """Return the addresses of a host with their networks.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    version : int
        Version of IP.
    sends : bool
        Whether the host is the sending one.
    """
    receivers = 1 + (scenario.flow_count - 1) // _FLOWS_PER_ADDRESS
    hosts = [_SENDER] if sends else range(_FIRST_RECEIVER, _FIRST_RECEIVER + receivers)
    own = [_SENDER if sends else _FIRST_RECEIVER]
    return [
        *(_address(version, 0, host) for host in hosts),
        *(_address(version, subnet, host) for subnet in subnets(scenario).values() for host in own),
    ]


def plain_address(version: int, *, sends: bool) -> str:
    """Return the address of a host for flows without a subnet of their own.

    Examples
    --------
    >>> plain_address(4, sends=True), plain_address(6, sends=False)
    ('10.0.0.1', 'fd00::2')
    """
    return str(_address(version, 0, _SENDER if sends else _FIRST_RECEIVER).ip)


def _address(version: int, subnet: int, host: int) -> Interface:
    if version == _IPV6:
        return IPv6Interface(f"fd00::{subnet:x}:0:0:0:{host:x}/64")
    return IPv4Interface(f"10.{subnet >> 8}.{subnet & 255}.{host}/24")


def routes(scenario: Scenario, *, sends: bool) -> Iterator[Route]:
    """Yield the routes of a host that differ from those that Linux has by itself."""
    remembers = any(flow.host for flow in scenario.flows)
    numbers = {("", None): 0} | subnets(scenario)
    for version in (4, 6) if uses_ipv6(scenario) else (4,):
        for (host, initcwnd), number in numbers.items():
            # Without hosts that remember, nothing is remembered.
            forgets = remembers and not host
            if forgets or initcwnd:
                own = _SENDER if sends else _FIRST_RECEIVER
                yield Route(_address(version, number, own), initcwnd, forgets=forgets)


def sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the sysctls of both hosts for IPv6 and memory."""
    values = {}
    if uses_ipv6(scenario):
        values["net.ipv6.fwmark_reflect"] = "1"
    if any(flow.host for flow in scenario.flows):
        values["net.ipv4.tcp_no_metrics_save"] = "0"
        values["net.ipv4.tcp_no_ssthresh_metrics_save"] = "0"
    return values
