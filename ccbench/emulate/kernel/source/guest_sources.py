# SPDX-License-Identifier: Apache-2.0
"""Sources of the guest: ccbench's modules and init, and the user's modules."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source import c_code, home

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["OWN_MODULES", "Sources", "find_sources", "named_folders", "own_modules"]

#: The environment variable with the folders of the user's modules, separated by colons.
OWN_MODULES = "CCBENCH_MODULES"

#: Folder and file of sources for the kernel itself (see edits.py and tree.py).
_KERNEL_ONLY = ("um", "um.config")

_SUFFIXES = (".c", ".h", ".S")


@dataclass(frozen=True)
class Sources:
    """The sources of the guest's modules and init.

    Parameters
    ----------
    home : Path
        The folder with ccbench's modules and the init.
    own : tuple of Path
        Folders with the user's modules: C files, and a ``Kbuild`` or ``Makefile`` that lists the
        modules in ``obj-m``.
    fills : bool
        Whether the user's modules find a pattern in memory that they have not set, or have freed.
    """

    home: Path
    own: tuple[Path, ...] = ()
    fills: bool = False

    def files(self) -> dict[Path, Path]:
        """Return the source files by their paths in the build folder, sorted.

        Output of manual builds is excluded.
        """
        files = _files(self.home, ("Kbuild",))
        for folder in self.own:
            files.update(
                {Path(folder.name) / relative: file for relative, file in _own_files(folder)}
            )
        return {
            target: files[target] for target in sorted(files) if target.parts[0] not in _KERNEL_ONLY
        }

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of each file in hexadecimal, by its path in the build folder."""
        return {
            str(target): hashlib.sha256(file.read_bytes()).hexdigest()
            for target, file in self.files().items()
        }

    def init_digest(self) -> str:
        """Return the digest of the init, without comments."""
        files = {str(t): file for t, file in self.files().items() if t.parts[0] == "init"}
        return c_code.digest({path: file.read_text("utf-8") for path, file in files.items()})

    def own_texts(self) -> Iterator[str]:
        """Yield the contents of the C files of the user's modules."""
        for target, file in self.files().items():
            if target.suffix == ".c" and target.parts[0] in self.own_folders:
                yield file.read_text(encoding="utf-8", errors="replace")

    @property
    def folders(self) -> frozenset[str]:
        """The names of all folders of modules."""
        return frozenset(target.parts[0] for target in self.files() if target.match("*/Kbuild"))

    @property
    def own_folders(self) -> frozenset[str]:
        """The names of the user's folders."""
        return frozenset(folder.name for folder in self.own)


def find_sources() -> Sources:
    """Return the sources of ccbench and of the folders in `CCBENCH_MODULES`.

    Raises
    ------
    InputError
        If `CCBENCH_MODULES` contains a path that is not a folder of modules.
    """
    included, own = home.sources_dir(), named_folders()
    taken = {path.name for path in included.iterdir()}
    for folder in own:
        _check_own(folder, taken)
        taken.add(folder.name)
    return Sources(included, own)


def named_folders() -> tuple[Path, ...]:
    """Return the folders in `CCBENCH_MODULES`."""
    named = [name for name in os.environ.get(OWN_MODULES, "").split(":") if name]
    return tuple(validation.user_path(OWN_MODULES, name).resolve() for name in named)


@contextmanager
def own_modules(folders: Iterable[Path], field: str) -> Iterator[None]:
    """Name folders as those of the user's modules, instead of `CCBENCH_MODULES`.

    Parameters
    ----------
    folders : iterable of Path
    field : str
        Their name in errors.
    """
    before = os.environ.get(OWN_MODULES)
    os.environ[OWN_MODULES] = ":".join(map(str, folders))
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(OWN_MODULES, field, 1)) from error.__cause__
    finally:
        if before is None:
            del os.environ[OWN_MODULES]
        else:
            os.environ[OWN_MODULES] = before


def _check_own(folder: Path, taken: set[str]) -> None:
    """Check that this is a folder of modules whose name is valid and not `taken`."""
    if not folder.is_dir():
        allowed = "existing folders, separated by colons"
        raise validation.bad(OWN_MODULES, str(folder), allowed, "correct the path")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", folder.name) or folder.name in taken:
        allowed = "folders with unique names of letters, digits, dots, - and _"
        step = f"rename {folder.name}, which make does not support or another folder has"
        raise validation.bad(OWN_MODULES, str(folder), allowed, step)
    module_folders = [
        target.parent
        for target, file in _own_files(folder)
        if target.name == "Kbuild" and "obj-m" in file.read_text(encoding="utf-8", errors="replace")
    ]
    if Path() not in module_folders:
        allowed = "folders with a Kbuild or Makefile that lists a module"
        step = "write a line such as obj-m := tcp_mine.o"
        if module_folders:
            paths = ":".join(str(folder / name) for name in sorted(module_folders))
            step = f"name its subfolders: {paths}"
        raise validation.bad(OWN_MODULES, str(folder), allowed, step)


def _own_files(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files of a folder of modules; make prefers a Kbuild to a Makefile."""
    files = _files(folder, ("Kbuild", "Makefile"))
    for target, file in files.items():
        if target.name != "Makefile":
            yield target, file
        elif target.with_name("Kbuild") not in files:
            yield target.with_name("Kbuild"), file


def _files(folder: Path, names: Sequence[str]) -> dict[Path, Path]:
    """Return the sources in a folder by their relative paths."""
    return {
        file.relative_to(folder): file
        for file in folder.rglob("*")
        if (file.suffix in _SUFFIXES or file.name in names) and not file.name.endswith(".mod.c")
    }
