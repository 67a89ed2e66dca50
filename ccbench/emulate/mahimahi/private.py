# SPDX-License-Identifier: Apache-2.0
"""Namespaces of one's own: what Mahimahi needs there, without a change for anybody else."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.mahimahi.iptables import let_iptables_serve_users

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HERE", "ROUTER_SYSCTLS", "in_namespaces", "prepare", "set_sysctls"]

#: The run's folder in its mount namespace, where the shells' user finds it too. Outside it is an
#: empty folder.
HERE = Path("/run/ccbench")

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
    HERE.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", str(folder), str(HERE)], check=True)
    let_iptables_serve_users(HERE)


def set_sysctls(sysctls: Mapping[str, str]) -> None:
    """Change settings of this network namespace; those of IPv6 only if it is there."""
    for name, value in sysctls.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        if not path.exists() and "ipv6" in name:
            continue
        try:
            path.write_text(value, encoding="utf-8")
        except OSError as error:
            message = f"{name} is {value!r}, which this kernel refuses ({error.strerror})"
            raise RuntimeError(message) from error


def in_namespaces(module: str, *arguments: str, network: bool) -> list[str]:
    """Return the command line that runs a module of ours in namespaces of its own, as root.

    These are of mounts, of processes, which end with the first, and, if `network`, of the network.
    """
    # `python -m` would look for every module in the current folder first, which may be anybody's.
    start = (
        "import sys; sys.path[:] = [path for path in sys.path if path]; "
        "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__')"
    )
    own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if network:
        own.append("--net")
    return ["unshare", *own, "--", sys.executable, "-c", start, module, *arguments]
