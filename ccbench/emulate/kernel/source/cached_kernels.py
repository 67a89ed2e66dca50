# SPDX-License-Identifier: Apache-2.0
"""Inventory and removal of kernels in the cache."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ccbench.base.errors import CcbenchError
from ccbench.base.locks import locked
from ccbench.emulate.kernel.source import integrity, prebuilt
from ccbench.emulate.kernel.source.cached_trees import trees
from ccbench.emulate.kernel.source.guest_build import path_of_build
from ccbench.emulate.kernel.source.guest_sources import find_sources
from ccbench.emulate.kernel.source.kernel_build import DESCRIPTION, load_build
from ccbench.emulate.kernel.source.locks import only_one, remove_unused
from ccbench.emulate.kernel.source.lookup import default_build
from ccbench.emulate.kernel.source.paths import kernels_dir
from ccbench.emulate.kernel.source.tree import load_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from pathlib import Path

    from ccbench.emulate.kernel.source.variants import Variant

__all__ = ["CachedKernel", "cached_kernels", "prune"]

#: Size in bytes of the blocks counted by ``stat`` on every file system.
_BLOCK = 512

#: The file of a tree that its builds share.
_LINUX = ("linux",)

#: Kind, name and HZ; the newest kernel of each group is kept.
_Group: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True)
class CachedKernel:
    """A compiled kernel tree, or a kernel with its guest, in the cache.

    Parameters
    ----------
    path : Path
        Its folder.
    kind : str
        ``"tree"``, for compiling modules, or ``"build"``, for running.
    release : str
        The kernel's release; empty if its description cannot be read.
    hz : int
        Timer ticks per second; 0 if its description cannot be read.
    made_s : float
        Time of the build, or of a tree's last selection, in seconds since 1970.
    size_bytes : int
        Size on the disk. Files shared by several kernels are counted with the first of them.
    state : str
        ``"running"``, in use by a process; ``"current"``, the default kernel; ``"newest"`` of its
        name and HZ, for builds that of today's modules; ``"old"`` or ``"damaged"``, removed by
        :func:`prune`.
    ccas, qdiscs, features : tuple of str
        A build's congestion controls, qdiscs of bottlenecks and features of the kernel, sorted,
        without the modules that a user has no longer.
    name : str
        The name of its own of a kernel that is not as released, else empty.
    patches : tuple of str
        The file names of its patches.
    origin : str
        The distribution that it comes from; empty if it was compiled on this machine.
    """

    path: Path
    kind: str
    release: str
    hz: int
    made_s: float
    size_bytes: int
    state: str
    ccas: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    name: str = ""
    patches: tuple[str, ...] = ()
    origin: str = ""

    @property
    def is_needed(self) -> bool:
        """Whether :func:`prune` keeps it."""
        return self.state not in {"old", "damaged"}


def cached_kernels() -> tuple[CachedKernel, ...]:
    """Return the trees and the builds in the cache, newest first.

    Examples
    --------
    >>> states = {"current", "running", "newest", "old", "damaged"}
    >>> {kernel.state for kernel in cached_kernels()} <= states
    True
    """
    with suppress(CcbenchError):
        prebuilt.provide(kernels_dir(), find_sources())
    return _cached()


def _cached() -> tuple[CachedKernel, ...]:
    """Return the trees and the builds in the cache, newest first; the lock may be held."""
    in_use = None
    with suppress(CcbenchError):
        in_use = default_build(kernels_dir(), find_sources())
    current = {(kernels_dir() / "current").resolve()}
    if in_use is not None:
        current.add(in_use.path.resolve())
    counted: set[tuple[int, int]] = set()
    today = _of_today()
    described = partial(_build, today=today)
    kernels = [*_in_cache("tree", _tree, counted), *_in_cache("build", described, counted)]
    newest: dict[_Group, Path] = {}
    for kernel in sorted(kernels, key=lambda one: (one.path in today, one.made_s)):
        newest[_group(kernel)] = kernel.path
    return tuple(replace(kernel, state=_state(kernel, current, newest)) for kernel in kernels)


def prune(
    *, dry_run: bool = False, report: Callable[[str, float], None] = lambda _step, _share: None
) -> tuple[CachedKernel, ...]:
    """Remove all trees and builds except those in use and the newest of each name and HZ.

    The name of a kernel as released is its release. Return the removed kernels. The kernel of a
    search or study can be rebuilt from the same source, patches and ccbench.

    Parameters
    ----------
    dry_run : bool
        Whether to remove nothing.
    report : callable, optional
        Called with a message and 0 before waiting for another build.

    Raises
    ------
    OSError
        If the cache cannot be written.
    """
    if dry_run or not kernels_dir().exists():
        return tuple(kernel for kernel in _cached() if not kernel.is_needed)
    with only_one(kernels_dir(), report):
        return tuple(
            kernel
            for kernel in _cached()
            if not kernel.is_needed and remove_unused(kernel.path, kernels_dir())
        )


def _in_cache(
    kind: str, describe: Callable[[Path], dict[str, Any]], counted: set[tuple[int, int]]
) -> list[CachedKernel]:
    """Return the trees or builds, newest first, with empty states."""
    kernels = []
    for path in sorted((kernels_dir() / f"{kind}s").glob("[!.]*")):
        with suppress(FileNotFoundError):  # removed by another process meanwhile
            try:
                described = describe(path)
            except CcbenchError:
                described = {"release": "", "hz": 0, "made_s": path.stat().st_mtime}
            size = _size_bytes(path, counted)
            kernels.append(
                CachedKernel(path=path, kind=kind, size_bytes=size, state="", **described)
            )
    return sorted(kernels, key=lambda kernel: kernel.made_s, reverse=True)


def _tree(path: Path) -> dict[str, Any]:
    tree = load_tree(path)
    return {
        "release": tree.release,
        "hz": tree.hz,
        "made_s": path.stat().st_mtime,
        "origin": tree.origin,
        **_own(tree.variant),
    }


def _of_today() -> frozenset[Path]:
    """Return the places of the builds with today's modules, the user's included."""
    cache = kernels_dir()
    try:
        sources = find_sources()
        return frozenset(path_of_build(tree, cache, sources) for tree in trees(cache, sources))
    except CcbenchError:
        return frozenset()


def _build(path: Path, today: Container[Path]) -> dict[str, Any]:
    build = load_build(path)
    own = () if path in today else (*build.own.ccas, *build.own.qdiscs)
    return {
        "release": build.release,
        "hz": build.hz,
        "made_s": (path / DESCRIPTION).stat().st_mtime,
        "ccas": tuple(cca for cca in build.ccas if cca not in own),
        "qdiscs": tuple(qdisc for qdisc in build.queues if qdisc not in own),
        "features": tuple(sorted(build.descriptions.features.values())),
        "origin": build.origin,
        **_own(build.variant),
    }


def _own(variant: Variant) -> dict[str, Any]:
    return {"name": variant.name, "patches": tuple(file for file, _ in variant.patches)}


def _state(kernel: CachedKernel, current: Iterable[Path], newest: Mapping[_Group, Path]) -> str:
    if _is_running(kernel.path):
        return "running"
    # All other files of a tree only serve to compile modules.
    if integrity.damage(kernel.path, _LINUX if kernel.kind == "tree" else ()):
        return "damaged"
    if not kernel.release:  # intact, it is described as by another version of ccbench
        return "old" if (kernel.path / integrity.FILE).exists() else "damaged"
    if kernel.path.resolve() in current:
        return "current"
    is_newest = kernel.path == newest[_group(kernel)]
    return "newest" if is_newest else "old"


def _group(kernel: CachedKernel) -> _Group:
    return kernel.kind, kernel.name or kernel.release, kernel.hz


def _is_running(path: Path) -> bool:
    try:
        os.close(locked(path, wait=False))
    except FileNotFoundError:
        return False
    except OSError:  # locked, or a file system without locks
        return True
    return False


def _size_bytes(folder: Path, counted: set[tuple[int, int]]) -> int:
    total = 0
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        if (status.st_dev, status.st_ino) not in counted or stat.S_ISDIR(status.st_mode):
            counted.add((status.st_dev, status.st_ino))
            total += status.st_blocks * _BLOCK
    return total
