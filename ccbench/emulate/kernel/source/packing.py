# SPDX-License-Identifier: Apache-2.0
"""Content of the distribution ccbench-kernel, which :mod:`.prebuilt` reads."""

from __future__ import annotations

import filecmp
import json
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.errors import InputError
from ccbench.base.versions import installed_version
from ccbench.emulate.kernel.source import archives, build, integrity
from ccbench.emulate.kernel.source import tree as kernel_tree
from ccbench.emulate.kernel.source.cached_trees import trees
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES, find_sources, named_folders
from ccbench.emulate.kernel.source.kernel_build import DESCRIPTION, series
from ccbench.emulate.kernel.source.paths import kernels_dir
from ccbench.emulate.kernel.source.prebuilt import DISTRIBUTION, LIST, Prebuilt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.emulate.kernel.source.tree import KernelTree

__all__ = ["pack"]

#: The files of a tree in addition to those with which modules are compiled, and those of a build.
_OF_TREE = (kernel_tree.DESCRIPTION, "linux", "modules.builtin")
_OF_BUILD = (DESCRIPTION, "Module.symvers", "linux", "root")


def pack(linux: Mapping[str, str], folder: Path) -> None:
    """Write the content of the package to an empty folder.

    Parameters
    ----------
    linux : mapping of str to str
        The SHA-256 of the source of each release, such as ``"6.12"``; the first is the default
        kernel. Those that are not in the cache are built.
    folder : Path
        The folder.

    Raises
    ------
    InputError
        If a source has another digest, or modules of the user are named.
    CcbenchError
        If a kernel cannot be built.
    """
    if named_folders():
        raise InputError(f"{OWN_MODULES}: the distribution has no modules of the user; unset it")
    for name in ("builds", "trees"):
        (folder / name).mkdir()
    kernels = [_packed(release, digest, folder) for release, digest in linux.items()]
    listed = {"kernels": [asdict(each) for each in kernels]}
    (folder / LIST).write_text(json.dumps(listed, indent=2), encoding="utf-8")


def _packed(release: str, source_digest: str, folder: Path) -> Prebuilt:
    built = build.build(release=release)
    tree = _tree_of(built)
    if tree.source_digest != source_digest:
        raise InputError(
            f"{release}: the source of {tree.source_name} has the SHA-256 {tree.source_digest}, "
            f"but {source_digest} is named: correct the number, or build that source with "
            "`ccbench kernel build --source TARBALL`"
        )
    packed = Prebuilt(
        key=tree.key, version=built.version, source_digest=tree.source_digest, hz=tree.hz
    )
    tree_archive, build_archive = (
        place.with_name(f"{place.name}.tar.xz")
        for place in (packed.tree(folder), packed.build(folder))
    )
    with _staged(tree.path, _OF_TREE, kernel_tree.DESCRIPTION) as staged:
        archives.pack_for_modules(tree.path, staged / archives.MODULES)
        integrity.seal(staged)
        shutil.move(
            staged / archives.MODULES, tree_archive.with_name(f"{tree.key}-{archives.MODULES}")
        )
        archives.pack(staged, (*_OF_TREE, integrity.FILE), tree_archive)
    with _staged(built.path, _OF_BUILD, DESCRIPTION) as staged:
        integrity.seal(staged)
        (staged / "linux").unlink()  # it is in the tree
        archives.pack(staged, sorted(path.name for path in staged.iterdir()), build_archive)
    return packed


@contextmanager
def _staged(source: Path, names: Iterable[str], description: str) -> Iterator[Path]:
    """Give a copy of files of a tree or build, whose description names the distribution."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in names:
            copy = shutil.copytree if (source / each).is_dir() else shutil.copy2
            copy(source / each, folder / each)
        file = source / description
        stored = json.loads(file.read_bytes())
        stored["origin"] = f"{DISTRIBUTION} {installed_version()}"
        (folder / description).write_text(json.dumps(stored, indent=2), encoding="utf-8")
        shutil.copystat(file, folder / description)
        yield folder


def _tree_of(built: KernelBuild) -> KernelTree:
    """Return the tree of a build, which has the same kernel: as a link or, if copied, equal."""
    for tree in trees(kernels_dir(), find_sources()):
        if series(tree.release) == series(built.release) and filecmp.cmp(
            built.linux, tree.path / "linux", shallow=False
        ):
            return tree
    raise AssertionError(built)
