# SPDX-License-Identifier: Apache-2.0
"""Private namespaces, which isolate a run's changes from the machine."""

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

#: Mount point of a run's folder in its mount namespace, accessible to all users. It is an empty
#: folder outside the namespace.
HERE = Path("/run/ccbench")

_CLONE_NEWNET = 0x40000000

#: Real-time priority above all ordinary programs and below the kernel's own threads.
_PRIORITY = 5


def in_namespaces(module: str, *arguments: str, network: bool) -> list[str]:
    """Return the command line that runs a ccbench module in new namespaces, as root.

    These are a mount namespace, a process namespace, which ends with its first process, and, if
    `network`, a network namespace.
    """
    # `python -m` would first search the current folder, which may belong to any user.
    start = (
        "import sys; sys.path[:] = [path for path in sys.path if path]; "
        "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__')"
    )
    options = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if network:
        options.append("--net")
    return ["unshare", *options, "--", sys.executable, "-c", start, module, *arguments]


def call(*words: str) -> None:
    """Run a program such as ``ip``.

    Raises
    ------
    RuntimeError
        If it fails, with its error message.
    """
    process = subprocess.run(words, check=False, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)}: {process.stderr.strip()}")


@contextmanager
def inside_namespace_of(pid: int) -> Iterator[None]:
    """Move this thread to a process's network namespace; sockets created there remain in it."""
    with Path(f"/proc/{pid}/ns/net").open("rb") as target, inside_namespace(target.fileno()):
        yield


@contextmanager
def inside_namespace(descriptor: int) -> Iterator[None]:
    """Move this thread to the network namespace of a file descriptor during the block."""
    with Path("/proc/thread-self/ns/net").open("rb") as original:
        _enter(descriptor)
        try:
            yield
        finally:
            _enter(original.fileno())


def _enter(descriptor: int) -> None:
    # Python has os.setns only from 3.12 on.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def new_network() -> int:
    """Create a network namespace and return a process in it.

    The process ends with the process namespace of this process, which must be one started by
    :func:`in_namespaces`.

    Raises
    ------
    RuntimeError
        If it cannot be created.
    """
    # The process prints a line when the namespace exists.
    process = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError("a network namespace could not be created")
    return process.pid


def set_sysctls(sysctls: Mapping[str, str]) -> None:
    """Set sysctls of this network namespace, skipping those of IPv6 if the kernel lacks it.

    Raises
    ------
    RuntimeError
        If this kernel lacks another sysctl or refuses its value.
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
    """Mount a run's folder at :data:`HERE` in the mount namespace of this process.

    If permitted, this process and its future children are also given real-time priority.
    """
    HERE.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", str(folder), str(HERE)], check=True)
    with suppress(OSError):  # the run's lateness shows whether it was needed
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
