# SPDX-License-Identifier: Apache-2.0
"""Start, supervision and end of a guest."""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base import program_files
from ccbench.base.errors import CcbenchError
from ccbench.emulate.kernel.boot import ending, limits, trapping
from ccbench.emulate.kernel.boot.console import ConsoleWatch, read_console
from ccbench.emulate.kernel.boot.limits import MEMORY_FOLDER
from ccbench.emulate.kernel.boot.outputs import Outputs
from ccbench.emulate.kernel.boot.pinning import core_wait_s, pinned
from ccbench.emulate.kernel.source.kernel_build import check_intact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ccbench.emulate.engine import Progress
    from ccbench.emulate.kernel.boot.inputs import GuestInput
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

__all__ = ["boot"]

#: Host time in seconds after which a guest whose clock does not advance is considered hung, without
#: the time in which it waits for a core.
HANG_S = 60.0

#: Time limit for a hung guest to print its call trace, in seconds.
_TRACE_TIMEOUT_S = 5.0

#: Interval of progress reports in seconds.
_POLL_S = 0.1
#: Maximum time that counts between two polls, in seconds, as on a busy machine.
_MAX_POLL_S = 1.0


def boot(  # noqa: PLR0913 - the callbacks are independent, all by keyword
    build: KernelBuild,
    directory: Path,
    *,
    given: GuestInput,
    on_progress: Progress | None = None,
    on_output: Callable[[str, bytes], object] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> str:
    """Boot the guest with its plan and wait until it powers off.

    Parameters
    ----------
    build : KernelBuild
        The kernel, its modules and its init.
    directory : Path
        An empty folder for the guest's input and its records.
    given : GuestInput
        The guest's input.
    on_progress : callable, optional
        Called several times a second with the elapsed virtual time in seconds. An exception that it
        raises ends the guest.
    on_output : callable, optional
        Called several times a second with the name of a program and what it has printed since the
        last call.
    meanwhile : callable
        Called several times a second, to use the records that the guest has written so far.

    Returns
    -------
    str
        The text of its console.

    Raises
    ------
    EngineError
        If the guest does not complete its plan, or a program prints too much. After a crash, the
        error names the file with the console log and includes the innermost calls with their source
        lines; otherwise it includes the console's last lines.
    CcbenchError
        If it is not the scenario's fault: the kernel is damaged, there is no space for the records,
        or the host refuses the way of trapping programs.
    MissingRequirement
        If the limits of this process or the folder of memory prevent the start.
    InputError
        If the environment demands a way of trapping programs that the kernel lacks.
    """
    limits.check_limits(given.memory_mb)
    limits.check_folder()
    console, outputs = directory / "console", Outputs(directory, on_output)
    # Modules that are not loaded are no suspects.
    ran = replace(build, modules={name: build.modules[name] for name in given.modules})
    given.write(directory)
    (directory / "root").symlink_to(build.root)
    command = [str(build.linux), *trapping.parameters(build.release), *given.command_line]
    environment = {
        "TMPDIR": MEMORY_FOLDER,
        "CCBENCH_PARENT": str(os.getpid()),
        **given.environment,
        "PATH": os.defpath,
    }
    with console.open("wb") as output:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=directory,
                start_new_session=True,
            )
        except OSError as error:
            check_intact(build)
            message = f"the virtual kernel {build.linux} cannot be started: {error.strerror}"
            raise CcbenchError(f"{message}; run: {build.again}") from error
        try:
            with pinned(process.pid, takes_turns=given.has_programs):
                watch = ConsoleWatch(console, ran.own.modules)
                is_hung = not _watch(
                    process,
                    directory / "progress.bin",
                    watch,
                    on_progress,
                    (meanwhile, outputs.advance),
                )
            if is_hung:
                _request_trace(process)
        finally:
            _kill(process)
    text = read_console(console)
    failure = ending.failure(
        text,
        ran,
        status=process.returncode,
        memory_mb=given.memory_mb,
        hung_s=HANG_S if is_hung else 0,
        records=directory.parent,
        programs=directory / program_files.FOLDER,
    )
    if failure is not None:
        check_intact(build)  # otherwise the failure would be a riddle
        raise failure
    outputs.advance()
    return text


def _watch(
    process: subprocess.Popen[bytes],
    progress: Path,
    console: ConsoleWatch,
    on_progress: Progress | None,
    meanwhile: Sequence[Callable[[], object]],
) -> bool:
    """Wait for the end of the process, or the first sign of a failure on its console.

    Return False if the guest's clock has stopped.
    """
    last_s = -1.0
    stopped_s, polled_at_s, waited_s = 0.0, time.monotonic(), 0.0
    # The descriptor becomes readable when the process ends, so select() returns at once.
    with os.fdopen(os.pidfd_open(process.pid)) as ended:
        for each in meanwhile:
            each()
        while not select.select([ended], [], [], _POLL_S)[0]:
            now_s = _progress_s(progress)
            # The limit excludes time in which this process was suspended, as with the whole
            # machine, or in which the guest waited for a core.
            elapsed_s = min(time.monotonic() - polled_at_s, _MAX_POLL_S)
            polled_at_s = time.monotonic()
            if now_s == last_s:
                before_s, waited_s = waited_s, core_wait_s(process.pid)
                stopped_s += max(0.0, elapsed_s - max(0.0, waited_s - before_s))
            else:
                stopped_s = 0.0
            last_s = now_s
            if stopped_s > HANG_S:
                return False
            if console.is_over():
                return True
            if on_progress is not None:
                on_progress(max(now_s, 0.0))
            for each in meanwhile:
                each()
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


def _request_trace(process: subprocess.Popen[bytes]) -> None:
    """Make a hung guest print the call traces of its processor and tasks, and end."""
    with suppress(ProcessLookupError, subprocess.TimeoutExpired):
        process.send_signal(signal.SIGTRAP)
        process.wait(_TRACE_TIMEOUT_S)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the guest and its child processes, which share its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
