# SPDX-License-Identifier: Apache-2.0
"""Gates between nested Mahimahi shells, at which each namespace is configured.

A nested shell starts only if packets are forwarded, which is off in a new namespace; Mahimahi
expects a setting of the whole machine. Each shell therefore runs a gate, which reports its process
and waits until the namespace is configured, and then starts the next shell or the command.
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

#: Time limit for the start or end of a shell, and the polling interval, in seconds.
_TIMEOUT_S = 20.0
_POLL_S = 0.05

_WAIT_FOR_INPUT = ("sh", "-c", "read -r end")

_REPORT, _GO = "report", "go"
_COMMAND = f'echo "$$ $MAHIMAHI_BASE" >"$0/{_REPORT}"; read -r go <"$0/{_GO}"; exec "$@"'


class Gates:
    """The gates of one chain of shells.

    Parameters
    ----------
    folder : Path
        Folder for two pipes, which is created. Standard input and output belong to the command.
    user : struct_passwd
        The user of the shells.
    """

    def __init__(self, folder: Path, user: pwd.struct_passwd) -> None:
        self._folder, self._user = folder, user
        folder.mkdir()
        folder.chmod(0o711)
        self._pipes = {}
        self._seen_namespaces = {_namespace("self")}
        for name in (_REPORT, _GO):
            os.mkfifo(folder / name)
            (folder / name).chmod(0o600)
            os.chown(folder / name, user.pw_uid, -1)
            # Opened for reading and writing, so that neither side blocks or ends with the other.
            self._pipes[name] = os.open(folder / name, os.O_RDWR)

    def chain(self, shells: Iterable[list[str]], command: Iterable[str]) -> list[str]:
        """Return the command line of nested shells, outermost first."""
        gate = ("sh", "-c", _COMMAND, str(self._folder))
        return [*(word for shell in shells for word in (*shell, *gate)), *command]

    def start(self, shells: Iterable[list[str]], console: Path) -> subprocess.Popen[str]:
        """Start nested shells as their user, to run until :func:`end`; return the outermost.

        Parameters
        ----------
        shells : iterable of list of str
            Their command lines, outermost first.
        console : Path
            Output file of the shells.
        """
        with console.open("wb") as file:
            return subprocess.Popen(
                self.chain(shells, _WAIT_FOR_INPUT),
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
        """Wait for each shell, configure its namespace, and open its gate.

        Parameters
        ----------
        outermost : Popen
            The outermost shell, which ends if another one fails to start.
        count : int
            Number of shells.
        make_ready : callable
            Called in the network namespace of each shell.

        Returns
        -------
        list of int
            A process inside each shell, outermost first: the next shell, or the command.
        str
            The address of the machine outside all shells.

        Raises
        ------
        RuntimeError
            If a shell does not start.
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
        pipe = self._pipes[_REPORT]
        deadline_s = time.monotonic() + _TIMEOUT_S
        while not select.select([pipe], [], [], _POLL_S)[0]:
            if outermost.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError("a shell does not start")
        # The content is not trusted, as other programs of the user can write to the pipe.
        words = os.read(pipe, 1 << 10).decode(errors="replace").split()
        is_report = len(words) == 2 and words[0].isdecimal()  # noqa: PLR2004 - process and address
        if not is_report or _namespace(words[0]) in self._seen_namespaces:
            raise RuntimeError("a shell's report is invalid")
        self._seen_namespaces.add(_namespace(words[0]))
        return int(words[0]), words[1]


def end(shells: subprocess.Popen[str]) -> None:
    """End the shells started by :meth:`Gates.start`.

    Raises
    ------
    RuntimeError
        If their exit status is not 0.
    """
    shells.communicate("end\n", _TIMEOUT_S)
    if status := shells.returncode:
        raise RuntimeError(f"Mahimahi's shells ended with status {status}")


def _namespace(pid: str) -> str:
    """Return the name of a process's network namespace."""
    return str((Path("/proc") / pid / "ns" / "net").readlink())
