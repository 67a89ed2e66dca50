# SPDX-License-Identifier: Apache-2.0
"""Builds of the guest, modules and init, for a kernel tree."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import safe_json
from ccbench.base.durable import new_folder
from ccbench.base.errors import CcbenchError, InputError
from ccbench.emulate.kernel.command import Builder
from ccbench.emulate.kernel.source import archives, descriptions, guest_sources, integrity
from ccbench.emulate.kernel.source.guest import Exempt, compile_guest, module_files
from ccbench.emulate.kernel.source.kernel_build import DESCRIPTION, load_build
from ccbench.emulate.kernel.source.locks import remove_unused
from ccbench.emulate.kernel.source.modules import Compiled
from ccbench.emulate.kernel.source.paths import log_path
from ccbench.emulate.kernel.source.tree import CFLAGS, Recipe, load_tree
from ccbench.emulate.kernel.source.variants import RELEASED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ccbench.emulate.kernel.source.guest_sources import Sources
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.emulate.kernel.source.modules import Module
    from ccbench.emulate.kernel.source.tree import KernelTree

__all__ = [
    "TREE_SHARE",
    "builder_of",
    "is_intact",
    "path_of_build",
    "with_guest",
]

#: Share of a build's time spent on the kernel tree.
TREE_SHARE = 0.95

#: Number of builds of a tree in the cache. Compiling another one takes seconds.
_MAX_BUILDS = 8

#: The init in a build.
_INIT = "root/init"

#: Folders of the modules that every run needs.
_REQUIRED = frozenset({"flows", "link"})


def with_guest(
    tree: KernelTree,
    cache: Path,
    sources: Sources,
    jobs: int,
    report: Callable[[str, float], None],
) -> KernelBuild:
    """Return the build of a kernel tree with the guest's current sources."""
    path = path_of_build(tree, cache, sources)
    if not is_intact(path):
        report("compiling the modules", TREE_SHARE)
        archives.complete(tree.path)
        with new_folder(path, replace=True) as folder:
            builder = builder_of(cache, f"modules-{path.name}", jobs)
            packaged = sources.folders - sources.own_folders
            # Patches may change what ccbench's modules need.
            optional = packaged - _REQUIRED if tree.variant.patches else ()
            exempt = Exempt(
                unchanged=_unchanged(tree, cache, sources),
                optional=optional,
                init=_init(tree, cache, sources),
                objects=tuple(build for build, _ in _earlier(cache)),
            )
            compiled = compile_guest(tree.path, sources, folder, builder, exempt)
            left_out = sorted(packaged - compiled.keys())
            modules = [module for each in compiled.values() for module in each.modules]
            _check_names(tree, modules)
            files = sorted((folder / "root" / "modules").glob("*.ko"))
            entries = [line for file in files for line in descriptions.lines(file)]
            descriptions.check_distinct(entries)
            own = descriptions.described(entries)
            os.link(tree.path / "linux", folder / "linux")
            description = {
                "release": tree.release,
                "hz": tree.hz,
                "ccas": sorted(
                    {*tree.ccas, *(cca for module in modules for cca in module.ccas)}
                    - own.missing.keys()
                ),
                "qdiscs": sorted(
                    {*tree.qdiscs, *(qdisc for module in modules for qdisc in module.qdiscs)}
                ),
                "folders": {name: each.described() for name, each in sorted(compiled.items())},
                "descriptions": entries,
                "version": path.name,
                "identity": _identity(tree, sources),
                "source": tree.source_name,
            }
            if sources.fills:
                description["fills"] = True
            if tree.origin:
                description["origin"] = tree.origin
            if tree.variant != RELEASED:
                description["variant"] = tree.variant.described()
                description["left_out"] = left_out
            (folder / DESCRIPTION).write_text(json.dumps(description, indent=2), encoding="utf-8")
            integrity.seal(folder)
        _remove_oldest(path, cache)
    return load_build(path)


def _remove_oldest(used: Path, cache: Path) -> None:
    """Remove the oldest builds of the same tree, which each edit of a module leaves."""
    linux = used / "linux"
    ages = {}
    for build in (cache / "builds").glob("[!.]*"):
        with suppress(OSError):  # damaged, or removed meanwhile
            if build != used and (build / "linux").samefile(linux):
                ages[build] = build.stat().st_mtime
    for build in sorted(ages, key=ages.__getitem__, reverse=True)[_MAX_BUILDS - 1 :]:
        remove_unused(build, cache)


def _check_names(tree: KernelTree, modules: Sequence[Module]) -> None:
    """Check that the names of the user's modules, and what they register, are not taken."""
    builtin = (tree.path / "modules.builtin").read_text(encoding="utf-8").split()
    taken = {
        "module": {Path(name).stem for name in builtin},
        "congestion control": {*tree.ccas},
        "qdisc": {*tree.qdiscs},
    }
    for module in sorted(modules, key=lambda module: module.is_own):
        named = {
            "module": {module.name},
            "congestion control": {*module.ccas},
            "qdisc": {*module.qdiscs},
        }
        for kind, names in named.items():
            if module.is_own and (clashing := taken[kind] & names):
                raise InputError(
                    f"{guest_sources.OWN_MODULES}: the {kind} {min(clashing)} is also one of "
                    "Linux or ccbench, or of another module of yours, and the kernel accepts only "
                    "one of a name: choose another name for yours"
                )
            taken[kind] |= names


def _unchanged(tree: KernelTree, cache: Path, sources: Sources) -> dict[str, tuple[Path, Compiled]]:
    """Return the folders of ccbench whose modules are intact in an earlier build on the same tree.

    The user's are always compiled: their flags differ if unset variables are filled.
    """
    unchanged: dict[str, tuple[Path, Compiled]] = {}
    missing = sources.folders - sources.own_folders
    digests = sources.digests()
    for build, stored in _earlier(cache, tree):
        with suppress(ValueError, KeyError):  # made by another version of ccbench
            for name in missing & stored["folders"].keys():
                compiled = Compiled.load(stored["folders"][name])
                files = [file for each in compiled.modules for file in module_files(each.name)]
                if compiled.is_current(name, digests) and not integrity.damage(build, files):
                    unchanged[name] = build, compiled
            missing -= unchanged.keys()
        if not missing:
            break
    return unchanged


def _init(tree: KernelTree, cache: Path, sources: Sources) -> Path | None:
    """Return the intact init of an earlier build on the same tree, if its code is the same."""
    identity = _identity(tree, sources)
    for build, stored in _earlier(cache, tree):
        if stored.get("identity") == identity and not integrity.damage(build, (_INIT,)):
            return build / _INIT
    return None


def _earlier(cache: Path, tree: KernelTree | None = None) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the builds of the cache (on this tree), newest first, with their descriptions."""
    made = (cache / "builds").glob(f"[!.]*/{DESCRIPTION}")
    for description in sorted(made, key=lambda file: file.stat().st_mtime, reverse=True):
        build = description.parent
        with suppress(OSError, ValueError):  # damaged
            if tree is None or (build / "linux").samefile(tree.path / "linux"):
                yield build, safe_json.loads(description.read_bytes())


def path_of_build(tree: KernelTree, cache: Path, sources: Sources) -> Path:
    """Return the folder of the build of a tree with the current sources; it may not exist."""
    fills = ["fills"] if sources.fills else []
    return cache / "builds" / _digest(tree.key, *sources.digests().items(), *fills)


def _identity(tree: KernelTree, sources: Sources) -> str:
    """Return the :attr:`KernelBuild.identity` of a tree with the init."""
    recipe = Recipe.of(tree.source_digest, sources.home, tree.hz, tree.variant)
    return _digest(recipe.identity, sources.init_digest())


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def is_intact(path: Path) -> bool:
    """Return whether a tree or a build exists without damage."""
    load = load_tree if path.parent.name == "trees" else load_build
    try:
        load(path)
    except (CcbenchError, FileNotFoundError):
        return False
    return not integrity.damage(path)


def builder_of(cache: Path, name: str, jobs: int) -> Builder:
    """Return the runner of compilers, with an empty log of this name."""
    log = log_path(cache, name)
    log.unlink(missing_ok=True)
    return Builder(log=log, jobs=jobs, cflags=CFLAGS)
