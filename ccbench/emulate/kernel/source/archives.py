# SPDX-License-Identifier: Apache-2.0
"""Archives of kernels, and the files of a tree with which modules are compiled."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ccbench.emulate.kernel.source import integrity

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MODULES", "complete", "extract", "pack", "pack_for_modules"]

#: The archive in a tree with the files with which modules are compiled, until they are unpacked.
MODULES = "modules.tar.xz"

#: These files and folders of a tree.
_FOR_MODULES = (
    ".config",
    "Kbuild",
    "Makefile",
    "Module.symvers",
    "arch/um",
    "arch/x86/Makefile",
    "arch/x86/Makefile.um",
    "arch/x86/Makefile_32.cpu",
    "arch/x86/entry",
    "arch/x86/include",
    "arch/x86/um",
    "include",
    "scripts",
)

#: Folders and suffixes of files in them that no module is compiled with.
_UNUSED_FOLDERS = (
    "include/drm",
    "include/dt-bindings",
    "include/media",
    "include/sound",
    "scripts/coccinelle",
    "scripts/dtc",
    "scripts/gdb",
    "scripts/kconfig",
)
_UNUSED_SUFFIXES = (".a", ".cmd", ".o")

#: Of the fast compressions of LZMA, half a minute less than the best for a tenth more bytes.
_PRESET: Final = 1


def pack(folder: Path, names: Iterable[str], archive: Path) -> None:
    """Write files and folders of a folder to an archive that depends only on them."""

    def keep(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        is_unused = member.name in _UNUSED_FOLDERS or member.name.endswith(_UNUSED_SUFFIXES)
        if is_unused or member.issym():
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=_PRESET) as file:
        for name in names:
            file.add(folder / name, name, filter=keep)


def pack_for_modules(tree: Path, archive: Path) -> None:
    """Write the files of a compiled tree with which modules are compiled to an archive."""
    pack(tree, (name for name in _FOR_MODULES if (tree / name).exists()), archive)


def extract(archive: Path, folder: Path) -> None:
    """Unpack an archive of :func:`pack` to a folder.

    Raises
    ------
    OSError, EOFError, lzma.LZMAError, tarfile.TarError
        If it cannot be read.
    """
    with tarfile.open(archive, "r:xz") as file:
        # Early releases of Python 3.10 and 3.11 have no filters.
        file.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        file.extractall(folder)  # noqa: S202 - filtered


def complete(tree: Path) -> None:
    """Unpack the files with which modules are compiled, if that has not been done.

    A process that is killed meanwhile leaves the archive, and the next one begins again.
    """
    archive = tree / MODULES
    if not archive.exists():
        return
    with tempfile.TemporaryDirectory(dir=tree) as name:
        extract(archive, Path(name))
        for path in Path(name).iterdir():
            if (tree / path.name).is_dir():
                shutil.rmtree(tree / path.name)
            path.rename(tree / path.name)
    archive.unlink()
    integrity.seal(tree)
