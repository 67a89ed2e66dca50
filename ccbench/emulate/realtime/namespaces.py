# SPDX-License-Identifier: Apache-2.0
"""Namespaces of one's own: what a run changes there, nobody else notices."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "HERE",
    "call",
    "in_namespaces",
    "inside_namespace",
    "inside_namespace_of",
    "new_network",
    "set_sysctls",
    "settle",
]

#: A run's folder in its mount namespace, where anybody there finds it by a short name. Outside it
#: is an empty folder.
HERE = Path("/run/ccbench")

_CLONE_NEWNET = 0x40000000

#: Before all ordinary programs, behind what the kernel does itself.
_PRIORITY = 5


def in_namespaces(module: str, *arguments: str, network: bool) -> list[str]:
    """Return the command line that runs a module of ours in namespaces of its own, as root.

    These are of mounts, of processes, which end with the first, and, if `network`, of the network.
    """
    # `python -m` would look for every module in the current folder first, which may be anybody's.
    start = (
        "import sys; sys.path[:] = [path for path in sys.path if path]; "
        "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__')"
    )
    own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if network:
        own.append("--net")
    return ["unshare", *own, "--", sys.executable, "-c", start, module, *arguments]


def call(*words: str) -> None:
    """Run a program such as ``ip``.

    Raises
    ------
    RuntimeError
        If it fails, with what it says.
    """
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")


@contextmanager
def inside_namespace_of(pid: int) -> Iterator[None]:
    """Let this thread be in the network namespace of a process; sockets made there stay there."""
    with Path(f"/proc/{pid}/ns/net").open("rb") as it, inside_namespace(it.fileno()):
        yield


@contextmanager
def inside_namespace(descriptor: int) -> Iterator[None]:
    """Let this thread be in the network namespace that a file descriptor is open for."""
    with Path("/proc/thread-self/ns/net").open("rb") as ours:
        _enter(descriptor)
        try:
            yield
        finally:
            _enter(ours.fileno())


def _enter(descriptor: int) -> None:
    # os.setns is there from Python 3.12 on.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def new_network() -> int:
    """Make a network namespace; return a process in it, which ends with this process's namespace.

    It is to be called where :func:`in_namespaces` has put this process.

    Raises
    ------
    RuntimeError
        If it cannot be made.
    """
    # It says when it is there, and then does nothing.
    process = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError("a network namespace could not be made")
    return process.pid


def set_sysctls(sysctls: Mapping[str, str]) -> None:
    """Change settings of this network namespace; those of IPv6 only if it is there.

    Raises
    ------
    RuntimeError
        If this kernel does not have one of the others, or refuses its value.
    """
    for name, value in sysctls.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        if not path.exists() and "ipv6" in name:
            continue
        try:
            path.write_text(value, encoding="utf-8")
        except OSError as error:
            message = f"{name} is {value!r}, which this kernel refuses ({error.strerror})"
            raise RuntimeError(message) from error


def settle(folder: Path) -> None:
    """Have a run's folder at :data:`HERE`, in the mount namespace that this process has.

    This process, and what it starts from now on, goes before ordinary programs, if this is allowed.
    """
    HERE.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", str(folder), str(HERE)], check=True)
    with suppress(OSError):  # how late a run was will tell
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
