# SPDX-License-Identifier: Apache-2.0
"""First process of a command's namespaces: the part that all engines share.

:func:`ccbench.emulate.realtime.command.run_session` starts it as root in new mount and process
namespaces. The network namespace is the machine's own, so that the command reaches other hosts.
When the pipe LIFELINE is closed, a session therefore undoes its changes of the network and ends.

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

#: Prefix that resets the command's priority, as this process has real-time priority.
ORDINARY = ("chrt", "--other", "0")


class Identity(TypedDict):
    """User, groups and environment of a program: keywords of ``Popen``."""

    user: int
    group: int
    extra_groups: list[int]
    env: Mapping[str, str]


def identity(user: pwd.struct_passwd) -> Identity:
    """Return the identity of a user, with the rest of this process's environment."""
    return {
        "user": user.pw_uid,
        "group": user.pw_gid,
        "extra_groups": os.getgrouplist(user.pw_name, user.pw_gid),
        "env": {**os.environ, "USER": user.pw_name, "HOME": user.pw_dir},
    }


def main(run: Callable[[Path, pwd.struct_passwd, int, list[str]], None]) -> None:
    """Run the command in this program's arguments.

    Parameters
    ----------
    run : callable
        Sets up the path and runs the command. Its arguments are the session's folder, the command's
        user, the reading end of the lifeline, and the program with its arguments. Standard input,
        output and error are the command's.
    """
    folder, user, lifeline, *command = sys.argv[1:]
    # The path uses the folder until its end, even if ccbench is killed.
    hold(Path(folder))
    try:
        run(Path(folder), pwd.getpwnam(user), int(lifeline), command)
    except (CcbenchError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        message = f"{error}{files.first_words(Path(folder))}"
        (Path(folder) / files.FAILURE).write_text(message, encoding="utf-8")
        sys.exit(1)
