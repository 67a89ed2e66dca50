# SPDX-License-Identifier: Apache-2.0
"""Namespaces of one's own: what Mahimahi needs there, without a change for anybody else."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.mahimahi.iptables import let_iptables_serve_users

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HERE", "ROUTER_SYSCTLS", "prepare", "set_sysctls"]

#: The run's folder in its mount namespace, where the shells' user finds it too.
HERE = Path("/mnt")

#: Settings of the network namespaces. Mahimahi's programs forward packets, and start only where
#: that is allowed; whoever speaks IPv6 asks for routers, through the bottleneck.
ROUTER_SYSCTLS = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.disable_ipv6": "1"}

#: Before all ordinary programs, behind what the kernel does itself.
_PRIORITY = 5


def prepare(folder: Path) -> None:
    """Make these mount and process namespaces ready for Mahimahi, with `folder` at :data:`HERE`.

    What is started from now on goes before ordinary programs, if this is allowed.
    """
    with suppress(OSError):  # how late a run was will tell
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
    subprocess.run(["mount", "--bind", str(folder), str(HERE)], check=True)
    let_iptables_serve_users(HERE)


def set_sysctls(sysctls: Mapping[str, str]) -> None:
    """Change settings of this network namespace; those of IPv6 only if it is there."""
    for name, value in sysctls.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        if path.exists() or "ipv6" not in name:
            path.write_text(value, encoding="utf-8")
