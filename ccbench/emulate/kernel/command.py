# SPDX-License-Identifier: Apache-2.0
"""Programs that the build starts, with a log of everything that they say."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.errors import CcbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["BuildError", "Builder"]

_LAST_LINES = 12

#: How compilers and modpost mark what is wrong. With compilers side by side, what comes last is
#: seldom why it failed.
_WRONG = re.compile(r"(^|[\s:])(fatal )?error: ", re.IGNORECASE)

#: What of the caller's environment reaches the compilers. Everything else stays out: variables such
#: as ARCH, CROSS_COMPILE, KCFLAGS or MAKEFLAGS would change what is built.
_PASSED_ON = ("PATH", "HOME", "TMPDIR")

#: Kernels are stamped with the time, the place and the person of their build, and mix the stamp
#: into their random numbers. Always the same stamp: the same source gives the same results.
_STAMP = {
    "KBUILD_BUILD_TIMESTAMP": "Wed Jan  1 00:00:00 UTC 2020",
    "KBUILD_BUILD_USER": "ccbench",
    "KBUILD_BUILD_HOST": "ccbench",
    "KBUILD_BUILD_VERSION": "1",
}


class BuildError(CcbenchError):
    """A step of the build failed; the message ends with the errors that it printed, or its end."""


@dataclass(frozen=True, kw_only=True)
class Builder:
    """Runs the programs of one build.

    Parameters
    ----------
    log : Path
        The file to append everything that they print to.
    jobs : int
        How many compilers may run at once.
    cflags : str
        Further flags for the compiler, for the kernel and for the modules.
    """

    log: Path
    jobs: int
    cflags: str

    def make(
        self,
        *arguments: str,
        what: str,
        tree: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Run make in a kernel tree; see :meth:`run`."""
        self.run(
            ["make", "ARCH=um", f"KCFLAGS={self.cflags}", f"-j{self.jobs}", *arguments],
            what=what,
            folder=tree,
            on_line=on_line,
        )

    def run(
        self,
        arguments: Sequence[str],
        *,
        what: str,
        folder: Path,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        """Run a program to its end; if we are interrupted, so is everything that it has started.

        Parameters
        ----------
        arguments : sequence of str
            The program and its arguments.
        what : str
            What it does, for the error: "compiling the kernel".
        folder : Path
            The folder to run it in.
        on_line : callable, optional
            Called with every line that it prints.

        Raises
        ------
        BuildError
            If its exit status is not 0.
        """
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        last: deque[str] = deque(maxlen=_LAST_LINES)
        wrong: list[str] = []
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
                start_new_session=True,  # so that what make starts can be ended with it
            ) as process,
        ):
            log.write(f"$ {' '.join(arguments)}\n")
            try:
                for line in process.stdout or ():
                    log.write(line)
                    last.append(line.rstrip())
                    if _WRONG.search(line) and len(wrong) < _LAST_LINES:
                        wrong.append(line.rstrip())
                    if on_line is not None:
                        on_line(line)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if process.returncode != 0:
            reason = (
                f"{what} failed with exit status {process.returncode}; "
                f"all that it printed is in {self.log}, which {'has' if wrong else 'ends with'}:"
            )
            raise BuildError("\n  ".join([reason, *(wrong or last)]))
