# SPDX-License-Identifier: Apache-2.0
"""Kernel trees in the cache, and which of them is the default."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ccbench.base.durable import remove
from ccbench.base.errors import CcbenchError, MissingRequirement
from ccbench.emulate.kernel.source.kernel_build import command_of, series
from ccbench.emulate.kernel.source.packages import package_of
from ccbench.emulate.kernel.source.paths import kernels_dir
from ccbench.emulate.kernel.source.tree import KernelTree, Recipe, load_tree

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.kernel.source.guest_sources import Sources
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

__all__ = [
    "default_release",
    "is_new_default",
    "other_default",
    "others",
    "remove_oldest",
    "select",
    "tree_in_use",
    "tree_of_release",
    "trees",
]

#: Number of kernel trees in the cache; the least recently used are removed. The default, and the
#: newest of each name of its own, remain until the user removes them.
_MAX_TREES = 6


def trees(cache: Path, sources: Sources) -> list[KernelTree]:
    """Return the trees that this version of ccbench has built, the most recently used first."""
    found = []
    for path in (cache / "trees").glob("[!.]*"):
        with suppress(CcbenchError, FileNotFoundError):
            tree = load_tree(path)
            if _is_of_this_version(tree, sources):
                found.append((path.stat().st_mtime, tree.key, tree))
    return [tree for _, _, tree in sorted(found, reverse=True)]


def _is_of_this_version(tree: KernelTree, sources: Sources) -> bool:
    """Return whether this version of ccbench would build the same tree."""
    return Recipe.of(tree.source_digest, sources.home, tree.hz, tree.variant).key == tree.key


def tree_of_release(release: str, cache: Path, sources: Sources) -> KernelTree | None:
    """Return the newest tree of a name, or as released of a release."""
    own = (
        tree
        for tree in trees(cache, sources)
        if tree.name == release
        or (not tree.variant.name and tree.release.startswith(f"{release}."))
    )
    return next(own, None)


def tree_in_use(cache: Path, sources: Sources) -> KernelTree:
    """Return the default tree.

    Raises
    ------
    MissingRequirement
        If there is none of this version of ccbench.
    """
    try:
        tree = load_tree((cache / "current").resolve())
    except FileNotFoundError:
        message = "the virtual kernel is not built; run: ccbench kernel build"
        raise MissingRequirement(message) from None
    if not _is_of_this_version(tree, sources):
        raise MissingRequirement(
            f"the virtual kernel was built by another version of ccbench; "
            f"run: {command_of(tree.release, tree.hz, tree.variant)}"
        )
    return tree


def default_release(cache: Path) -> str | None:
    """Return the first two numbers of the default kernel's release if it is that of a package."""
    try:
        tree = load_tree((cache / "current").resolve())
    except (CcbenchError, FileNotFoundError):
        return None
    return series(tree.release) if package_of(tree.source_name) else None


def other_default(kernel: KernelBuild) -> str:
    """Return the title of the default kernel if it is another one than `kernel`, else nothing."""
    try:
        tree = load_tree((kernels_dir() / "current").resolve())
    except (CcbenchError, FileNotFoundError):
        return "one that is damaged"
    is_same = (tree.release, tree.hz, tree.variant) == (kernel.release, kernel.hz, kernel.variant)
    return "" if is_same else tree.title


def is_new_default(tree: KernelTree, cache: Path) -> bool:
    """Return whether a tree is to be the default: the first one, or a new build of the default."""
    try:
        default = load_tree((cache / "current").resolve())
    except FileNotFoundError:
        return True
    except CcbenchError:  # damaged: unknown which one it is
        return False
    return tree.key != default.key and _line(tree) == _line(default)


def _line(tree: KernelTree) -> tuple[str, str, str, int]:
    """Return what a kernel has in common with earlier and later builds of it."""
    source = package_of(tree.source_name) or tree.source_name
    return tree.variant.name, source, series(tree.release), tree.hz


def others(cache: Path, source_digest: str) -> tuple[Path, ...]:
    """Return the trees of the cache, those of this source and the most recently used first."""
    found = []
    for path in (cache / "trees").glob("[!.]*"):
        with suppress(CcbenchError, FileNotFoundError):
            is_same = load_tree(path).source_digest == source_digest
            found.append((is_same, path.stat().st_mtime, path))
    return tuple(path for _, _, path in sorted(found, reverse=True))


def select(path: Path, cache: Path) -> None:
    """Make a tree the default."""
    link = cache / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(path.relative_to(cache))
    link.replace(cache / "current")


def remove_oldest(used: Path, cache: Path) -> None:
    """Remove the least recently used trees, but not the default and those with names."""
    os.utime(used)
    by_age = sorted((cache / "trees").iterdir(), key=lambda tree: tree.stat().st_mtime)
    kept: dict[str, Path] = {}
    for tree in by_age:
        with suppress(CcbenchError, FileNotFoundError):
            kept[load_tree(tree).variant.name] = tree
    kept[""] = (cache / "trees") / (cache / "current").resolve().name
    for old in by_age[:-_MAX_TREES]:
        if old not in kept.values():
            remove(old)
