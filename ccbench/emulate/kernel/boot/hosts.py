# SPDX-License-Identifier: Apache-2.0
"""Addresses of both hosts, and their memory of each other.

Linux remembers connections by source and destination address. Flows with the same `host` therefore
have a pair of addresses of their own, and the route between the others remembers nothing.
"""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv6Interface
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from ccbench.experiment.scenario import Scenario

    Interface: TypeAlias = IPv4Interface | IPv6Interface

__all__ = ["SENDER", "addresses", "forgetful_routes", "subnets", "sysctls", "uses_ipv6"]

#: IPv4 address of the sending host, as in ``kernel_modules/flows/flows.h``.
SENDER = "10.0.0.1"

_IPV6 = 6

#: Last parts of addresses, as in ``kernel_modules/flows/address.c``.
_SENDER = 1
_FIRST_RECEIVER = 2

#: Maximum number of flows per address of the receiver, since each uses a port of the sender; as in
#: ``kernel_modules/flows/address.c``.
_FLOWS_PER_ADDRESS = 25_000

#: Number of the subnet of the first host with a memory; background traffic uses the subnet 1.
_FIRST_SUBNET = 256


def uses_ipv6(scenario: Scenario) -> bool:
    """Return whether a flow uses IPv6."""
    return any(flow.ip_version == _IPV6 for flow in scenario.flows)


def subnets(scenario: Scenario) -> dict[str, int]:
    """Return the number of the subnet of each `host` of flows; flows without one have subnet 0."""
    names = dict.fromkeys(flow.host for flow in scenario.flows if flow.host)
    return {name: number for number, name in enumerate(names, _FIRST_SUBNET)}


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


def _address(version: int, subnet: int, host: int) -> Interface:
    if version == _IPV6:
        return IPv6Interface(f"fd00::{subnet:x}:0:0:0:{host:x}/64")
    return IPv4Interface(f"10.{subnet >> 8}.{subnet & 255}.{host}/24")


def forgetful_routes(scenario: Scenario, *, sends: bool) -> Iterator[Interface]:
    """Yield the addresses of a host whose networks must remember no connections."""
    if not subnets(scenario):
        return  # nothing is remembered
    for version in (4, 6) if uses_ipv6(scenario) else (4,):
        yield addresses(scenario, version, sends=sends)[0]


def sysctls(scenario: Scenario) -> dict[str, str]:
    """Return the sysctls of both hosts for IPv6 and memory."""
    values = {}
    if uses_ipv6(scenario):
        values["net.ipv6.fwmark_reflect"] = "1"
    if subnets(scenario):
        values["net.ipv4.tcp_no_metrics_save"] = "0"
        values["net.ipv4.tcp_no_ssthresh_metrics_save"] = "0"
    return values
