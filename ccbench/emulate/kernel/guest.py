# SPDX-License-Identifier: Apache-2.0
"""Our own code in the virtual kernel: the modules and the init, compiled against a kernel tree."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import ccbench
from ccbench.errors import CcbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.emulate.kernel.command import Builder

__all__ = [
    "compile_guest",
    "guest_digest",
    "guest_sources",
    "module_sources",
    "sources_dir",
]

#: Folder and file of the sources that go into the kernel itself (see edits.py and tree.py).
_KERNEL_ONLY = ("um", "um.config")

_SUFFIXES = (".c", ".h", ".S")

#: Folders that the guest mounts something on.
_MOUNT_POINTS = ("dev", "host", "proc", "run", "sys", "tmp")


def sources_dir() -> Path:
    """Return the folder with the sources of the modules and the init.

    It is inside the package in an installed wheel and beside it in a checkout.
    """
    package = Path(ccbench.__file__).parent
    for folder in (package / "kernel_modules", package.parent / "kernel_modules"):
        if (folder / "um.config").is_file():
            return folder
    raise CcbenchError(
        f"the sources of the kernel modules are not in {package}: ccbench is not installed "
        "completely; install it again"
    )


def guest_sources(sources: Path) -> list[Path]:
    """Return the files that modules and init are made of, sorted, relative to `sources`.

    What a build by hand has left beside them does not count.
    """
    return sorted(
        relative
        for file in sources.rglob("*")
        if (file.suffix in _SUFFIXES or file.name == "Kbuild") and not file.name.endswith(".mod.c")
        for relative in [file.relative_to(sources)]
        if relative.parts[0] not in _KERNEL_ONLY
    )


def guest_digest(sources: Path) -> str:
    """Return a SHA-256, in hexadecimal digits, that changes with any source of modules and init."""
    parts = hashlib.sha256()
    for file in guest_sources(sources):
        parts.update(f"{file}\0".encode())
        parts.update(hashlib.sha256((sources / file).read_bytes()).digest())
    return parts.hexdigest()


def module_sources(sources: Path) -> Iterator[str]:
    """Yield the texts of the modules' C files."""
    for file in guest_sources(sources):
        if file.suffix == ".c" and (sources / file.parent / "Kbuild").is_file():
            yield (sources / file).read_text(encoding="utf-8")


def compile_guest(tree: Path, sources: Path, folder: Path, builder: Builder) -> tuple[str, ...]:
    """Compile the modules and the init, and lay out the guest's root.

    Parameters
    ----------
    tree : Path
        A compiled kernel tree.
    sources : Path
        The folder of sources; nothing is written there.
    folder : Path
        The folder to put ``root`` in, with ``init``, ``modules/*.ko`` and empty folders to mount
        on.
    builder : Builder
        Runs the compilers.

    Returns
    -------
    tuple of str
        The names of the modules, sorted.

    Raises
    ------
    BuildError
        If something does not compile.
    """
    root = folder / "root"
    for name in ("modules", *_MOUNT_POINTS):
        (root / name).mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        for file in guest_sources(sources):
            (work / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(sources / file, work / file)
        folders = sorted(file.parent.name for file in work.glob("*/Kbuild"))
        # All modules in one go: they find each other's symbols, and make starts up only once.
        (work / "Kbuild").write_text(f"obj-m := {' '.join(f'{name}/' for name in folders)}\n")
        builder.make(f"M={work}", "modules", what="compiling the kernel modules", tree=tree)
        modules = sorted(work.glob("*/*.ko"))
        for module in modules:
            shutil.copyfile(module, root / "modules" / module.name)
        init = sorted(str(file) for file in work.glob("init/*.c"))
        builder.run(
            ["gcc", "-O2", "-static", "-o", str(root / "init"), f"-I{work / 'include'}", *init],
            what="compiling the guest's init",
            folder=work,
        )
    return tuple(module.stem for module in modules)
