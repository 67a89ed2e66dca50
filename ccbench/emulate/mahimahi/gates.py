# SPDX-License-Identifier: Apache-2.0
"""Gates between Mahimahi's shells: each namespace is made ready before anything goes on in it.

A shell inside another starts only where packets are forwarded, which a namespace that was made a
moment ago does not do: as Mahimahi is meant, that takes a setting for the whole machine. So what
runs inside each shell says where it is and waits; when the namespace is ready, it goes on with the
next shell, or with the command.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.emulate.realtime.namespaces import inside_namespace_of

if TYPE_CHECKING:
    import pwd
    from collections.abc import Callable, Iterable

__all__ = ["Gates", "end"]

#: How long a shell may take to start or to end, and how often it is looked for.
_PATIENCE_S = 20.0
_POLL_S = 0.05

_UNTIL_TOLD = ("sh", "-c", "read -r end")

_SAID, _GO = "said", "go"
_COMMAND = 'echo "$$ $MAHIMAHI_BASE" >"$0/said"; read -r go <"$0/go"; exec "$@"'


class Gates:
    """The gates of one chain of shells.

    Parameters
    ----------
    folder : Path
        Where the shells find the two pipes that are made there. Standard input and output are left
        to the command.
    user : struct_passwd
        Who runs the shells.
    """

    def __init__(self, folder: Path, user: pwd.struct_passwd) -> None:
        self._folder, self._user = folder, user
        folder.mkdir()
        folder.chmod(0o711)
        self._pipes = {}
        self._seen = {_namespace("self")}
        for name in (_SAID, _GO):
            os.mkfifo(folder / name)
            (folder / name).chmod(0o600)
            os.chown(folder / name, user.pw_uid, -1)
            # For both, so that nobody waits for the other side and nothing ends with it.
            self._pipes[name] = os.open(folder / name, os.O_RDWR)

    def chain(self, shells: Iterable[list[str]], command: Iterable[str]) -> list[str]:
        """Return the command line of shells within each other, the outermost first."""
        gate = ("sh", "-c", _COMMAND, str(self._folder))
        return [*(word for shell in shells for word in (*shell, *gate)), *command]

    def start(self, shells: Iterable[list[str]], console: Path) -> subprocess.Popen[str]:
        """Start shells within each other, as their user, until they are told to end.

        Parameters
        ----------
        shells : iterable of list of str
            Their command lines, the outermost first.
        console : Path
            Where to write what they say.

        Returns
        -------
        Popen
            The outermost, for :func:`end`.
        """
        with console.open("wb") as file:
            return subprocess.Popen(
                self.chain(shells, _UNTIL_TOLD),
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                text=True,
                user=self._user.pw_uid,
                group=self._user.pw_gid,
                extra_groups=[],
                env={"PATH": os.environ["PATH"], "HOME": "/"},
            )

    def open_all(
        self, outermost: subprocess.Popen[str], count: int, make_ready: Callable[[], None]
    ) -> tuple[list[int], str]:
        """Wait for each shell, make its namespace ready, and let it go on.

        Parameters
        ----------
        outermost : Popen
            The process of the outermost shell, which has ended if another could not start.
        count : int
            How many shells there are.
        make_ready : callable
            Is called in the network namespace of each.

        Returns
        -------
        list of int
            A process inside each shell, from the outermost on: the next shell, or the command.
        str
            The address of the machine outside all shells.

        Raises
        ------
        RuntimeError
            If one does not come.
        """
        insides, address = [], ""
        for _ in range(count):
            pid, address = self._wait(outermost)
            with inside_namespace_of(pid):
                make_ready()
            os.write(self._pipes[_GO], b"go\n")
            insides.append(pid)
        return insides, address

    def _wait(self, outermost: subprocess.Popen[str]) -> tuple[int, str]:
        pipe = self._pipes[_SAID]
        deadline_s = time.monotonic() + _PATIENCE_S
        while not select.select([pipe], [], [], _POLL_S)[0]:
            if outermost.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError("a shell does not start")
        # Other programs of the user could write to the pipe too: what they say may be no shell.
        words = os.read(pipe, 1 << 10).decode(errors="replace").split()
        if len(words) != 2 or not words[0].isdecimal() or _namespace(words[0]) in self._seen:  # noqa: PLR2004 - process and address
            raise RuntimeError("a shell says nonsense")
        self._seen.add(_namespace(words[0]))
        return int(words[0]), words[1]


def end(shells: subprocess.Popen[str]) -> None:
    """End the shells that :meth:`Gates.start` has started.

    Raises
    ------
    RuntimeError
        If they have not done well.
    """
    shells.communicate("end\n", _PATIENCE_S)
    if status := shells.returncode:
        raise RuntimeError(f"Mahimahi's shells ended with status {status}")


def _namespace(pid: str) -> str:
    """Return the name of a process's network namespace."""
    return str((Path("/proc") / pid / "ns" / "net").readlink())
