# SPDX-License-Identifier: Apache-2.0
"""Locks of kernels in the cache: builds, and kernels in use."""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ccbench.base.durable import LEFTOVER, remove
from ccbench.base.errors import MissingRequirement
from ccbench.base.locks import lock_file, locked
from ccbench.emulate.kernel.source.kernel_build import DESCRIPTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

__all__ = [
    "hold",
    "logged",
    "nothing",
    "only_one",
    "remove_unused",
]

_log = logging.getLogger(__name__)

#: Descriptors that hold the locks of the kernels in use by this process (:func:`hold`).
_held: dict[Path, int] = {}


def hold(kernel: KernelBuild) -> None:
    """Protect a kernel in the cache from removal until this process ends.

    Raises
    ------
    MissingRequirement
        If it has been removed.
    """
    if kernel.path in _held:
        return
    try:
        descriptor = locked(kernel.path, shared=True)
    except FileNotFoundError:
        descriptor = None
    except OSError:  # no locks on this file system: other processes cannot remove it either
        return
    if descriptor is None or not (kernel.path / DESCRIPTION).exists():  # removed before that
        if descriptor is not None:
            os.close(descriptor)
        raise MissingRequirement(
            f"the virtual kernel {kernel.version} was removed just now; run the command again"
        )
    _held[kernel.path] = descriptor


@contextmanager
def only_one(cache: Path, report: Callable[[str, float], None]) -> Iterator[None]:
    """Exclude builds by other processes during the block, waiting for a running one to end.

    Parameters
    ----------
    cache : Path
        The result of :func:`kernels_dir`.
    report : callable
        Called before waiting.
    """
    for folder in ("sources", "trees", "builds", "logs"):
        (cache / folder).mkdir(parents=True, exist_ok=True)
    try:
        lock = lock_file(cache / "lock", wait=False)
    except BlockingIOError:
        report("waiting for another build", 0.0)
        lock = lock_file(cache / "lock")
    try:
        # No other build is running, so these were left behind by killed builds.
        for folder in ("trees", "builds"):
            for leftover in (cache / folder).glob(LEFTOVER):
                shutil.rmtree(leftover, ignore_errors=True)
        for leftover in (cache / "sources").glob(".download-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        os.close(lock)


def remove_unused(kernel: Path, cache: Path) -> bool:
    """Remove a tree or a build, with its logs, unless a process uses it; return whether it did."""
    try:
        lock = locked(kernel, wait=False)
    except OSError:
        return False
    try:
        remove(kernel)
    finally:
        os.close(lock)
    for log in (cache / "logs").glob(f"*-{kernel.name}.log"):
        log.unlink(missing_ok=True)
    return True


def logged(step: str, _share: float) -> None:
    """Log a step, where nothing else shows progress."""
    _log.warning("%s", step)


def nothing(_step: str, _share: float) -> None:
    """Ignore progress."""
