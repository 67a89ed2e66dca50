# SPDX-License-Identifier: Apache-2.0
"""Namespaces of one's own: what Mahimahi needs there, without a change for anybody else."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ccbench.emulate.mahimahi.iptables import let_iptables_serve_users
from ccbench.emulate.realtime.namespaces import go_first

__all__ = ["HERE", "ROUTER_SYSCTLS", "prepare"]

#: The run's folder in its mount namespace, where the shells' user finds it too. Outside it is an
#: empty folder.
HERE = Path("/run/ccbench")

#: Settings of the network namespaces. Mahimahi's programs forward packets, and start only where
#: that is allowed; whoever speaks IPv6 asks for routers, through the bottleneck.
ROUTER_SYSCTLS = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.disable_ipv6": "1"}


def prepare(folder: Path) -> None:
    """Make these mount and process namespaces ready for Mahimahi, with `folder` at :data:`HERE`.

    What is started from now on goes before ordinary programs, if this is allowed.
    """
    go_first()
    HERE.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", str(folder), str(HERE)], check=True)
    let_iptables_serve_users(HERE)
