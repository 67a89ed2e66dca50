# SPDX-License-Identifier: Apache-2.0
"""One boot of the virtual kernel: start it, watch it, say what went wrong."""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ccbench.emulate.kernel.plan import HERE
from ccbench.errors import CcbenchError, EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.emulate.engine import Progress
    from ccbench.emulate.kernel.build import KernelBuild

__all__ = ["boot"]

#: A guest whose clock stands still for this long of the host's time hangs.
HANG_S = 60.0

#: The guest's clock starts here, whatever the host's says: 2020-01-01, in ns.
_EPOCH_NS = 1_577_836_800 * 10**9

#: The guest finds its directory as the working directory of the process that it is. So no path of
#: the host is on its command line, which the kernel's random numbers also depend on.
_COMMAND_LINE = (
    "root=/dev/root",
    "rootfstype=hostfs",
    f"rootflags={HERE}/root",
    "ro",
    "init=/init",
    f"uml_dir={HERE}/",
    "umid=guest",
    "con=null",
    "con0=null,fd:1",
    "loglevel=5",
    "oops=panic",
    "panic=-1",
    "time-travel=inf-cpu",
    f"time-travel-start={_EPOCH_NS}",
    # A queue full of packets in flight outgrows small slabs: a tenth of the run.
    "slab_min_order=2",
    f"CCBENCH_RUN={HERE}",
)

#: Where the guest keeps its memory, as an unlinked file: it has to be in memory itself.
MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - no name in it can be guessed: UML makes the file

#: How often progress is reported, in seconds.
_POLL_S = 0.1
#: Between two looks no more time counts, in seconds: a busy machine may take as long.
_MOST_POLL_S = 1.0
_CONSOLE_LINES = 20
_FINISHED = "ccbench: finished"
_FAILED = "ccbench: failed: "

#: What the console says when there is no room for records (ENOSPC).
_HOST_FULL = "cannot write results to the host: error -28"

#: What the console says of a step that gives a bottleneck its qdisc.
_BAD_QDISC = re.compile(r"netlink bottleneck(\d+)-(\w+) [0-9a-f]+: (.*)")

#: What the console says of a module's parameter, after which Linux may go on without it.
_BAD_PARAMETER = re.compile("(invalid|too large) for parameter `")

#: What the console says of code that sleeps where it must not, after which Linux goes on.
_FAULT = re.compile(r"\] (BUG: |bad: scheduling|softirq: huh)")

#: Why the host may have ended a guest by a signal.
_SIGNALS: dict[int, str] = {
    signal.SIGKILL: ": free some memory if that was lacking, or run fewer at once",
    signal.SIGXCPU: ": raise the limit of a process's time (ulimit -t)",
    signal.SIGXFSZ: ": raise the limit of a file's size (ulimit -f)",
}

#: What the console says when there is no memory: of the host's, or in the guest.
_HOST_OUT_OF_MEMORY = "Bus error - the host"
_OUT_OF_MEMORY = ("Cannot allocate memory", "Out of memory", "deadlocked on memory")


def boot(  # noqa: PLR0913 - what, where and how, all by keyword
    build: KernelBuild,
    directory: Path,
    *,
    memory_mb: int,
    seed: int,
    parameters: Sequence[str] = (),
    on_progress: Progress | None = None,
) -> None:
    """Run the guest on the plan in `directory` until it powers off.

    Parameters
    ----------
    build : KernelBuild
        The kernel, its modules and its init.
    directory : Path
        Holds ``plan``, ``link.bin`` and ``flows.bin``; results are written there.
    memory_mb : int
        Memory of the guest.
    seed : int
        Of everything that the guest's kernel draws at random.
    parameters : sequence of str
        Further words of the kernel's command line.
    on_progress : callable, optional
        Called several times a second with the seconds of virtual time that have passed. An
        exception that it raises ends the guest.

    Raises
    ------
    EngineError
        If the guest does not get to the end of its plan; it carries the console's last lines.
    CcbenchError
        If there is no room for what it records: not the scenario's fault.
    """
    console = directory / "console"
    (directory / "root").symlink_to(build.root)
    command = [str(build.linux), f"mem={memory_mb}M", *_COMMAND_LINE, *parameters]
    environment = {
        "TMPDIR": MEMORY_FOLDER,
        "CCBENCH_PARENT": str(os.getpid()),
        "CCBENCH_SEED": str(seed),
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
        finally:
            _kill(process)
    lines = console.read_text(errors="replace").splitlines()
    refused = [line for line in lines if _BAD_PARAMETER.search(line)]
    faults = [line for line in lines if _FAULT.search(line)]
    if _FINISHED in lines and not refused and not faults:
        return
    if any(_HOST_FULL in line for line in lines):
        message = f"{directory.parent} is full, where runs keep their records until they are read"
        raise CcbenchError(f"{message}: make room there, or set TMPDIR to another folder")
    if refused:
        said = refused[0].rpartition("] ")[2]  # without the kernel's time
        reason = f"one of module_parameters is refused: {said}"
    elif faults and _FINISHED in lines:
        said = faults[0].rpartition("] ")[2]
        reason = f"the virtual kernel found a fault of its own, perhaps of a module: {said}"
    else:
        reason = _hang() if hung else _reason(lines, process.returncode, memory_mb)
    raise EngineError(reason, lines[-_CONSOLE_LINES:])


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


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the guest and the processes that it has made, which share its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _hang() -> str:
    return f"the virtual kernel hangs: its clock has stood still for {HANG_S:g} s"


def _reason(lines: list[str], status: int, memory_mb: int) -> str:
    for line in lines:
        if _HOST_OUT_OF_MEMORY in line:
            return (
                f"{MEMORY_FOLDER}, where virtual kernels have their memory, is full: free some of "
                "it, or run fewer at once"
            )
        if any(sign in line for sign in _OUT_OF_MEMORY):
            return (
                f"the virtual kernel ran out of its {memory_mb} MB of memory: shorten the queues "
                "or the RTT, or start fewer flows"
            )
        if line.startswith(_FAILED):
            return _failed_step(line.removeprefix(_FAILED))
        if "Kernel panic" in line:
            return f"the virtual kernel panicked: {line[line.index('Kernel panic') :]}"
    if status < 0:
        ended = f"the virtual kernel was ended by signal {-status}, {signal.strsignal(-status)}"
        return f"{ended}{_SIGNALS.get(-status, '')}"
    return f"the virtual kernel ended early, with exit status {status}"


def _failed_step(said: str) -> str:
    """Say which step of the plan has failed; the bytes of a request would tell nobody anything."""
    if qdisc := _BAD_QDISC.fullmatch(said):
        number, name, reason = qdisc.groups()
        return (
            f"bottlenecks[{number}].qdisc_options has what Linux's {name} refuses ({reason}): "
            "change it"
        )
    return f"the virtual kernel cannot do this: {said}"
