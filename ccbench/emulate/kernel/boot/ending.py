# SPDX-License-Identifier: Apache-2.0
"""End of a guest, by its console: as it should be, or an error with its reason in one line."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from ccbench.base.errors import CcbenchError, EngineError
from ccbench.emulate.kernel.boot import crash
from ccbench.emulate.kernel.boot.crash import Crash
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.source.build import KernelBuild

__all__ = ["MEMORY_FOLDER", "failure"]

#: Where the guest keeps its memory, as an unlinked file: it has to be in memory itself.
MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - no name in it can be guessed: UML makes the file

_CONSOLE_LINES = 20
_FINISHED = "ccbench: finished"
_FAILED = "ccbench: failed: "

#: What the console says when there is no room for records (ENOSPC).
_HOST_FULL = "cannot write results to the host: error -28"

#: What the console says of a step that gives a bottleneck its qdisc.
_BAD_QDISC = re.compile(r"netlink bottleneck(\d+)-(\w+) [0-9a-f]+: (.*)")

#: What the console says of a step that writes a setting.
_BAD_SYSCTL = re.compile(r"write /proc/sys/(\S+) (.*): (.*)")

#: What the console says of a module's parameter, after which Linux may go on without it.
_BAD_PARAMETER = re.compile("(invalid|too large) for parameter `")

#: What the console says of code that sleeps where it must not, after which Linux goes on.
_FAULT = re.compile(r"\] (BUG: |bad: scheduling|softirq: huh)")

#: Why the host may have ended a guest by a signal.
_SIGNALS: dict[int, str] = {
    signal.SIGKILL: ": free some memory if that was lacking, or run fewer at once",
    signal.SIGSEGV: ", as by a stack that is full: too deep a recursion, or large local variables",
    signal.SIGXCPU: ": raise the limit of a process's time (ulimit -t)",
    signal.SIGXFSZ: ": raise the limit of a file's size (ulimit -f)",
}

#: What the console says when there is no memory: of the host's, or in the guest.
_HOST_OUT_OF_MEMORY = "Bus error - the host"
_OUT_OF_MEMORY = ("Cannot allocate memory", "Out of memory", "deadlocked on memory")

_OWN_MODULE = "correct the module"
_NO_OWN_MODULE = f"run without modules of your own ({OWN_MODULES}); if it stays, report it"


def failure(  # noqa: PLR0913 - what was run, how it ended and where, all by keyword
    console: str, build: KernelBuild, *, status: int, memory_mb: int, hung_s: float, records: Path
) -> CcbenchError | None:
    """Return the error with which a run has to end, None if the guest got to its plan's end.

    Parameters
    ----------
    console : str
        All that the guest's console said. After a crash it is kept (:func:`.crash.keep_console`).
    build : KernelBuild
        What has run.
    status : int
        The exit status of the guest's process.
    memory_mb : int
        Memory of the guest.
    hung_s : float
        For how long its clock has stood still, if it was ended for that, else 0.
    records : Path
        The folder of the host in which runs keep their records.
    """
    lines = console.splitlines()
    is_refused = any(map(_BAD_PARAMETER.search, lines))
    if _FINISHED in lines and not is_refused and not any(map(_FAULT.search, lines)):
        return None
    if any(_HOST_FULL in line for line in lines):
        message = f"{records} is full, where runs keep their records until they are read"
        return CcbenchError(f"{message}: make room there, or set TMPDIR to another folder")
    is_short = any(sign in line for line in lines for sign in _OUT_OF_MEMORY)
    if reason := _refusal(lines, is_short=is_short):
        return EngineError(reason, lines[-_CONSOLE_LINES:])
    crashed = Crash.read(lines)
    kept = _kept(console)
    if crashed is None and not is_short and not hung_s:
        return EngineError(f"{_early_end(status)}; {kept}", lines[-_CONSOLE_LINES:])
    shown = crashed.shown(build) if crashed else []
    place = crashed.culprit if crashed else None
    is_own = place is not None and crash.is_own(place, build)
    where = f", in {crash.in_words(place, build)}" if place else ""
    step = _OWN_MODULE if is_own else _NO_OWN_MODULE
    if is_short:
        what = f"the virtual kernel ran out of its {memory_mb} MB of memory"
        where = where if is_own else ""
        less = "shorten the queues or the RTT, or start fewer flows"
        step = f"{_OWN_MODULE} if it takes too much, else {less}" if is_own else less
    elif hung_s:
        what = f"the virtual kernel hangs: its clock has stood still for {hung_s:g} s"
        shown = shown[1:]  # what ended it is of our making
    else:
        assert crashed is not None
        what, where = crash.explain(crashed, build), ""
    return EngineError(f"{what}{where}; {kept}: {step}", shown)


def _refusal(lines: Sequence[str], *, is_short: bool) -> str:
    """Say what the guest or its host has refused before anything went wrong; empty if nothing."""
    if any(_HOST_OUT_OF_MEMORY in line for line in lines):
        return (
            f"{MEMORY_FOLDER}, where virtual kernels have their memory, is full: free some of it, "
            "or run fewer at once"
        )
    if refused := next(filter(_BAD_PARAMETER.search, lines), ""):
        said = refused.rpartition("] ")[2]  # without the kernel's time
        return f"one of module_parameters is refused: {said}"
    failed = next((line for line in lines if line.startswith(_FAILED)), "")
    return "" if is_short or not failed else _failed_step(failed.removeprefix(_FAILED))


def _kept(console: str) -> str:
    """Keep the whole console; say where it is."""
    try:
        return f"the whole console is in {crash.keep_console(console)}"
    except OSError as error:
        return f"its console could not be kept in {crash.crashes_dir()} ({error.strerror or error})"


def _early_end(status: int) -> str:
    """Say how a guest ended that has said nothing of it."""
    if status < 0:
        ended = f"the virtual kernel was ended by signal {-status}, {signal.strsignal(-status)}"
        return f"{ended}{_SIGNALS.get(-status, '')}"
    return f"the virtual kernel ended early, with exit status {status}"


def _failed_step(said: str) -> str:
    """Say which step of the plan has failed; the bytes of a request would tell nobody anything."""
    if sysctl := _BAD_SYSCTL.fullmatch(said):
        path, value, reason = sysctl.groups()
        name = path.replace("/", ".")
        step = "change it" if reason == "Invalid argument" else "correct its name"
        return f"sysctls.{name} = {value!r} is refused by the virtual kernel ({reason}): {step}"
    if qdisc := _BAD_QDISC.fullmatch(said):
        number, name, reason = qdisc.groups()
        return (
            f"bottlenecks[{number}].qdisc_options has what Linux's {name} refuses ({reason}): "
            "change it"
        )
    return f"the virtual kernel cannot do this: {said}"
