# SPDX-License-Identifier: Apache-2.0
"""Reuse of the compiled objects of other kernel trees, and of modules for them.

A patch changes few of the files of Linux. Of each tree the objects are stored with the digests of
everything from which the compiler made them: sources, headers (also the compiler's), options of the
configuration. A later build takes those whose inputs are equal in its tree, before it starts make,
which compares the command lines and compiles the rest. So a kernel consists of the same objects as
if everything had been compiled. The same holds for the modules that are compiled for a tree.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ccbench.base import safe_json
from ccbench.emulate.kernel.source import kconfig

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

__all__ = ["FILE", "Place", "commands", "inputs", "reuse", "save"]

#: The file with objects in the folder of a tree, or of a build of modules.
FILE = "objects.zip"

_DIGESTS = "digests.json"
_LEVEL = 1  # of compression, the fastest

#: kbuild's file beside an object: the command that made it, its source, headers and options.
_INPUTS = re.compile(r"^(?:source|deps)_\S+ := ((?:\\\n|.)*)", re.MULTILINE)
_OPTION = "include/config/"

#: Folders of programs that run on the host during the build.
_HOST_FOLDERS = ("scripts", "tools")


@dataclass(frozen=True)
class Place:
    """Where make compiles.

    Parameters
    ----------
    tree : Path
        A configured kernel tree, after ``make prepare``.
    modules : Path, optional
        The folder of modules for the tree, if these are compiled instead of the kernel.
    """

    tree: Path
    modules: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of the objects."""
        return self.modules or self.tree

    def portable(self, text: str) -> str:
        """Return kbuild's file with names instead of the paths of this place."""
        for path, name in self._names():
            text = text.replace(path, name)
        return text

    def local(self, text: str) -> str:
        """Return kbuild's file with the paths of this place instead of names."""
        for path, name in self._names():
            text = text.replace(name, path)
        return text

    def _names(self) -> list[tuple[str, str]]:
        """Return absolute paths in kbuild's files and their names; for a tree there are none."""
        named = {self.modules: "@modules@", self.tree: "@tree@"} if self.modules else {}
        return [(str(path), name) for path, name in named.items()]


def save(place: Place, file: Path, *, folders: Collection[str] | None = None) -> None:
    """Store the compiled objects of a place.

    Parameters
    ----------
    place : Place
    file : Path
        The new file. If there are no objects, it is not written.
    folders : collection of str, optional
        The folders whose objects are stored; by default all.
    """
    names = [name for name in _objects(place.folder) if _is_in(name, folders)]
    if not names:
        return
    digest = _digests(place)
    found: dict[str, str | None] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name in names:
            text = place.portable(commands(place.folder / name).read_text(encoding="utf-8"))
            items = list(inputs(text))
            if items:
                found.update((item, digest(item)) for item in items)
                archive.write(place.folder / name, name)
                archive.writestr(f"{name}.cmd", text)
        archive.writestr(_DIGESTS, json.dumps(found))


def reuse(place: Place, files: Iterable[Path], *, folders: Collection[str] | None = None) -> int:
    """Copy the stored objects that would be compiled here from the same inputs.

    Parameters
    ----------
    place : Place
    files : iterable of Path
        Files of :func:`save` in the order of preference. Those that do not exist are skipped.
    folders : collection of str, optional
        The folders whose objects are copied; by default all.

    Returns
    -------
    int
        The number of objects.
    """
    digest = _digests(place)
    return sum(_reuse_from(file, place, digest, folders) for file in files)


def _reuse_from(
    file: Path,
    place: Place,
    digest: Callable[[str], str | None],
    folders: Collection[str] | None,
) -> int:
    copied = 0
    # Without the file, or if it is damaged, make compiles the other objects.
    with (
        suppress(OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error),
        zipfile.ZipFile(file) as archive,
    ):
        stored = safe_json.loads(archive.read(_DIGESTS))
        for name in (name for name in archive.namelist() if name.endswith(".o")):
            path = place.folder / name
            if not _is_in(name, folders) or path.exists() or not path.parent.exists():
                continue
            text = archive.read(f"{name}.cmd").decode()
            if all(stored[item] == digest(item) is not None for item in inputs(text)):
                content = archive.read(name)
                commands(path).write_text(place.local(text), encoding="utf-8")
                path.write_bytes(content)  # newer than all files of the tree
                copied += 1
    return copied


def _is_in(name: str, folders: Collection[str] | None) -> bool:
    return folders is None or name.partition("/")[0] in folders


def _objects(folder: Path) -> Iterator[str]:
    """Yield the objects that the compiler has made for the kernel; those of the top are linked."""
    for path in sorted(folder.glob("*/**/*.o")):
        name = path.relative_to(folder)
        is_glue = name.name.endswith(".mod.o")  # make writes its source anew
        if name.parts[0] not in _HOST_FOLDERS and not is_glue and commands(path).is_file():
            yield str(name)


def commands(path: Path) -> Path:
    """Return kbuild's file beside an object."""
    return path.with_name(f".{path.name}.cmd")


def inputs(text: str) -> Iterator[str]:
    """Yield the files and options in kbuild's file beside an object; none if it was linked."""
    for items in _INPUTS.findall(text):
        for word in re.findall(r"[^\s\\()]+", items):
            if word not in {"$", "wildcard"}:
                yield word


def _digests(place: Place) -> Callable[[str], str | None]:
    """Return the function that gives the digest of a file, or the value of an option.

    It is None for a file that does not exist yet: it is made during the build.
    """
    options = kconfig.parse_config((place.tree / ".config").read_text(encoding="utf-8"))

    @cache
    def digest(item: str) -> str | None:
        if item.startswith(_OPTION):
            return options.get(f"CONFIG_{item.removeprefix(_OPTION)}", "n")
        # Names are relative to the tree, from Linux 6.13 on to the folder of the modules.
        for folder in (place.tree, place.folder):
            with suppress(OSError):
                return hashlib.sha256((folder / place.local(item)).read_bytes()).hexdigest()
        return None

    return digest
