# SPDX-License-Identifier: Apache-2.0
"""The first process of a command's namespaces: Mahimahi's shells, and the command in them.

It is what :mod:`ccbench.emulate.realtime.session` says. The shells are told to end when nobody
waits for the command any more, and take back what they have changed.
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

#: What runs innermost. What is on its way when the command ends would be lost with the shells; and
#: these know no status but 0 and 1.
_INNERMOST = ("sh", "-c", f'{" ".join(session.ORDINARY)} "$@"; echo $? >"$0"; sleep 0.5')

#: How long the shells may take to end before they are all told to, and then killed.
_PATIENCE_S = 5.0

#: Shells that start together in one network take the same addresses.
_LOCK = Path("/run/ccbench.lock")


def run(folder: Path, user: pwd.struct_passwd, lifeline: int, command: list[str]) -> None:
    """Run the command within the shells that the folder names; the shells as `user`, too."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the command
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
    # On busy machines a shell has been seen to wait for the one within it, which went on.
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.kill(-1, number)  # all others in this namespace of processes, whose first this is


if __name__ == "__main__":
    session.main(run)
