# SPDX-License-Identifier: Apache-2.0
"""Programs required to build the virtual kernel."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from ccbench.base.errors import MissingRequirement

__all__ = ["check", "missing"]

#: Required programs and the packages of Debian and Ubuntu that contain them. The list was verified
#: by a build with only these and the base system in PATH: perl, python3, cpio, kmod, rsync, libelf
#: and openssl are not needed, contrary to the kernel's documentation.
_PROGRAMS = {
    "gcc": "gcc",
    "ld": "binutils",
    "strip": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
}

#: Those that compile modules for a compiled kernel.
_FOR_MODULES = ("gcc", "ld", "strip", "make")

#: The C library for the kernel and the guest's init, which are linked statically.
_STATIC_LIBC = ("static C library", "libc6-dev")


def missing(*, modules_only: bool = False) -> dict[str, str]:
    """Return the missing programs and libraries with their packages.

    Parameters
    ----------
    modules_only : bool
        Whether only modules are to be compiled, for a compiled kernel.

    Examples
    --------
    >>> all(package for package in missing().values())
    True
    """
    programs = _FOR_MODULES if modules_only else _PROGRAMS
    absent = {name: _PROGRAMS[name] for name in programs if shutil.which(name) is None}
    if not modules_only and "gcc" not in absent and not _has_static_libc():
        name, package = _STATIC_LIBC
        absent[name] = package
    return absent


def check(*, modules_only: bool = False) -> None:
    """Check that the virtual kernel, or its modules, can be compiled on this machine.

    Parameters
    ----------
    modules_only : bool
        As in :func:`missing`.

    Raises
    ------
    MissingRequirement
        If this is not Linux on x86-64, or a program is not installed; the message lists all missing
        programs and the command that installs them.
    """
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise MissingRequirement(
            f"the virtual kernel needs Linux on x86-64; this machine is {system} on {machine}"
        )
    absent = missing(modules_only=modules_only)
    if absent:
        names = ", ".join(absent)
        packages = " ".join(dict.fromkeys(absent.values()))
        what = "compiling modules" if modules_only else "building the virtual kernel"
        raise MissingRequirement(f"{what} needs {names}: sudo apt-get install -y {packages}")


def _has_static_libc() -> bool:
    # gcc prints a path if it finds the file, else the bare name.
    process = subprocess.run(
        ["gcc", "-print-file-name=libc.a"], capture_output=True, text=True, check=False
    )
    return Path(process.stdout.strip()).is_absolute()
