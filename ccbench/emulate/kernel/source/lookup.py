# SPDX-License-Identifier: Apache-2.0
"""Look-up of virtual kernels in the cache, whose modules and init are kept up to date."""

from __future__ import annotations

import functools
import logging
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import CcbenchError, MissingRequirement
from ccbench.emulate.kernel import releases
from ccbench.emulate.kernel.source import guest_sources, prebuilt, toolchain
from ccbench.emulate.kernel.source import linux as kernel_sources
from ccbench.emulate.kernel.source.cached_trees import (
    remove_oldest,
    select,
    tree_in_use,
    tree_of_release,
    trees,
)
from ccbench.emulate.kernel.source.guest_build import path_of_build, with_guest
from ccbench.emulate.kernel.source.kernel_build import load_build
from ccbench.emulate.kernel.source.locks import logged, nothing, only_one
from ccbench.emulate.kernel.source.paths import kernels_dir
from ccbench.emulate.kernel.source.variants import RELEASED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ccbench.emulate.kernel.source.guest_sources import Sources
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.emulate.kernel.source.tree import KernelTree

_log = logging.getLogger(__name__)

__all__ = [
    "built",
    "default_build",
    "find",
    "installed",
    "named",
    "of_release",
    "ready",
    "released",
    "use",
]


def installed() -> KernelBuild:
    """Return the default virtual kernel.

    Modules and init are rebuilt if their sources have changed, which takes seconds.

    Raises
    ------
    MissingRequirement
        If there is no kernel, or only one built by another version of ccbench.
    BuildError
        If the modules or the init do not compile.
    """
    cache, sources = _kernels()
    build = _current(_default(cache, sources), cache, sources)
    _warn(build.warnings)
    return build


def _kernels() -> tuple[Path, Sources]:
    """Return the folder of kernels, after the prebuilt ones were unpacked, and the sources."""
    cache, sources = kernels_dir(), guest_sources.find_sources()
    prebuilt.provide(cache, sources)
    return cache, sources


def _default(cache: Path, sources: Sources) -> KernelTree:
    """Return the default tree; the error says whether the installed prebuilt ones do not fit."""
    try:
        return tree_in_use(cache, sources)
    except MissingRequirement as error:
        raise MissingRequirement(prebuilt.misfit(sources) or str(error)) from None


def _current(tree: KernelTree, cache: Path, sources: Sources) -> KernelBuild:
    """Return the build of a tree with the current sources of modules and init."""
    path = path_of_build(tree, cache, sources)
    if path.exists():
        return load_build(path)
    toolchain.check(modules_only=True)
    with only_one(cache, logged):
        return with_guest(tree, cache, sources, os.cpu_count() or 1, nothing)


@functools.cache
def _warn(warnings: tuple[str, ...]) -> None:
    """Log the compiler's warnings about the user's modules, once in a process."""
    for warning in warnings:
        _log.warning("%s", warning)


def ready() -> KernelBuild | None:
    """Return the default virtual kernel if it is completely built, else None."""
    try:
        return default_build(*_kernels())
    except CcbenchError:
        return None


def default_build(cache: Path, sources: Sources) -> KernelBuild | None:
    """Return the build of the default tree in the cache with the current sources, or None.

    Raises
    ------
    CcbenchError
        If there is no default tree, or a description cannot be read.
    """
    path = path_of_build(tree_in_use(cache, sources), cache, sources)
    return load_build(path) if path.exists() else None


def find(version: str) -> KernelBuild | None:
    """Return the virtual kernel of that version from the cache, or None.

    Parameters
    ----------
    version : str
        A :attr:`KernelBuild.version`. It is the same on all machines for the same source, settings
        and ccbench, whatever the compiler.
    """
    cache, _ = _kernels()
    path = cache / "builds" / version
    is_version = re.fullmatch(r"[0-9a-f]{16}", version)  # rejects other paths, such as ".."
    return load_build(path) if is_version and path.is_dir() else None


def of_release(release: str, *, fills: bool = False) -> KernelBuild | None:
    """Return the newest virtual kernel of a Linux release or name from the cache, or None.

    Parameters
    ----------
    release : str
        A release such as ``"7.3"`` or ``"7.3.4"``, which finds kernels as released only, or the
        name of another kernel, such as ``"6.12-bbrv3"``. Modules and init are rebuilt as in
        :func:`installed`.
    fills : bool, optional
        Whether the user's modules find a pattern in memory that they have not set, or have freed.

    Examples
    --------
    >>> of_release("5.4") is None
    True
    """
    cache, sources = _kernels()
    sources = replace(sources, fills=fills)
    tree = tree_of_release(release, cache, sources)
    return None if tree is None else _current(tree, cache, sources)


def released() -> Iterator[KernelBuild]:
    """Yield the virtual kernels in the cache of each Linux as released, the newest Linux first.

    Modules and init are rebuilt as in :func:`installed`.
    """
    cache, sources = _kernels()
    newest: dict[str, KernelTree] = {}
    for tree in trees(cache, sources):
        if tree.variant == RELEASED:
            newest.setdefault(tree.release, tree)
    for release in sorted(newest, key=releases.numbers, reverse=True):
        yield _current(newest[release], cache, sources)


def named(name: str) -> KernelBuild:
    """Return the virtual kernel of this version, name or Linux release from the cache.

    Parameters
    ----------
    name : str
        As in :func:`find` or :func:`of_release`.

    Raises
    ------
    InputError
        If there is none.
    """
    kernel = find(name) or of_release(name)
    if kernel is None:
        allowed = "the version, the name or the release of a kernel that this ccbench has built"
        step = f"list them with `ccbench kernel list`, or {_how_to_build(name)}"
        raise validation.bad("kernel", name, allowed, step)
    _warn(kernel.warnings)
    return kernel


def built() -> list[str]:
    """Return the names of the kernels in the cache for :func:`named`, that in use first.

    Raises
    ------
    MissingRequirement
        If there is none.
    """
    cache, sources = _kernels()
    in_use = _default(cache, sources).name
    return list(dict.fromkeys([in_use, *sorted(t.name for t in trees(cache, sources))]))


def use(release: str) -> KernelBuild:
    """Make the newest virtual kernel of a Linux release or name the default.

    Raises
    ------
    InputError
        If there is none in the cache.
    """
    cache, sources = _kernels()
    tree = tree_of_release(release, cache, sources)
    if tree is None:
        built = ", ".join(sorted({tree.name for tree in trees(cache, sources)})) or "none"
        step = _how_to_build(release)
        raise validation.bad("release", release, f"one that is built ({built})", step)
    with only_one(cache, logged):
        select(tree.path, cache)
        remove_oldest(tree.path, cache)
    return _current(tree, cache, sources)


def _how_to_build(name: str) -> str:
    """Return the command that builds a release that is not built, or one with what exists."""
    tested = releases.NEWEST_TESTED
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", name) and releases.numbers(name) < kernel_sources.OLDEST:
        oldest = ".".join(map(str, kernel_sources.OLDEST))
        return f"build Linux {oldest} or newer, such as `ccbench kernel build {tested}`"
    release = re.match(r"\d+\.\d+", name)
    return f"run `ccbench kernel build {release[0] if release else tested}`"
