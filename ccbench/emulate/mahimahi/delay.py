# SPDX-License-Identifier: Apache-2.0
"""mm-delay: supported delays, and a host behind it."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.gates import Gates, end
from ccbench.emulate.mahimahi.iptables import let_iptables_serve_users
from ccbench.emulate.mahimahi.private import ROUTER_SYSCTLS, make_ready
from ccbench.emulate.realtime.files import CONSOLE
from ccbench.emulate.realtime.namespaces import HERE, inside_namespace_of, set_sysctls

if TYPE_CHECKING:
    import pwd
    from collections.abc import Iterator, Mapping

__all__ = ["LARGEST_JITTER_MS", "behind_delay", "check_rtt", "delay_shell"]

#: Maximum jitter in milliseconds: packets leave mm-delay at whole milliseconds.
LARGEST_JITTER_MS = 1.0

#: Resolution of the round-trip time in milliseconds: a whole millisecond in each direction.
_RTT_STEP_MS = 2


def check_rtt(rtt_ms: float, engine: str) -> None:
    """Check that mm-delay supports this delay.

    Raises
    ------
    InputError
        If it does not; the message names the engine.
    """
    if rtt_ms % _RTT_STEP_MS:
        nearest = max(1, round(rtt_ms / _RTT_STEP_MS)) * _RTT_STEP_MS
        allowed = f"an even number with the engine {engine}, as mm-delay delays by whole ms per way"
        raise validation.bad("rtt_ms", rtt_ms, allowed, f"write for example {nearest}")


def delay_shell(rtt_ms: float) -> list[str]:
    """Return the command line of the shell, without the command that it runs."""
    return ["mm-delay", f"{rtt_ms / _RTT_STEP_MS:.0f}"]


@contextmanager
def behind_delay(
    outside: int, rtt_ms: float, user: pwd.struct_passwd, sysctls: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """Create a host behind mm-delay, which delays packets in both directions.

    The mount namespace must have been prepared by
    :func:`~ccbench.emulate.realtime.namespaces.settle`.

    Parameters
    ----------
    outside : int
        A process in the network namespace in which the shell is started.
    rtt_ms : float
        The delay of both directions together in milliseconds.
    user : struct_passwd
        The user of the shell.
    sysctls : mapping
        Sysctls of the host.

    Yields
    ------
    int
        A process in the host's network namespace.
    str
        The host's address from outside.

    Raises
    ------
    RuntimeError
        If the shell does not start, or ends early.
    """
    let_iptables_serve_users(HERE)
    gates = Gates(HERE / files.GATES, user)
    with inside_namespace_of(outside):
        set_sysctls(ROUTER_SYSCTLS)
        shell = gates.start([delay_shell(rtt_ms)], HERE / CONSOLE)
    (inside,), _ = gates.open_all(shell, 1, partial(make_ready, sysctls))
    with inside_namespace_of(inside):
        address = _address_of("ingress")
    yield inside, address
    end(shell)


def _address_of(device: str) -> str:
    """Return the IPv4 address of a device in this network namespace."""
    command = ["ip", "-json", "-4", "address", "show", "dev", device]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    (link,) = json.loads(process.stdout)
    address: str = link["addr_info"][0]["local"]
    return address
