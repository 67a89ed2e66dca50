# SPDX-License-Identifier: Apache-2.0
"""Trapping of programs: how a guest's kernel receives their system calls and page faults.

All kernels can trace the programs' processes by ptrace. Since Linux 6.16, a signal handler in the
process can pass them on instead, to which the host's seccomp filters lead every system call; that
takes little more than half the time. By default a kernel tries this at each boot, and uses ptrace
if the host refuses. Both give the same bytes, so the choice is not part of a guest's input.
"""

from __future__ import annotations

import os

from ccbench.base import validation
from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.emulate.kernel import releases

__all__ = ["TRAPPING", "demanded", "parameters", "refusal", "used", "ways"]

#: Environment variable that demands one of the ways.
TRAPPING = "CCBENCH_TRAPPING"

#: The first release of Linux with seccomp.
_SINCE = (6, 16)

#: Values of the kernel's parameter by the demanded way.
_SECCOMP = {"": "auto", "seccomp": "on", "ptrace": "off"}

#: Texts on the console: the host allows seccomp filters; refuses those demanded; refuses ptrace.
_ALLOWED = "Checking that seccomp filters can be installed...OK"
_NO_SECCOMP = "SECCOMP userspace requested but not functional"
_NO_PTRACE = "Checking that ptrace can change system call numbers...ptrace: "


def ways(release: str) -> tuple[str, ...]:
    """Return the ways of trapping that a release of Linux has, the fastest first.

    Examples
    --------
    >>> ways("6.12.117"), ways("7.3.4")
    (('ptrace',), ('seccomp', 'ptrace'))
    """
    return ("seccomp", "ptrace") if releases.numbers(release) >= _SINCE else ("ptrace",)


def demanded() -> str:
    """Return the way that the environment demands; empty if none."""
    return os.environ.get(TRAPPING, "")


def parameters(release: str) -> tuple[str, ...]:
    """Return the words of the kernel's command line that select the way of trapping.

    Raises
    ------
    InputError
        If the environment demands a way that the release lacks.
    """
    available, way = ways(release), demanded()
    if way and way not in available:
        allowed = f"{' or '.join(available)} on Linux {release}"
        raise validation.bad(TRAPPING, way, allowed, "change it, or unset it")
    return (f"seccomp={_SECCOMP[way]}",) if "seccomp" in available else ()


def used(console: str) -> str:
    """Return the way of trapping that a guest used, from its console."""
    return "seccomp" if _ALLOWED in console else "ptrace"


def refusal(console: str) -> CcbenchError | None:
    """Return the error of a guest whose way of trapping is refused by the host, else None."""
    if _NO_SECCOMP in console:
        message = f"{TRAPPING} demands seccomp filters, which this machine refuses: unset it"
        return InputError(message)
    if _NO_PTRACE in console:
        return MissingRequirement(
            "this machine refuses ptrace, by which the virtual kernel traps programs: allow it (in "
            f"a container: --cap-add=SYS_PTRACE), or run Linux {_SINCE[0]}.{_SINCE[1]} or newer "
            f"without {TRAPPING}"
        )
    return None
