# SPDX-License-Identifier: Apache-2.0
"""The two hosts, each in its own network namespace, and their wires to the switch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.realtime.namespaces import (
    call,
    inside_namespace_of,
    new_network,
    set_sysctls,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HOSTS", "carried", "connect", "ports"]

#: The hosts and their addresses, which are reserved for documentation and so unused by others.
HOSTS = {"sender": "192.0.2.1", "receiver": "192.0.2.2"}
_MACS = {"sender": "02:00:00:00:00:01", "receiver": "02:00:00:00:00:02"}
_DEVICE = "wire"

#: Columns of ``/proc/net/dev`` with the numbers of received and sent packets.
_RECEIVED, _SENT = 1, 9

#: Disabled offloads, so that the switch receives packets as on a real wire: single, with checksums.
_OFFLOADS = ("tso", "gso", "gro", "tx", "rx")


def ports() -> dict[str, str]:
    """Return the interface at the switch that leads to each host."""
    return {name: f"to-{name}" for name in HOSTS}


def connect(sysctls: Mapping[str, str]) -> dict[str, int]:
    """Create the hosts and their wires.

    Parameters
    ----------
    sysctls : mapping
        Sysctls of both hosts.

    Returns
    -------
    dict
        A process in the network namespace of each host, which ends with the process namespace of
        this process.
    """
    pids = {name: new_network() for name in HOSTS}
    quiet = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
    set_sysctls(quiet)
    for name, peer in zip(HOSTS, reversed(HOSTS), strict=True):
        port, pid = ports()[name], pids[name]
        host_end = ("peer", "name", _DEVICE, "address", _MACS[name], "netns", str(pid))
        with inside_namespace_of(pid):
            set_sysctls(quiet)
        call("ip", "link", "add", port, "type", "veth", *host_end)
        call("ip", "link", "set", port, "up")
        _disable_offloads(port)
        with inside_namespace_of(pid):
            call("ip", "link", "set", "lo", "up")
            _disable_offloads(_DEVICE)
            call("ip", "address", "add", f"{HOSTS[name]}/24", "dev", _DEVICE)
            call("ip", "link", "set", _DEVICE, "up")
            # A static entry avoids ARP packets, which would not belong to any flow.
            call("ip", "neighbour", "add", HOSTS[peer], "lladdr", _MACS[peer], "dev", _DEVICE)
            call("ip", "route", "add", "default", "via", HOSTS[peer])
            set_sysctls(sysctls)
    return pids


def carried(pid: int) -> tuple[int, int]:
    """Return the numbers of packets that the host of a process has sent and received.

    Raises
    ------
    RuntimeError
        If its wire no longer exists.
    """
    for line in Path(f"/proc/{pid}/net/dev").read_text(encoding="utf-8").splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == _DEVICE:
            numbers = [int(number) for number in counters.split()]
            return numbers[_SENT], numbers[_RECEIVED]
    raise RuntimeError("a host has lost its wire")


def _disable_offloads(device: str) -> None:
    call("ethtool", "-K", device, *(word for offload in _OFFLOADS for word in (offload, "off")))
