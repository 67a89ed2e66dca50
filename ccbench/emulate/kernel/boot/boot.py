# SPDX-License-Identifier: Apache-2.0
"""One boot of the virtual kernel: start it, watch it, end it."""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ccbench.emulate.kernel.boot import ending
from ccbench.emulate.kernel.boot.ending import MEMORY_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.engine import Progress
    from ccbench.emulate.kernel.boot.inputs import GuestInput
    from ccbench.emulate.kernel.source.build import KernelBuild

__all__ = ["boot"]

#: A guest whose clock stands still for this long of the host's time hangs.
HANG_S = 60.0

#: How long a guest that hangs may take to say where, in seconds.
_LAST_WORDS_S = 5.0

#: How often progress is reported, in seconds.
_POLL_S = 0.1
#: Between two looks no more time counts, in seconds: a busy machine may take as long.
_MOST_POLL_S = 1.0


def boot(
    build: KernelBuild,
    directory: Path,
    *,
    given: GuestInput,
    on_progress: Progress | None = None,
) -> None:
    """Run the guest on its plan until it powers off.

    Parameters
    ----------
    build : KernelBuild
        The kernel, its modules and its init.
    directory : Path
        An empty folder, for the files that the guest is given and for its results.
    given : GuestInput
        What it is given.
    on_progress : callable, optional
        Called several times a second with the seconds of virtual time that have passed. An
        exception that it raises ends the guest.

    Raises
    ------
    EngineError
        If the guest does not get to the end of its plan. After a crash it carries the innermost
        calls, with the lines of modules' sources, and names the file that has the whole console;
        else it carries the console's last lines.
    CcbenchError
        If there is no room for what it records: not the scenario's fault.
    """
    console = directory / "console"
    given.write(directory)
    (directory / "root").symlink_to(build.root)
    command = [str(build.linux), *given.command_line]
    environment = {
        "TMPDIR": MEMORY_FOLDER,
        "CCBENCH_PARENT": str(os.getpid()),
        **given.environment,
        "PATH": os.defpath,
    }
    with console.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=directory,
            start_new_session=True,
        )
        try:
            hung = not _watch(process, directory / "progress.bin", on_progress)
            if hung:
                _ask_where(process)
        finally:
            _kill(process)
    failure = ending.failure(
        console.read_text(errors="replace"),
        build,
        status=process.returncode,
        memory_mb=given.memory_mb,
        hung_s=HANG_S if hung else 0,
        records=directory.parent,
    )
    if failure is not None:
        raise failure


def _watch(
    process: subprocess.Popen[bytes],
    progress: Path,
    on_progress: Progress | None,
) -> bool:
    """Wait for the end of the process; False if the guest's clock has stopped."""
    seen = -1.0
    still_s, looked = 0.0, time.monotonic()
    # A descriptor that becomes readable when the process ends: it is noticed at once.
    with os.fdopen(os.pidfd_open(process.pid)) as ended:
        while not select.select([ended], [], [], _POLL_S)[0]:
            now_s = _progress_s(progress)
            # However long ago we looked: who was stopped meanwhile, as with the whole machine, has
            # not seen the guest stand still.
            passed_s = min(time.monotonic() - looked, _MOST_POLL_S)
            looked = time.monotonic()
            still_s = still_s + passed_s if now_s == seen else 0.0
            seen = now_s
            if still_s > HANG_S:
                return False
            if on_progress is not None:
                on_progress(max(now_s, 0.0))
    return True


def _progress_s(progress: Path) -> float:
    """Return the guest's virtual time in seconds, -1 before it has started."""
    try:
        with progress.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            (time_ns,) = struct.unpack("=Q", file.read(8))
    except (OSError, struct.error):
        return -1.0
    return float(time_ns) / 1e9


def _ask_where(process: subprocess.Popen[bytes]) -> None:
    """Let a guest that hangs end itself, with what its processor and its tasks are at."""
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGTRAP)
        process.wait(_LAST_WORDS_S)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the guest and the processes that it has made, which share its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
