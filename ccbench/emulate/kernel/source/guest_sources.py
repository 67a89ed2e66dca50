# SPDX-License-Identifier: Apache-2.0
"""Our additions to the virtual kernel: modules and the init, compiled against a kernel tree."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import ccbench
from ccbench.base import validation
from ccbench.base.errors import CcbenchError
from ccbench.emulate.kernel.command import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.emulate.kernel.command import Builder

__all__ = ["COMPILED_IN", "OWN_MODULES", "Sources", "compile_guest", "find_sources", "sources_dir"]

#: The environment variable with the folders of one's own modules, separated by colons.
OWN_MODULES = "CCBENCH_MODULES"

#: What modules call the folder that they were compiled in, which is gone afterwards.
COMPILED_IN = "/modules"

#: Folder and file of the sources that go into the kernel itself (see edits.py and tree.py).
_KERNEL_ONLY = ("um", "um.config")

_SUFFIXES = (".c", ".h", ".S")

#: Folders that the guest mounts something on.
_MOUNT_POINTS = ("dev", "host", "proc", "run", "sys", "tmp")


@dataclass(frozen=True)
class Sources:
    """The sources of everything in the guest that is not Linux.

    Parameters
    ----------
    home : Path
        The folder with ccbench's modules and the init.
    own : tuple of Path
        Folders with one's own modules; each has C files, and a ``Kbuild`` or a ``Makefile`` that
        names its modules by ``obj-m``.
    """

    home: Path
    own: tuple[Path, ...] = ()

    def files(self) -> dict[Path, Path]:
        """Return the files that modules and init are made of, by where they go, sorted.

        What a build by hand has left beside them does not count.
        """
        found = _files(self.home, ("Kbuild",))
        for folder in self.own:
            found.update(
                {Path(folder.name) / relative: file for relative, file in _own_files(folder)}
            )
        return {
            target: found[target] for target in sorted(found) if target.parts[0] not in _KERNEL_ONLY
        }

    def digest(self) -> str:
        """Return a SHA-256, in hexadecimal digits, that changes with any of these files."""
        parts = hashlib.sha256()
        for target, file in self.files().items():
            parts.update(f"{target}\0".encode())
            parts.update(hashlib.sha256(file.read_bytes()).digest())
        return parts.hexdigest()

    def module_texts(self) -> Iterator[str]:
        """Yield the texts of the modules' C files."""
        files = self.files()
        for target, file in files.items():
            if target.suffix == ".c" and target.parent / "Kbuild" in files:
                yield file.read_text(encoding="utf-8", errors="replace")


def find_sources() -> Sources:
    """Return the sources: ccbench's own, and those of the folders that `CCBENCH_MODULES` names.

    ccbench's are inside the package in an installed wheel and beside it in a checkout.

    Raises
    ------
    InputError
        If `CCBENCH_MODULES` names something that is no folder of modules.
    """
    home = sources_dir()
    named = [name for name in os.environ.get(OWN_MODULES, "").split(":") if name]
    own = tuple(validation.user_path(OWN_MODULES, name).resolve() for name in named)
    taken = {path.name for path in home.iterdir()}
    for folder in own:
        _check_own(folder, taken)
        taken.add(folder.name)
    return Sources(home, own)


def sources_dir() -> Path:
    """Return the folder with the sources of ccbench's modules and the init.

    Raises
    ------
    CcbenchError
        If there is none: ccbench is not installed completely.

    Examples
    --------
    >>> (sources_dir() / "init" / "init.c").is_file()
    True
    """
    package = Path(ccbench.__file__).parent
    for folder in (package / "kernel_modules", package.parent / "kernel_modules"):
        if (folder / "um.config").is_file():
            return folder
    raise CcbenchError(
        f"the sources of the kernel modules are not in {package}: ccbench is not installed "
        "completely; install it again"
    )


def _check_own(folder: Path, taken: set[str]) -> None:
    """Raise an InputError if this is no folder of modules that can be added to `taken` ones."""
    if not folder.is_dir():
        allowed = "folders, with colons between them"
        raise validation.bad(OWN_MODULES, str(folder), allowed, "there is none: correct the path")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", folder.name) or folder.name in taken:
        allowed = "folders with names of their own, of letters, digits, dots, - and _"
        step = f"rename {folder.name}, as ccbench has one of this name or make cannot take it"
        raise validation.bad(OWN_MODULES, str(folder), allowed, step)
    naming = [
        target.parent
        for target, file in _own_files(folder)
        if target.name == "Kbuild" and "obj-m" in file.read_text(encoding="utf-8", errors="replace")
    ]
    if Path() not in naming:
        allowed = "folders with a Kbuild or Makefile that names a module"
        step = "write a line such as obj-m := tcp_mine.o"
        if naming:
            step = f"name those in it: {':'.join(str(folder / one) for one in sorted(naming))}"
        raise validation.bad(OWN_MODULES, str(folder), allowed, step)


def _own_files(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files of a folder of modules; make takes a Kbuild rather than a Makefile."""
    files = _files(folder, ("Kbuild", "Makefile"))
    for target, file in files.items():
        if target.name != "Makefile":
            yield target, file
        elif target.with_name("Kbuild") not in files:
            yield target.with_name("Kbuild"), file


def _files(folder: Path, names: Sequence[str]) -> dict[Path, Path]:
    """Return the sources in a folder, by their places in it."""
    return {
        file.relative_to(folder): file
        for file in folder.rglob("*")
        if (file.suffix in _SUFFIXES or file.name in names) and not file.name.endswith(".mod.c")
    }


def compile_guest(tree: Path, sources: Sources, folder: Path, builder: Builder) -> tuple[str, ...]:
    """Compile the modules and the init, and lay out the guest's root.

    Parameters
    ----------
    tree : Path
        A compiled kernel tree.
    sources : Sources
        What to compile; nothing is written there.
    folder : Path
        The folder to put ``root`` in, with ``init``, ``modules/*.ko`` and empty folders to mount
        on; and ``debug``, with the modules as they were before ``strip`` took from them what
        finds source lines.
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
    root, debug = folder / "root", folder / "debug"
    debug.mkdir()
    for name in ("modules", *_MOUNT_POINTS):
        (root / name).mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        for target, file in sources.files().items():
            (work / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, work / target)
        folders = sorted(file.parent.name for file in work.glob("*/Kbuild"))
        # All modules in one go: they find each other's symbols, and make starts up only once.
        (work / "Kbuild").write_text(
            f"subdir-ccflags-y := -g -ffile-prefix-map={work}={COMPILED_IN} -I{work}/include\n"
            f"obj-m := {' '.join(f'{name}/' for name in folders)}\n"
        )
        try:
            builder.make(f"M={work}", "modules", purpose="compiling the kernel modules", tree=tree)
        except BuildError as error:
            # It is about copies of the sources, whose folder is gone when this is read.
            raise BuildError(str(error).replace(f"{work}/", "")) from error
        modules = sorted(work.glob("*/*.ko"))
        for module in modules:
            stripped = root / "modules" / module.name
            builder.run(
                ["strip", "--strip-debug", "-o", str(stripped), str(module)],
                purpose=f"stripping {module.name}",
                folder=work,
            )
            shutil.copyfile(module, debug / module.name)
        init = sorted(str(file) for file in work.glob("init/*.c"))
        builder.run(
            ["gcc", "-O2", "-static", "-o", str(root / "init"), f"-I{work / 'include'}", *init],
            purpose="compiling the guest's init",
            folder=work,
        )
    return tuple(module.stem for module in modules)
