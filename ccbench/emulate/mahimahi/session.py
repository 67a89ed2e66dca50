# SPDX-License-Identifier: Apache-2.0
"""The first process of a command's namespaces: it makes the path, and starts the command in it.

:mod:`ccbench.emulate.mahimahi.command` starts it as root of new mount and process namespaces. The
network is the machine's own, as the command may want to reach anybody. So the shells are told to
end when nobody waits for the command any more, and take back what they have changed there.

    python -m ccbench.emulate.mahimahi.session FOLDER USER LIFELINE COMMAND...
"""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

from filelock import FileLock

from ccbench.emulate._workspace import hold
from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.gates import Gates
from ccbench.emulate.mahimahi.private import ROUTER_SYSCTLS, prepare
from ccbench.emulate.realtime.namespaces import HERE, set_sysctls

__all__: list[str] = []

#: What runs innermost. The shells go before other programs, the command does not; what is on its
#: way when the command ends would be lost with the shells; and these know no status but 0 and 1.
_INNERMOST = ("sh", "-c", 'chrt --other 0 "$@"; echo $? >"$0"; sleep 0.5')

#: Shells that start together in one network take the same addresses.
_LOCK = "/run/ccbench.lock"


def main(folder: Path, user: pwd.struct_passwd, lifeline: int, command: list[str]) -> None:
    """Run the command within the shells that the folder names.

    Parameters
    ----------
    folder : Path
        What :func:`ccbench.emulate.mahimahi.command.record` has made ready.
    user : struct_passwd
        Who runs the shells and the command.
    lifeline : int
        A pipe's end that becomes readable when nobody waits for the command any more.
    command : list of str
        Program and arguments. Standard input, output and error are the command's.
    """
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the command
    hold(folder)  # the shells need it to the end, also when ccbench has been killed
    prepare(folder)
    nested = json.loads((HERE / files.SHELLS).read_text(encoding="utf-8"))
    logs = HERE / files.LOGS
    logs.mkdir()
    os.chown(logs, user.pw_uid, user.pw_gid)
    gates = Gates(HERE / files.GATES, user)
    chain = gates.chain(nested, [*_INNERMOST, str(HERE / files.STATUS), *command])
    with FileLock(_LOCK):
        process = subprocess.Popen(
            chain,
            text=True,
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=os.getgrouplist(user.pw_name, user.pw_gid),
            env={**os.environ, "USER": user.pw_name, "HOME": user.pw_dir},
        )
        threading.Thread(target=_end_with, args=(lifeline, process), daemon=True).start()
        gates.open_all(process, len(nested), partial(set_sysctls, ROUTER_SYSCTLS))
    process.wait()


def _end_with(lifeline: int, process: subprocess.Popen[str]) -> None:
    os.read(lifeline, 1)
    process.terminate()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), pwd.getpwnam(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    except (OSError, RuntimeError) as error:
        sys.exit(f"ccbench: {error}")
