# SPDX-License-Identifier: Apache-2.0
"""Connection of a private host to the machine's network, which turns the host into a router.

It changes the machine only by a device and a rule, both of which are removed at the end.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from ccbench.emulate.realtime.namespaces import call, inside_namespace_of, set_sysctls

__all__ = ["Uplink"]

#: The machine's devices, each with a network of four addresses, which are reserved for
#: documentation. The device's creator therefore has exclusive use of the addresses.
_DEVICE = "ccbench{number}"
_ADDRESS = "198.51.100.{number}"
_COUNT = 64
_ROUTER_DEVICE = "uplink"
#: Error message of `ip` for an existing device.
_EXISTS = "File exists"

_ROUTER_SYSCTLS = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.disable_ipv6": "1"}
_NAT = ("iptables", "--wait", "--table", "nat")
_MASQUERADE = ("--jump", "MASQUERADE")


class Uplink:
    """A wire between the machine and a router, which is created and removed once.

    Several threads may call its methods, in the machine's network namespace.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number: int | None = None
        self._is_over = False

    def make(self, router: int) -> None:
        """Turn the host of the process `router` into a router connected to this machine.

        Packets leave this machine with its own addresses. After :meth:`remove`, this has no effect.

        Raises
        ------
        RuntimeError
            If it fails. :meth:`remove` must still be called.
        """
        with self._lock:
            if self._is_over:
                return
            self._number = _new_device(router)
            device, machine_address, router_address = self._names()
            call("ip", "address", "add", f"{machine_address}/30", "dev", device)
            call("ip", "link", "set", device, "up")
            # A killed session may have left the rule behind.
            if not _succeeds(*_NAT, "--check", *self._rule()):
                call(*_NAT, "--append", *self._rule())
            with inside_namespace_of(router):
                set_sysctls(_ROUTER_SYSCTLS)
                call("ip", "address", "add", f"{router_address}/30", "dev", _ROUTER_DEVICE)
                call("ip", "link", "set", _ROUTER_DEVICE, "up")
                route = ("default", "via", machine_address, "dev", _ROUTER_DEVICE)
                call("ip", "route", "replace", *route)
                # Prevents ICMP errors about an unreachable network after the uplink's removal.
                call("ip", "route", "add", "blackhole", "default", "metric", "1")
                rule = ("POSTROUTING", "--out-interface", _ROUTER_DEVICE, *_MASQUERADE)
                call(*_NAT, "--append", *rule)

    def remove(self) -> None:
        """Undo the changes of the machine; further calls have no effect."""
        with self._lock:
            self._is_over = True
            if self._number is None:
                return
            device, _, _ = self._names()
            with suppress(RuntimeError):  # the rule may not have been added
                call(*_NAT, "--delete", *self._rule())
            with suppress(RuntimeError):
                call("ip", "link", "delete", device)
            self._number = None

    def _names(self) -> tuple[str, str, str]:
        """Return the machine's device, the machine's address and the router's address."""
        assert self._number is not None
        first = 4 * self._number
        machine_address, router_address = (_ADDRESS.format(number=first + i) for i in (1, 2))
        return _DEVICE.format(number=self._number), machine_address, router_address

    def _rule(self) -> tuple[str, ...]:
        _, _, router_address = self._names()
        return ("POSTROUTING", "--source", f"{router_address}/32", *_MASQUERADE)


def _new_device(router: int) -> int:
    """Create a pair of devices for machine and router; return the number of the machine's."""
    for number in range(_COUNT):
        name = _DEVICE.format(number=number)
        peer = ("peer", "name", _ROUTER_DEVICE, "netns", str(router))
        try:
            call("ip", "link", "add", name, "type", "veth", *peer)
        except RuntimeError as error:
            if _EXISTS not in str(error):
                raise
        else:
            return number
    raise RuntimeError(f"there are {_COUNT} links to this machine already")


def _succeeds(*words: str) -> bool:
    try:
        call(*words)
    except RuntimeError:
        return False
    return True
