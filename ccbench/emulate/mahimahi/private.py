# SPDX-License-Identifier: Apache-2.0
"""Namespaces of one's own: what Mahimahi needs there, without a change for anybody else."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from ccbench.emulate.mahimahi.iptables import let_iptables_serve_users
from ccbench.emulate.realtime.namespaces import HERE, set_sysctls, settle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ROUTER_SYSCTLS", "make_ready", "prepare"]

#: Settings of the network namespaces. Mahimahi's programs forward packets, and start only where
#: that is allowed; whoever speaks IPv6 asks for routers, through the bottleneck.
ROUTER_SYSCTLS = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.disable_ipv6": "1"}

#: Packets that wait until a shell reads them. The usual 500 are too few for many flows that start
#: together, and what finds no room is in no log.
_ENTRANCE = "20000"


def prepare(folder: Path) -> None:
    """Make these mount and process namespaces ready for Mahimahi's shells."""
    settle(folder)
    let_iptables_serve_users(HERE)


def make_ready(sysctls: Mapping[str, str]) -> None:
    """Make the network namespace of a shell, which this thread is in, ready for a scenario."""
    set_sysctls({**ROUTER_SYSCTLS, **sysctls})
    subprocess.run(["ip", "link", "set", "ingress", "txqueuelen", _ENTRANCE], check=True)
