# SPDX-License-Identifier: Apache-2.0
"""The way from a private host to the rest of the world: it becomes a router behind the machine.

That is all that a command behind BESS changes on the machine: a device and a rule, both of which
are gone when it ends.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from ccbench.emulate.realtime.namespaces import call, inside_namespace_of, set_sysctls

__all__ = ["Uplink"]

#: The machine's ends, each with a network of four addresses, which are for documentation: nobody
#: else has them. So whoever gets the device has the addresses to himself.
_DEVICE = "ccbench{number}"
_ADDRESS = "198.51.100.{number}"
_COUNT = 64
_FAR_DEVICE = "uplink"
#: What `ip` says of a device that is there.
_IS_THERE = "File exists"

_ROUTER_SYSCTLS = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.disable_ipv6": "1"}
_NAT = ("iptables", "--wait", "--table", "nat")


class Uplink:
    """A wire between the machine and a router, which is made once and removed once.

    Both may be called by several threads, each of which is in the machine's network namespace.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number: int | None = None
        self._is_over = False

    def make(self, router: int) -> None:
        """Make the host of which `router` is a process a router, whose way out leads over here.

        Packets have this machine's addresses when they leave it. Once :meth:`remove` was called,
        this does nothing.

        Raises
        ------
        RuntimeError
            If that fails. :meth:`remove` is to be called all the same.
        """
        with self._lock:
            if self._is_over:
                return
            self._number = _new_device(router)
            device, ours, theirs = self._names()
            call("ip", "address", "add", f"{ours}/30", "dev", device)
            call("ip", "link", "set", device, "up")
            # One that was killed with all that belongs to it may have left the rule.
            if not _works(*_NAT, "--check", *self._rule()):
                call(*_NAT, "--append", *self._rule())
            with inside_namespace_of(router):
                set_sysctls(_ROUTER_SYSCTLS)
                call("ip", "address", "add", f"{theirs}/30", "dev", _FAR_DEVICE)
                call("ip", "link", "set", _FAR_DEVICE, "up")
                call("ip", "route", "replace", "default", "via", ours, "dev", _FAR_DEVICE)
                # Afterwards nobody gets an answer that there is no way any more.
                call("ip", "route", "add", "blackhole", "default", "metric", "1")
                call(*_NAT, "--append", "POSTROUTING", "--out-interface", _FAR_DEVICE, *_OURS)

    def remove(self) -> None:
        """Take back what was changed on the machine; once more does nothing."""
        with self._lock:
            self._is_over = True
            if self._number is None:
                return
            device, _, _ = self._names()
            with suppress(RuntimeError):  # it may not have come so far
                call(*_NAT, "--delete", *self._rule())
            with suppress(RuntimeError):
                call("ip", "link", "delete", device)
            self._number = None

    def _names(self) -> tuple[str, str, str]:
        """Return the machine's device, its address, and that of the router."""
        assert self._number is not None
        first = 4 * self._number
        ours, theirs = (_ADDRESS.format(number=first + i) for i in (1, 2))
        return _DEVICE.format(number=self._number), ours, theirs

    def _rule(self) -> tuple[str, ...]:
        _, _, theirs = self._names()
        return ("POSTROUTING", "--source", f"{theirs}/32", *_OURS)


_OURS = ("--jump", "MASQUERADE")


def _new_device(router: int) -> int:
    """Make a pair of devices, one of which the router gets; return the number of the other."""
    for number in range(_COUNT):
        name = _DEVICE.format(number=number)
        peer = ("peer", "name", _FAR_DEVICE, "netns", str(router))
        try:
            call("ip", "link", "add", name, "type", "veth", *peer)
        except RuntimeError as error:
            if _IS_THERE not in str(error):
                raise
        else:
            return number
    raise RuntimeError(f"there are {_COUNT} links to this machine already")


def _works(*words: str) -> bool:
    try:
        call(*words)
    except RuntimeError:
        return False
    return True
