# SPDX-License-Identifier: Apache-2.0
"""Programs of a build, with a log of their output."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.errors import ConsoleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["BuildError", "Builder"]

_LAST_LINES = 12
_MAX_ERRORS = 200

#: Error lines of compilers and modpost. With parallel compilers, the last lines of the output are
#: rarely the reason of a failure.
_ERROR = re.compile(r"(^|[\s:])(fatal )?error: |: section mismatch in ", re.IGNORECASE)

#: Environment variables that compilers inherit. Others, such as ARCH, CROSS_COMPILE, KCFLAGS or
#: MAKEFLAGS, would change the build.
_INHERITED = ("PATH", "HOME", "TMPDIR")

#: Build stamp of the kernel, which affects its random numbers. A constant stamp makes results a
#: function of the source.
_STAMP = {
    "KBUILD_BUILD_TIMESTAMP": "Wed Jan  1 00:00:00 UTC 2020",
    "KBUILD_BUILD_USER": "ccbench",
    "KBUILD_BUILD_HOST": "ccbench",
    "KBUILD_BUILD_VERSION": "1",
}


class BuildError(ConsoleError):
    """Failure of a build step; `console` has all its errors, or else its last output."""

    def __str__(self) -> str:
        return "\n  ".join([self.args[0], *self.console])


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Runs the programs of one build.

    Parameters
    ----------
    log : Path
        The file to which their output is appended.
    jobs : int
        Maximum number of parallel compilers.
    cflags : str
        Additional compiler flags for the kernel and the modules.
    """

    log: Path
    jobs: int
    cflags: str

    def make(
        self,
        *arguments: str,
        purpose: str,
        tree: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Run make in a kernel tree; see :meth:`run`."""
        self.run(
            ["make", "ARCH=um", f"KCFLAGS={self.cflags}", f"-j{self.jobs}", *arguments],
            purpose=purpose,
            folder=tree,
            on_line=on_line,
        )

    def run(
        self,
        arguments: Sequence[str],
        *,
        purpose: str,
        folder: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Run a program to completion; an interrupt also kills its child processes.

        Parameters
        ----------
        arguments : sequence of str
            The program and its arguments.
        purpose : str
            The purpose of the program, for errors, such as "compiling the kernel".
        folder : Path
            The working directory.
        on_line : callable, optional
            Called with each line of its output.

        Raises
        ------
        BuildError
            If its exit status is not 0.
        """
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        last: deque[str] = deque(maxlen=_LAST_LINES)
        errors: list[str] = []
        with (
            self.log.open("a", encoding="utf-8") as log,
            subprocess.Popen(
                arguments,
                cwd=folder,
                env={**environment, **_STAMP, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # so that its child processes can be killed with it
            ) as process,
        ):
            log.write(f"$ {' '.join(arguments)}\n")
            try:
                for line in process.stdout or ():
                    log.write(line)
                    last.append(line.rstrip())
                    if _ERROR.search(line) and len(errors) < _MAX_ERRORS:
                        errors.append(line.rstrip())
                    if on_line is not None:
                        on_line(line)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if process.returncode != 0:
            reason = (
                f"{purpose} failed with exit status {process.returncode}; the complete log is "
                f"{self.log}, which {'contains' if errors else 'ends with'}:"
            )
            raise BuildError(reason, errors or last)
