# SPDX-License-Identifier: Apache-2.0
"""First process of a command's namespaces, which runs the command in Mahimahi's shells.

It implements :mod:`ccbench.emulate.realtime.session`. When the lifeline is closed, the shells are
terminated and undo their changes.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.locks import exclusive
from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.gates import Gates
from ccbench.emulate.mahimahi.private import ROUTER_SYSCTLS, prepare
from ccbench.emulate.realtime import session
from ccbench.emulate.realtime.namespaces import HERE, set_sysctls

if TYPE_CHECKING:
    import pwd
    from collections.abc import Iterable

__all__: list[str] = []

#: The innermost program. It writes the command's exit status, as shells return only 0 or 1, and
#: sleeps, as packets in flight at their end would be lost.
_INNERMOST = ("sh", "-c", f'{" ".join(session.ORDINARY)} "$@"; echo $? >"$0"; sleep 0.5')

#: Time limit for the end of the shells in seconds, after which all are terminated, then killed.
_TIMEOUT_S = 5.0

#: Lock of the start of shells, as shells that start at the same time take the same addresses.
_LOCK = Path("/run/ccbench.lock")

#: The outermost shell's device in this network namespace: its name ends with the shell's PID.
_DEVICE = re.compile(r"(?:delay|link|loss)-(\d+)")

#: The last PID given to a process of this process namespace; the next one is larger.
_LAST_PID = Path("/proc/sys/kernel/ns_last_pid")

#: PIDs that the start of the shells uses, at most.
_PIDS = 100


def run(folder: Path, user: pwd.struct_passwd, lifeline: int, command: list[str]) -> None:
    """Run the command in the shells that the folder describes, all as `user`."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is handled by the command
    prepare(folder)
    nested = json.loads((HERE / files.SHELLS).read_text(encoding="utf-8"))
    logs = HERE / files.LOGS
    logs.mkdir()
    os.chown(logs, user.pw_uid, user.pw_gid)
    gates = Gates(HERE / files.GATES, user)
    chain = gates.chain(nested, [*_INNERMOST, str(HERE / files.STATUS), *command])
    with exclusive(_LOCK):
        _LAST_PID.write_text(str(_free_pids(name for _, name in socket.if_nameindex())))
        process = subprocess.Popen(chain, text=True, **session.identity(user))
        threading.Thread(target=_end_with, args=(lifeline, process), daemon=True).start()
        gates.open_all(process, len(nested), partial(set_sysctls, ROUTER_SYSCTLS))
    process.wait()


def _free_pids(devices: Iterable[str]) -> int:
    """Return a PID such that no device is named after one of the next PIDs.

    Each session has a process namespace, in which the outermost shells would have equal PIDs.

    Examples
    --------
    >>> _free_pids(["eth0"]), _free_pids(["lo", "delay-104", "link-301"])
    (100, 200)
    """
    taken = {int(match[1]) for name in devices if (match := _DEVICE.fullmatch(name))}
    starts = itertools.count(_PIDS, _PIDS)
    return next(pid for pid in starts if taken.isdisjoint(range(pid, pid + _PIDS + 1)))


def _end_with(lifeline: int, process: subprocess.Popen[str]) -> None:
    os.read(lifeline, 1)
    process.terminate()
    # On busy machines, the outermost shell may wait for an inner one that keeps running.
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            process.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.kill(-1, number)  # all other processes in this process namespace


if __name__ == "__main__":
    session.main(run)
