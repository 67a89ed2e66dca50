# SPDX-License-Identifier: Apache-2.0
"""The two hosts, each in a network namespace of its own, and the wires that lead to the switch."""

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

#: Their addresses, and the names of their wires' ends at the switch. The addresses are for
#: documentation: nobody whom a command may want to reach has them.
HOSTS = {"sender": "192.0.2.1", "receiver": "192.0.2.2"}
_MACS = {"sender": "02:00:00:00:00:01", "receiver": "02:00:00:00:00:02"}
_DEVICE = "wire"

#: Where ``/proc/net/dev`` has the packets that a device has received and sent.
_RECEIVED, _SENT = 1, 9

#: The switch takes packets as they are on a real wire: each of its own, with its checksum.
_OFFLOADS = ("tso", "gso", "gro", "tx", "rx")


def ports() -> dict[str, str]:
    """Return the interface at the switch that leads to each host."""
    return {name: f"to-{name}" for name in HOSTS}


def connect(sysctls: Mapping[str, str]) -> dict[str, int]:
    """Make the hosts and their wires.

    Parameters
    ----------
    sysctls : mapping
        Settings of both hosts.

    Returns
    -------
    dict
        A process in the network namespace of each host. They end with this one's namespace of
        processes.
    """
    pids = {name: new_network() for name in HOSTS}
    quiet = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
    set_sysctls(quiet)
    for name, far in zip(HOSTS, reversed(HOSTS), strict=True):
        port, pid = ports()[name], pids[name]
        host_end = ("peer", "name", _DEVICE, "address", _MACS[name], "netns", str(pid))
        with inside_namespace_of(pid):
            set_sysctls(quiet)
        call("ip", "link", "add", port, "type", "veth", *host_end)
        call("ip", "link", "set", port, "up")
        _plain(port)
        with inside_namespace_of(pid):
            call("ip", "link", "set", "lo", "up")
            _plain(_DEVICE)
            call("ip", "address", "add", f"{HOSTS[name]}/24", "dev", _DEVICE)
            call("ip", "link", "set", _DEVICE, "up")
            # Nobody asks who has an address: that would be packets of no flow.
            call("ip", "neighbour", "add", HOSTS[far], "lladdr", _MACS[far], "dev", _DEVICE)
            call("ip", "route", "add", "default", "via", HOSTS[far])
            set_sysctls(sysctls)
    return pids


def carried(pid: int) -> tuple[int, int]:
    """Return how many packets a host, of which this is a process, has sent and received so far.

    Raises
    ------
    RuntimeError
        If its wire is gone.
    """
    for line in Path(f"/proc/{pid}/net/dev").read_text(encoding="utf-8").splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == _DEVICE:
            numbers = [int(number) for number in counters.split()]
            return numbers[_SENT], numbers[_RECEIVED]
    raise RuntimeError("a host has lost its wire")


def _plain(device: str) -> None:
    call("ethtool", "-K", device, *(word for offload in _OFFLOADS for word in (offload, "off")))
