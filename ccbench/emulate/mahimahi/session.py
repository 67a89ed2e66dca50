# SPDX-License-Identifier: Apache-2.0
"""First process of a command's namespaces, which runs the command in Mahimahi's shells.

It implements :mod:`ccbench.emulate.realtime.session`. When the lifeline is closed, the shells are
terminated and undo their changes.
"""

from __future__ import annotations

import json
import os
import signal
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

__all__: list[str] = []

#: The innermost program. It writes the command's exit status, as shells return only 0 or 1, and
#: sleeps, as packets in flight at their end would be lost.
_INNERMOST = ("sh", "-c", f'{" ".join(session.ORDINARY)} "$@"; echo $? >"$0"; sleep 0.5')

#: Time limit for the end of the shells in seconds, after which all are terminated, then killed.
_TIMEOUT_S = 5.0

#: Lock of the start of shells, as shells that start at the same time take the same addresses.
_LOCK = Path("/run/ccbench.lock")


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
        process = subprocess.Popen(chain, text=True, **session.identity(user))
        threading.Thread(target=_end_with, args=(lifeline, process), daemon=True).start()
        gates.open_all(process, len(nested), partial(set_sysctls, ROUTER_SYSCTLS))
    process.wait()


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
