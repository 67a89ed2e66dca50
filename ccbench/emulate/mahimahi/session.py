# SPDX-License-Identifier: Apache-2.0
"""The first process of a command's namespaces: it makes the path, and starts the command in it.

:mod:`ccbench.emulate.mahimahi.command` starts it as root of new mount and process namespaces. The
network is the machine's own, as the command may want to reach anybody.

    python -m ccbench.emulate.mahimahi.session FOLDER USER COMMAND...
"""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.gates import Gates
from ccbench.emulate.mahimahi.private import HERE, ROUTER_SYSCTLS, prepare, set_sysctls
from ccbench.emulate.mahimahi.sniffer import inside_namespace_of

__all__: list[str] = []

#: What runs innermost. The shells go before other programs, the command does not; what is on its
#: way when the command ends would be lost with the shells; and these know no status but 0 and 1.
_INNERMOST = ("sh", "-c", 'chrt --other 0 "$@"; echo $? >"$0"; sleep 0.5')


def main(folder: Path, user: pwd.struct_passwd, command: list[str]) -> None:
    """Run the command within the shells that the folder names."""
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the command
    prepare(folder)
    nested = json.loads((HERE / files.SHELLS).read_text(encoding="utf-8"))
    logs = HERE / files.LOGS
    logs.mkdir()
    os.chown(logs, user.pw_uid, user.pw_gid)
    gates = Gates(HERE / files.GATES)
    chain = gates.chain(nested, [*_INNERMOST, str(HERE / files.STATUS), *command])
    # Standard input, output and error are the command's.
    process = subprocess.Popen(
        chain,
        text=True,
        user=user.pw_uid,
        group=user.pw_gid,
        extra_groups=os.getgrouplist(user.pw_name, user.pw_gid),
        env={**os.environ, "USER": user.pw_name, "HOME": user.pw_dir},
    )
    for _ in nested:
        pid, _address = gates.wait(process)
        with inside_namespace_of(pid):
            set_sysctls(ROUTER_SYSCTLS)
        gates.open_next()
    process.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), pwd.getpwnam(sys.argv[2]), sys.argv[3:])
