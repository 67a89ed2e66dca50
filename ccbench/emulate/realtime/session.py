# SPDX-License-Identifier: Apache-2.0
"""The first process of a command's namespaces: what any engine's does there.

:func:`ccbench.emulate.realtime.command.run_session` starts it as root of new mount and process
namespaces. The network is the machine's own, as the command may want to reach anybody. So a session
is told to end when nobody waits for the command any more, and takes back what it has changed there.

    python -m MODULE FOLDER USER LIFELINE COMMAND...
"""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ccbench.base.errors import CcbenchError
from ccbench.emulate._workspace import hold
from ccbench.emulate.realtime import files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ORDINARY", "Identity", "identity", "main"]

#: What runs as this process does goes before other programs; the command does not.
ORDINARY = ("chrt", "--other", "0")


class Identity(TypedDict):
    """Who a program is: keywords of ``Popen``."""

    user: int
    group: int
    extra_groups: list[int]
    env: Mapping[str, str]


def identity(user: pwd.struct_passwd) -> Identity:
    """Return what makes a program a user's, with the rest of this process's environment."""
    return {
        "user": user.pw_uid,
        "group": user.pw_gid,
        "extra_groups": os.getgrouplist(user.pw_name, user.pw_gid),
        "env": {**os.environ, "USER": user.pw_name, "HOME": user.pw_dir},
    }


def main(run: Callable[[Path, pwd.struct_passwd, int, list[str]], None]) -> None:
    """Run a command as this program's arguments say.

    Parameters
    ----------
    run : callable
        Makes the path and runs the command on it. It is given the session's folder, who runs the
        command, a pipe's end that becomes readable when nobody waits for the command any more, and
        program and arguments. Standard input, output and error are the command's.
    """
    folder, user, lifeline, *command = sys.argv[1:]
    # The path needs the folder to the end, also when ccbench has been killed.
    hold(Path(folder))
    try:
        run(Path(folder), pwd.getpwnam(user), int(lifeline), command)
    except (CcbenchError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        words = f"{error}{files.first_words(Path(folder))}"
        (Path(folder) / files.FAILURE).write_text(words, encoding="utf-8")
        sys.exit(1)
