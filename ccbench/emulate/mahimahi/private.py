# SPDX-License-Identifier: Apache-2.0
"""Configuration of private namespaces for Mahimahi."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ccbench.emulate.mahimahi.iptables import let_iptables_serve_users
from ccbench.emulate.realtime.namespaces import HERE, set_sysctls, settle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ROUTER_SYSCTLS", "make_ready", "prepare"]

#: Sysctls of the network namespaces. Mahimahi's programs start only if packets are forwarded; with
#: IPv6, router solicitations would pass the bottleneck.
ROUTER_SYSCTLS = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.disable_ipv6": "1"}

#: Length of the queue from which a shell reads, in packets. The default of 500 is too short if many
#: flows start together, and its drops are not logged.
_QUEUE_PACKETS = "20000"


def prepare(folder: Path) -> None:
    """Configure the current mount and process namespaces for Mahimahi's shells."""
    settle(folder)
    let_iptables_serve_users(HERE)


def make_ready(sysctls: Mapping[str, str]) -> None:
    """Configure the network namespace of a shell, which this thread is in."""
    set_sysctls({**ROUTER_SYSCTLS, **sysctls})
    subprocess.run(["ip", "link", "set", "ingress", "txqueuelen", _QUEUE_PACKETS], check=True)
