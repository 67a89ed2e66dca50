# SPDX-License-Identifier: Apache-2.0
"""The programs of this machine that building the virtual kernel takes."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from ccbench.base.errors import MissingRequirement

__all__ = ["check", "missing"]

#: Each program, and Debian's and Ubuntu's package that brings it. Found out by building with these
#: alone in PATH, and what every such system has: perl, python3, cpio, kmod, rsync, libelf and
#: openssl are not needed, whatever the kernel's own documentation says.
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

#: The C library to link the guest's init with: it runs where there is no other file.
_STATIC_LIBC = ("static C library", "libc6-dev")


def missing() -> dict[str, str]:
    """Return what is not installed, each with the package that brings it.

    Examples
    --------
    >>> all(package for package in missing().values())
    True
    """
    absent = {name: package for name, package in _PROGRAMS.items() if shutil.which(name) is None}
    if "gcc" not in absent and not _has_static_libc():
        name, package = _STATIC_LIBC
        absent[name] = package
    return absent


def check() -> None:
    """Make sure that the virtual kernel can be built here.

    Raises
    ------
    MissingRequirement
        If this is not Linux on x86-64, or if something is not installed; the message names it all
        and the one command that installs it.
    """
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise MissingRequirement(
            f"the virtual kernel needs Linux on x86-64; this machine is {system} on {machine}"
        )
    absent = missing()
    if absent:
        names = ", ".join(absent)
        packages = " ".join(dict.fromkeys(absent.values()))
        raise MissingRequirement(
            f"building the virtual kernel needs {names}: sudo apt-get install -y {packages}"
        )


def _has_static_libc() -> bool:
    # gcc answers with a path if it has found the file and with the bare name if not.
    answer = subprocess.run(
        ["gcc", "-print-file-name=libc.a"], capture_output=True, text=True, check=False
    )
    return Path(answer.stdout.strip()).is_absolute()
