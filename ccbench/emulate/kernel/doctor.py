# SPDX-License-Identifier: Apache-2.0
"""Requirements of the virtual kernel on a machine."""

from __future__ import annotations

import platform
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.cache import cache_dir
from ccbench.base.durable import existing
from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.emulate._workspace import workspace
from ccbench.emulate.engine import Check
from ccbench.emulate.kernel.boot import limits, trapping
from ccbench.emulate.kernel.boot.boot import boot
from ccbench.emulate.kernel.boot.inputs import GuestInput
from ccbench.emulate.kernel.boot.limits import FOLDER_STEP, MEMORY_FOLDER
from ccbench.emulate.kernel.source import kernel_build, lookup, toolchain

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

__all__ = ["checks", "trapping_check"]

#: Space for the memory of a guest with a typical scenario, in MB.
_MEMORY_MB = 256

#: Space for the records of a run, in MB: three minutes at 400 Mbit/s.
_RECORDS_MB = 512

#: Space for the kernel's unpacked source and its build, in MB.
_BUILD_MB = 2048


def checks(kernel: KernelBuild | None = None) -> list[Check]:
    """Return the checks. Modified modules are compiled first, which takes seconds.

    Parameters
    ----------
    kernel : KernelBuild, optional
        The kernel to run; by default the default kernel.
    """
    built = _built(kernel)
    machine = [_system()]
    if not built.ok:
        machine += [_programs(), _room("room to build", existing(cache_dir()), _BUILD_MB)]
    return [
        *machine,
        built,
        _limits(),
        _memory(),
        _room("room for records", Path(tempfile.gettempdir()), _RECORDS_MB),
    ]


def trapping_check(kernel: KernelBuild) -> Check:
    """Return the check that guests can run programs, with their way of trapping, by booting one."""
    name, given = "programs in a guest", GuestInput(files={"plan": b""}, memory_mb=64, seed=1)
    try:
        with workspace() as folder:
            boot(kernel, folder, given=given)
            used = trapping.used((folder / "console").read_text(errors="replace"))
    except CcbenchError as error:
        detail, _, remedy = str(error).partition(": ")
        return Check(name=name, ok=False, detail=detail, remedy=remedy)
    fastest = trapping.ways(kernel.release)[0]
    is_refused = used != fastest and not trapping.demanded()
    note = f", which is slower than {fastest}, refused by this machine" if is_refused else ""
    return Check(name=name, ok=True, detail=f"trapped by {used}{note}")


def _system() -> Check:
    system, machine = platform.system(), platform.machine()
    return Check(
        name="system",
        ok=(system, machine) == ("Linux", "x86_64"),
        detail=f"{system} on {machine}",
        remedy="the virtual kernel runs on Linux on x86-64 only; use another machine",
    )


def _programs() -> Check:
    return Check.of_programs("programs to build with", toolchain.missing())


def _built(kernel: KernelBuild | None) -> Check:
    try:
        kernel = kernel or lookup.installed()
        kernel_build.check_intact(kernel)
    except InputError as error:  # an invalid cache folder
        detail, _, remedy = str(error).partition(": ")
        return Check(name="virtual kernel", ok=False, detail=detail, remedy=remedy)
    except CcbenchError as error:
        detail, _, remedy = str(error).partition("; run: ")
        remedy = remedy or "ccbench kernel build"
        return Check(name="virtual kernel", ok=False, detail=detail, remedy=remedy)
    detail = f"{kernel.title}, HZ {kernel.hz}, {len(kernel.ccas)} congestion controls"
    detail += f", from {kernel.origin}" if kernel.origin else ""
    return Check(name="virtual kernel", ok=True, detail=detail)


def _limits() -> Check:
    try:
        limits.check_limits(_MEMORY_MB)
    except MissingRequirement as error:
        detail, _, remedy = str(error).partition(": ")
        return Check(name="limits", ok=False, detail=detail, remedy=remedy)
    return Check(
        name="limits", ok=True, detail="address space, open files and size of files suffice"
    )


def _memory() -> Check:
    """Check the folder of the guest's memory, which must also be executable."""
    try:
        limits.check_folder()
    except MissingRequirement as error:
        detail, _, remedy = str(error).partition(": ")
        return Check(name="memory", ok=False, detail=detail, remedy=remedy)
    return _room("memory", Path(MEMORY_FOLDER), _MEMORY_MB, FOLDER_STEP)


def _room(name: str, folder: Path, needed_mb: int, remedy: str = "") -> Check:
    free_mb = shutil.disk_usage(folder).free // 2**20
    return Check(
        name=name,
        ok=free_mb >= needed_mb,
        detail=f"{free_mb} MB free in {folder}, {needed_mb} MB needed",
        remedy=remedy or f"make room in {folder}, or choose another folder",
    )
