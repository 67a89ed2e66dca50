# SPDX-License-Identifier: Apache-2.0
"""Outcome of a guest, derived from its console: success, or an error with a one-line reason."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from ccbench.base.errors import CcbenchError, EngineError, RefusedInput
from ccbench.emulate.kernel.boot import crash, trapping
from ccbench.emulate.kernel.boot.crash import Crash
from ccbench.emulate.kernel.boot.limits import MEMORY_FOLDER
from ccbench.emulate.kernel.boot.parameters import module_parameters
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.source.build import KernelBuild

__all__ = ["failure"]

_CONSOLE_LINES = 20
_FINISHED = "ccbench: finished"
_FAILED = "ccbench: failed: "

#: Console message when the host has no space for records (ENOSPC).
_HOST_FULL = "cannot write results to the host: error -28"

#: Console message of a failed step that sets a bottleneck's qdisc.
_BAD_QDISC = re.compile(r"netlink bottleneck(\d+)-(\w+) [0-9a-f]+: (.*)")

#: Console message of a failed step that writes a sysctl.
_BAD_SYSCTL = re.compile(r"write /proc/sys/(\S+) (.*): (.*)")

#: Console message about an invalid module parameter, after which Linux may continue without it.
_BAD_PARAMETER = re.compile(r"(\w+): `(.*)' (?:invalid|too large) for parameter `([\w.]+)'")

#: Console message about code that sleeps in atomic context, after which Linux continues.
_FAULT = re.compile(r"\] (BUG: |bad: scheduling|softirq: huh)")

#: Likely causes and remedies when the host has killed a guest, by signal.
_SIGNALS: dict[int, str] = {
    signal.SIGKILL: ": free memory if it ran out, or run fewer scenarios at once",
    signal.SIGSEGV: ", possibly a stack overflow: recursion too deep, or local variables too large",
    signal.SIGXCPU: ": raise the limit of CPU time (ulimit -t)",
    signal.SIGXFSZ: ": raise the limit of file size (ulimit -f)",
}

#: Console messages about lack of memory, on the host and in the guest.
_HOST_OUT_OF_MEMORY = "Bus error - the host"
_OUT_OF_MEMORY = ("Cannot allocate memory", "Out of memory", "deadlocked on memory")

_OWN_MODULE = "correct the module"
_NO_OWN_MODULE = f"run without modules of your own ({OWN_MODULES}); if it persists, report it"


def failure(  # noqa: PLR0913 - independent facts about the guest, all by keyword
    console: str, build: KernelBuild, *, status: int, memory_mb: int, hung_s: float, records: Path
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
    """
    lines = console.splitlines()
    is_refused = any(map(_BAD_PARAMETER.search, lines))
    if _FINISHED in lines and not is_refused and not any(map(_FAULT.search, lines)):
        return None
    if any(_HOST_FULL in line for line in lines):
        message = f"{records}, which holds the records of unfinished runs, is full"
        return CcbenchError(f"{message}: make room there, or set TMPDIR to another folder")
    if refused := trapping.refusal(console):
        return refused
    is_out_of_memory = any(sign in line for line in lines for sign in _OUT_OF_MEMORY)
    if refusal := _refusal(lines, build, is_out_of_memory=is_out_of_memory):
        return refusal
    crashed = Crash.read(lines)
    log = _store(console)
    if crashed is None and not is_out_of_memory and not hung_s:
        return EngineError(f"{_early_exit(status)}; {log}", lines[-_CONSOLE_LINES:])
    excerpt = crashed.excerpt(build) if crashed else []
    culprit = crashed.culprit if crashed else None
    is_own = culprit is not None and crash.is_own(culprit, build)
    location = f", in {crash.describe(culprit, build)}" if culprit else ""
    step = _OWN_MODULE if is_own else _NO_OWN_MODULE
    if is_out_of_memory:
        problem = f"the virtual kernel ran out of its {memory_mb} MB of memory"
        location = location if is_own else ""
        less = "shorten the queues or the RTT, or start fewer flows"
        step = f"{_OWN_MODULE} if it allocates too much, else {less}" if is_own else less
    elif hung_s:
        problem = f"the virtual kernel hangs: its clock has not advanced for {hung_s:g} s"
        excerpt = excerpt[1:]  # the first line describes the signal of `boot`
    else:
        assert crashed is not None
        problem, location = crash.explain(crashed, build), ""
    return EngineError(f"{problem}{location}; {log}: {step}", excerpt)


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
    if parameter := next(filter(None, map(_BAD_PARAMETER.search, lines)), None):
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
