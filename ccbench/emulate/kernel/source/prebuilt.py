# SPDX-License-Identifier: Apache-2.0
"""Prebuilt kernels, which the distribution ccbench-kernel carries.

What the cache lacks of them is unpacked into it. There they are trees and builds like those made on
the machine, with the same keys and versions; their descriptions name the distribution as their
origin. Its package contains ::

    kernels.json             the kernels (Prebuilt), the default first
    builds/VERSION.tar.xz    a build, without the kernel itself and debugging information
    trees/KEY.tar.xz         the kernel, with the descriptions of its tree
    trees/KEY-modules.tar.xz the files of the tree with which modules are compiled

The last one is copied to the tree, and unpacked when the first module is compiled
(:func:`.archives.complete`).
"""

from __future__ import annotations

import importlib.util
import lzma
import os
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import safe_json
from ccbench.base.durable import new_folder
from ccbench.base.errors import CcbenchError
from ccbench.base.versions import installed_version
from ccbench.emulate.kernel.source import integrity
from ccbench.emulate.kernel.source.archives import MODULES, extract
from ccbench.emulate.kernel.source.cached_trees import is_new_default, select, tree_in_use
from ccbench.emulate.kernel.source.guest_build import is_intact, path_of_build
from ccbench.emulate.kernel.source.locks import logged, only_one
from ccbench.emulate.kernel.source.tree import Recipe, load_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.emulate.kernel.source.guest_sources import Sources

__all__ = ["DISTRIBUTION", "LIST", "PACKAGE", "Prebuilt", "misfit", "provide"]

#: The distribution and its package.
DISTRIBUTION = "ccbench-kernel"
PACKAGE = "ccbench_kernel"

#: The file of the package with its kernels.
LIST = "kernels.json"


@dataclass(frozen=True, kw_only=True)
class Prebuilt:
    """A kernel of the distribution.

    Parameters
    ----------
    key : str
        The key of its tree.
    version : str
        The version of its build.
    source_digest : str
        Digest of the source of its tree.
    hz : int
        Timer ticks per second.
    """

    key: str
    version: str
    source_digest: str
    hz: int

    def fits(self, sources: Sources) -> bool:
        """Return whether this ccbench would build the same tree."""
        return Recipe.of(self.source_digest, sources.home, self.hz).key == self.key

    def tree(self, folder: Path) -> Path:
        """Return the path of its tree in the folder of kernels."""
        return folder / "trees" / self.key

    def build(self, folder: Path) -> Path:
        """Return the path of its build in the folder of kernels."""
        return folder / "builds" / self.version


def provide(cache: Path, sources: Sources, *, repair: bool = False) -> None:
    """Unpack the kernels of the distribution that the cache lacks.

    Parameters
    ----------
    cache : Path
        The folder of kernels.
    sources : Sources
        The sources of the guest.
    repair : bool
        Whether to replace damaged ones.

    Raises
    ------
    CcbenchError
        If the distribution is damaged.
    """
    package = _package()
    if package is None:
        return
    found = [each for each in _kernels(package) if each.fits(sources)]
    if not any(_lacking(each, cache, sources, repair=repair) for each in found):
        return
    with only_one(cache, logged):
        for each in found:
            for path in _lacking(each, cache, sources, repair=repair):
                _unpack(package, path, each.tree(cache))
            tree = load_tree(each.tree(cache))
            if not _has_default(cache, sources) and is_new_default(tree, cache):
                select(tree.path, cache)


def misfit(sources: Sources) -> str:
    """Return why no kernel of the distribution can be used; empty if one can, or it is missing."""
    package = _package()
    if package is None or any(each.fits(sources) for each in _kernels(package)):
        return ""
    found, wanted = installed_version(DISTRIBUTION), installed_version()
    if found != wanted:
        message = f"{DISTRIBUTION} {found} does not fit ccbench {wanted}"
        return f"{message}; run: pip install {DISTRIBUTION}=={wanted}"
    return (
        f"{DISTRIBUTION} {found} was built from other sources than those of this ccbench; "
        "run: ccbench kernel build"
    )


def _package() -> Path | None:
    """Return the folder of the package; None if the distribution is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _kernels(package: Path) -> list[Prebuilt]:
    try:
        stored = safe_json.loads((package / LIST).read_bytes())
        return [Prebuilt(**each) for each in stored["kernels"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(error) from error


def _lacking(each: Prebuilt, cache: Path, sources: Sources, *, repair: bool) -> Iterator[Path]:
    """Yield the paths of the tree and the build of a kernel that are to be unpacked.

    A build belongs to the tree with which it was compiled, so that of the distribution is added
    only to a tree of the distribution, at first and when it is needed.
    """
    tree, build = each.tree(cache), each.build(cache)
    if _is_missing(tree, repair=repair):
        yield tree
        is_needed = True
    else:
        found = load_tree(tree)
        is_needed = bool(found.origin) and path_of_build(found, cache, sources) == build
    if is_needed and _is_missing(build, repair=repair):
        yield build


def _is_missing(path: Path, *, repair: bool) -> bool:
    return not (is_intact(path) if repair else path.is_dir())


def _has_default(cache: Path, sources: Sources) -> bool:
    try:
        tree_in_use(cache, sources)
    except CcbenchError:
        return False
    return True


def _unpack(package: Path, path: Path, tree: Path) -> None:
    """Unpack a tree, or the build of a tree, to a folder of the cache."""
    archive = package / path.parent.name / f"{path.name}.tar.xz"
    with new_folder(path, replace=True) as folder:
        try:
            extract(archive, folder)
            if path == tree:
                modules = archive.with_name(f"{path.name}-{MODULES}")
                shutil.copyfile(modules, folder / MODULES)
        except (OSError, EOFError, lzma.LZMAError, tarfile.TarError) as error:
            raise _damaged(error) from error
        if path != tree:
            os.link(tree / "linux", folder / "linux")
        if damage := integrity.damage(folder):
            raise _damaged(damage)
        made_s = (folder / "linux").stat().st_mtime
        os.utime(folder, (made_s, made_s))


def _damaged(reason: object) -> CcbenchError:
    wanted = installed_version()
    return CcbenchError(
        f"{DISTRIBUTION} is damaged ({reason}); "
        f"run: pip install --force-reinstall --no-deps {DISTRIBUTION}=={wanted}"
    )
