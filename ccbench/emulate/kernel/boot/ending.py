# SPDX-License-Identifier: Apache-2.0
"""Outcome of a guest, derived from its console: success, or an error with a one-line reason."""

from __future__ import annotations

import itertools
import re
import signal
from collections import Counter
from typing import TYPE_CHECKING

from ccbench.base import program_files
from ccbench.base.errors import CcbenchError, EngineError, RefusedInput
from ccbench.emulate.kernel.boot import console as consoles
from ccbench.emulate.kernel.boot import crash, trapping
from ccbench.emulate.kernel.boot.crash import Crash
from ccbench.emulate.kernel.boot.limits import MEMORY_FOLDER
from ccbench.emulate.kernel.boot.parameters import module_parameters
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

__all__ = ["failure"]

_CONSOLE_LINES = 20
_FINISHED = "ccbench: finished"
_FAILED = "ccbench: failed: "

#: Console message when the host has no space for records (ENOSPC).
_HOST_FULL = "cannot write results to the host: error -28"
#: Linux's message if a process of a program no longer exists on the host (ESRCH).
_LOST_PROCESS = re.compile(r"PTRACE_\w+ failed, errno = 3$")

#: Console message of a failed step that sets a bottleneck's qdisc.
_BAD_QDISC = re.compile(r"netlink bottleneck(\d+)-(\w+) [0-9a-f]+: (.*)")

#: Console message of a failed step that writes a sysctl.
_BAD_SYSCTL = re.compile(r"write /proc/sys/(\S+) (.*): (.*)")

#: Console message about an invalid module parameter, after which Linux may continue without it.
_BAD_PARAMETER = re.compile(r"(\w+): `(.*)' (?:invalid|too large) for parameter `([\w.]+)'")

#: Console message about a program that cannot be started, or has ended (init.c).
_PROGRAM = re.compile(r"ccbench: program: (\S+): (.*)")
_PROGRAM_LINES = 10
#: Linux's message about the task that runs, in the trace of a guest that hangs.
_RUNNING = re.compile(r"Pid: \d+, comm: (\S+)")
#: Names of the guest's tasks that are no programs: init, which starts them, and kernel threads.
_TASK_OF_KERNEL = re.compile(r"init|swapper|k\w+d\d*|\w+/.*")

#: Begin of the console messages of ccbench's checks in the guest.
_CHECK = "not syncing: ccbench: "

#: Console message about a qdisc that does not conserve its packets (link/conservation.c), or a
#: congestion control that changes what belongs to TCP (flows/guard.c).
_FAULTY = re.compile(
    rf"{_CHECK}"
    r"(?P<subject>(?:qdisc|congestion control) (?P<name>\S+) of (?:\w+ \d+|all flows)): "
    r"(?P<fault>.*)"
)

#: Console message about packets that something has damaged (flows/damage.c).
_DAMAGED = re.compile(rf"{_CHECK}(the host .*)")

#: Console message about memory that a module of the user misuses (flows/memory.c), a call that it
#: must not make in its context (flows/context.c), or a function that changes what it must not
#: (flows/calls.c); and what each is in words.
_MISUSED = re.compile(rf"{_CHECK}(?P<kind>memory|context|function): (?P<fault>.*)")
_MISUSES = {
    "memory": "memory is misused",
    "context": "a call may sleep",
    "function": "a function is faulty",
}

#: Console message of a failed step that loads a module.
_BAD_MODULE = re.compile(r"module /modules/(\w+)\.ko.*: (.*)")
#: Linux's message about a symbol that a module needs and no other has.
_NO_SYMBOL = re.compile(r"\w+: Unknown symbol (\w+)")

#: Likely causes and remedies when the host has killed a guest, by signal.
_SIGNALS: dict[int, str] = {
    signal.SIGKILL: ": free memory if it ran out, or run fewer scenarios at once",
    signal.SIGSEGV: ", possibly a stack overflow: recursion too deep, or local variables too large",
    signal.SIGXCPU: ": raise the limit of CPU time (ulimit -t)",
    signal.SIGXFSZ: ": raise the limit of file size (ulimit -f)",
}

#: Console messages about lack of memory, on the host and in the guest.
_HOST_OUT_OF_MEMORY = "Bus error - the host"
_NO_MEMORY = "Cannot allocate memory"
_OUT_OF_MEMORY = (_NO_MEMORY, "Out of memory", "deadlocked on memory")

_OWN_MODULE = "correct the module"
_REPORT = "report it, as it is not one of yours"
_NO_OWN_MODULE = f"run without modules of your own ({OWN_MODULES}); if it persists, report it"


def failure(  # noqa: PLR0913 - independent facts about the guest, all by keyword
    console: str,
    build: KernelBuild,
    *,
    status: int,
    memory_mb: int,
    hung_s: float,
    records: Path,
    programs: Path,
) -> CcbenchError | None:
    """Return the error of a run, or None if the guest completed its plan.

    Parameters
    ----------
    console : str
        The guest's entire console output. After a crash it is stored
        (:func:`.crash.store_console`).
    build : KernelBuild
        The guest's kernel.
    status : int
        The exit status of the guest's process.
    memory_mb : int
        Memory of the guest in MB.
    hung_s : float
        For a guest killed because its clock had stopped: for how long, in seconds; else 0.
    records : Path
        The host's folder for the records of runs.
    programs : Path
        The folder with the folders of the programs.
    """
    lines = console.splitlines()
    is_refused = any(map(_BAD_PARAMETER.search, lines))
    # What a check finds after a crash, such as a sleep in a hook, is its consequence.
    before = list(itertools.takewhile(lambda line: _CHECK not in line, lines))
    is_checked = Crash.read(before) is None
    crashed = Crash.read(lines if is_checked else before, build.own.modules)
    # A flood is an error also if the guest has completed its plan before it was stopped.
    if _FINISHED in lines and not is_refused and crashed is None and consoles.FLOOD not in lines:
        return None
    is_out_of_memory = any(sign in line for line in lines for sign in _OUT_OF_MEMORY)
    return (
        _refusal_of_host(console, lines, records)
        or (_program_out_of_memory(memory_mb, programs) if is_out_of_memory else None)
        or _ended_program(lines, programs)
        or _own_refusal(lines, build)
        or _refusal(lines, build, is_out_of_memory=is_out_of_memory)
        or (_faulty_module(console, lines, build) if is_checked else None)
        or (_out_of_memory(console, crashed, build, memory_mb) if is_out_of_memory else None)
        or (_spinning_program(lines, programs, hung_s) if hung_s else None)
        or (None if crashed or hung_s else _end_without_crash(console, lines, build, status))
        or _crash(console, crashed, build, hung_s)
    )


def _refusal_of_host(console: str, lines: Sequence[str], records: Path) -> CcbenchError | None:
    """Return the error if the host has no room for records, kills or does not trap programs."""
    if any(_HOST_FULL in line for line in lines):
        message = f"{records}, which holds the records of unfinished runs, is full"
        return CcbenchError(f"{message}: make room there, or set TMPDIR to another folder")
    if _first(_LOST_PROCESS, lines):
        message = "a process of the virtual kernel was killed from outside"
        return EngineError(f"{message}{_SIGNALS[signal.SIGKILL]}")
    return trapping.refusal(console)


def _ended_program(lines: Sequence[str], programs: Path) -> EngineError | None:
    """Return the error if a program could not be started, or has ended too early."""
    if not (match := _first(_PROGRAM, lines)):
        return None
    name, how = match.groups()
    folder = programs / name
    is_of_flow = name.rpartition("-")[2] in program_files.SIDES
    output = _text(folder / "output").splitlines()
    step = "see what it printed" if output else "it printed nothing: try it by hand"
    if is_of_flow and how == "ended with exit status 0":
        step = "let it run until its flow stops, or set may_exit = true"
    message = f"{program_files.subject(folder)}, {how}: {step}"
    return EngineError(message, output[-_PROGRAM_LINES:])


def _program_out_of_memory(memory_mb: int, programs: Path) -> EngineError | None:
    """Return the error of a guest without memory, if it has programs, which most likely took it."""
    if not programs.is_dir():
        return None
    message = f"the virtual kernel and its programs ran out of their {memory_mb} MB of memory"
    return EngineError(f"{message}: raise memory_mb of the flows of kind program")


def _spinning_program(lines: Sequence[str], programs: Path, hung_s: float) -> EngineError | None:
    """Return the error of a guest that hangs while it runs a program."""
    running = _first(_RUNNING, lines)
    has_programs = any(map(program_files.read_words, programs.glob("*")))
    # The kernel's own tasks run no program's code; the others are the programs and their children.
    if not running or not has_programs or _TASK_OF_KERNEL.fullmatch(running[1]):
        return None
    message = (
        f"the program {running[1]!r} computes without a system call: the clock has not advanced "
        f"for {hung_s:g} s, as computing takes no time"
    )
    return EngineError(f"{message}: let it sleep, or read the clock, while it waits")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _faulty_module(console: str, lines: Sequence[str], build: KernelBuild) -> EngineError | None:
    """Return the error if ccbench's checks in the guest have found something faulty."""
    step = _OWN_MODULE
    if match := _first(_FAULTY, lines):
        message = f"the {match['subject']} is faulty: {match['fault']}"
        if match["name"] not in (*build.own.qdiscs, *build.own.ccas):
            step = _REPORT
    elif match := _first(_MISUSED, lines):
        message = f"{_MISUSES[match['kind']]}: {crash.with_lines(match['fault'], build)}"
    elif match := _first(_DAMAGED, lines):
        message = match[1]
        step += f" ({', '.join(build.own.modules)})"
        if not build.own.modules:
            step = _REPORT
    else:
        return None
    return EngineError(f"{message}; {_store(console)}: {step}")


def _first(pattern: re.Pattern[str], lines: Sequence[str]) -> re.Match[str] | None:
    """Return the first match in a console."""
    return next(filter(None, map(pattern.search, lines)), None)


def _out_of_memory(
    console: str, crashed: Crash | None, build: KernelBuild, memory_mb: int
) -> EngineError:
    """Return the error of a guest without memory, in which the user's modules are suspects."""
    problem = f"the virtual kernel ran out of its {memory_mb} MB of memory"
    step = "shorten the queues or the RTT, or start fewer flows"
    excerpt = crashed.excerpt(build) if crashed else []
    if build.own.modules:
        culprit = crashed.culprit if crashed else None
        is_own = culprit is not None and crash.is_own(culprit, build)
        location = f", in {crash.describe(culprit, build)}" if culprit and is_own else ""
        problem += f"{location}, which is several times what the packets of this scenario need"
        suspects = ", ".join(build.own.modules)
        step = f"{_OWN_MODULE}, which most likely does not free what it allocates ({suspects})"
    return EngineError(f"{problem}; {_store(console)}: {step}", excerpt)


def _end_without_crash(
    console: str, lines: Sequence[str], build: KernelBuild, status: int
) -> EngineError:
    """Return the error of a guest that ended early, or was ended as it printed too much."""
    log = _store(console)
    if consoles.FLOOD not in lines:
        return EngineError(f"{_early_exit(status)}; {log}", lines[-_CONSOLE_LINES:])
    suspects = ", ".join(build.own.modules)
    step = f"{_OWN_MODULE} ({suspects}): it must not print for each packet"
    message = f"the virtual kernel prints without end, mostly {_most_frequent(lines)!r}"
    return EngineError(f"{message}; {log}: {step if suspects else _REPORT}")


def _crash(console: str, crashed: Crash | None, build: KernelBuild, hung_s: float) -> EngineError:
    """Return the error of a guest that crashed or hangs."""
    log = _store(console)
    excerpt = crashed.excerpt(build) if crashed else []
    culprit = crashed.culprit if crashed else None
    is_own = culprit is not None and crash.is_own(culprit, build)
    step = _OWN_MODULE if is_own else _NO_OWN_MODULE
    if build.own.modules and culprit is None:
        step = (
            f"{_OWN_MODULE} ({', '.join(build.own.modules)}), which may have left TCP a value that "
            f"Linux cannot handle, such as a window or an ssthresh of 0; or {_NO_OWN_MODULE}"
        )
    if hung_s:
        location = f", in {crash.describe(culprit, build)}" if culprit else ""
        problem = f"the virtual kernel hangs: its clock has not advanced for {hung_s:g} s{location}"
        excerpt = excerpt[1:]  # the first line describes the signal of `boot`
    else:
        assert crashed is not None
        problem = crash.explain(crashed, build)
    return EngineError(f"{problem}; {log}: {step}", excerpt)


def _own_refusal(lines: Sequence[str], build: KernelBuild) -> EngineError | None:
    """Return the error if a module of the user does not load, or its qdisc does not start."""
    message = _failed_step(lines)
    if (module := _BAD_MODULE.fullmatch(message)) and module[1] in build.own.modules:
        name, reason = module.groups()
        if any(map(_BAD_PARAMETER.search, lines)):
            return None
        symbol = _first(_NO_SYMBOL, lines)
        if symbol:
            cause = f"it needs the symbol {symbol[1]}, which this kernel does not export"
        else:
            cause = f"its module_init returns an error ({reason})"
        console = lines[-_CONSOLE_LINES:]
        return EngineError(f"{name} cannot be loaded: {cause}: {_OWN_MODULE}", console)
    qdisc = _BAD_QDISC.fullmatch(message)
    if qdisc and qdisc[2] in build.own.qdiscs and qdisc[3] == _NO_MEMORY:
        number, name, reason = qdisc.groups()
        return EngineError(
            f"the qdisc {name} of bottleneck {number} cannot start: its init returns an error "
            f"({reason}): {_OWN_MODULE}",
            lines[-_CONSOLE_LINES:],
        )
    return None


def _most_frequent(lines: Sequence[str]) -> str:
    """Return the most frequent message of a console, without its time."""
    texts = [text for line in lines if (text := line.partition("] ")[2])]
    texts = [text for text in texts if text.startswith("WARNING: ")] or texts
    (text, _), *_ = Counter(texts).most_common(1) or [("", 0)]
    return text


def _refusal(
    lines: Sequence[str], build: KernelBuild, *, is_out_of_memory: bool
) -> EngineError | None:
    """Return the error if the guest has refused its input, or the host lacks memory."""
    if any(_HOST_OUT_OF_MEMORY in line for line in lines):
        message = (
            f"{MEMORY_FOLDER}, which holds the memory of virtual kernels, is full: make room "
            "there, or run fewer scenarios at once"
        )
        return EngineError(message, lines[-_CONSOLE_LINES:])
    if refused := _refused_input(lines, build, is_out_of_memory=is_out_of_memory):
        return RefusedInput(refused)
    failed = "" if is_out_of_memory else _failed_step(lines)
    message = f"the virtual kernel cannot execute its plan: {failed}"
    return EngineError(message, lines[-_CONSOLE_LINES:]) if failed else None


def _failed_step(lines: Sequence[str]) -> str:
    """Return the guest's message about a failed step of its plan; empty if there is none."""
    failed = (line.removeprefix(_FAILED) for line in lines if line.startswith(_FAILED))
    return next(failed, "")


def _store(console: str) -> str:
    """Store the console and return where, in words."""
    try:
        return f"the console log is {crash.store_console(console)}"
    except OSError as error:
        folder = crash.crashes_dir()
        return f"its console log could not be written to {folder} ({error.strerror or error})"


def _early_exit(status: int) -> str:
    """Return how a guest ended whose console does not mention an error."""
    if status < 0:
        message = f"the virtual kernel was killed by signal {-status}, {signal.strsignal(-status)}"
        return f"{message}{_SIGNALS.get(-status, '')}"
    return f"the virtual kernel exited early with status {status}"


def _refused_input(lines: Sequence[str], build: KernelBuild, *, is_out_of_memory: bool) -> str:
    """Return which setting of the scenario the guest has refused; empty if none."""
    if parameter := _first(_BAD_PARAMETER, lines):
        loaded, value, name = parameter.groups()
        # Of a built-in module, the kernel's command line contains the name.
        module, _, name = name.rpartition(".") if "." in name else (loaded, "", name)
        meaning = module_parameters(module, build).get(name)
        described = f"; its description: {meaning}" if meaning else ""
        field = f"module_parameters.{module}.{name}"
        return f"{field} = {value!r} is refused by the virtual kernel: change it{described}"
    message = "" if is_out_of_memory else _failed_step(lines)
    if sysctl := _BAD_SYSCTL.fullmatch(message):
        path, value, reason = sysctl.groups()
        name = path.replace("/", ".")
        step = "change it" if reason == "Invalid argument" else "correct its name"
        return f"sysctls.{name} = {value!r} is refused by the virtual kernel ({reason}): {step}"
    if qdisc := _BAD_QDISC.fullmatch(message):
        number, name, reason = qdisc.groups()
        field = f"bottlenecks[{number}].qdisc_options"
        return f"the qdisc {name} refuses {field} ({reason}): change them"
    return ""
