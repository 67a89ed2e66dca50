# SPDX-License-Identifier: Apache-2.0
"""Reuse of the compiled objects of other kernel trees.

A patch changes few of the files of Linux. Of each tree the objects are stored with the digests of
everything from which the compiler made them: sources, headers (also the compiler's), options of the
configuration. A later build takes those whose inputs are equal in its tree, before it starts make,
which compares the command lines and compiles the rest. So a kernel consists of the same objects as
if everything had been compiled.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from ccbench.base import safe_json
from ccbench.emulate.kernel.source import kconfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["FILE", "commands", "inputs", "reuse", "save"]

#: The file in a tree with its objects.
FILE = "objects.zip"

_DIGESTS = "digests.json"
_LEVEL = 1  # of compression, the fastest

#: kbuild's file beside an object: the command that made it, its source, headers and options.
_INPUTS = re.compile(r"^(?:source|deps)_\S+ := ((?:\\\n|.)*)", re.MULTILINE)
_OPTION = "include/config/"

#: Folders of programs that run on the host during the build.
_HOST_FOLDERS = ("scripts", "tools")


def save(tree: Path) -> None:
    """Store the objects of a compiled tree in its file :data:`FILE`."""
    digest = _digests(tree)
    found: dict[str, str | None] = {}
    with zipfile.ZipFile(tree / FILE, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name in _objects(tree):
            text = commands(tree / name).read_text(encoding="utf-8")
            items = list(inputs(text))
            if items:
                found.update((item, digest(item)) for item in items)
                archive.write(tree / name, name)
                archive.writestr(f"{name}.cmd", text)
        archive.writestr(_DIGESTS, json.dumps(found))


def reuse(tree: Path, others: Iterable[Path]) -> int:
    """Copy the objects of other trees that this tree would compile from the same inputs.

    Parameters
    ----------
    tree : Path
        A configured tree, after ``make prepare``.
    others : iterable of Path
        Compiled trees in the order of preference. Those without objects are skipped.

    Returns
    -------
    int
        The number of objects.
    """
    digest = _digests(tree)
    return sum(_reuse_from(tree, other / FILE, digest) for other in others)


def _reuse_from(tree: Path, file: Path, digest: Callable[[str], str | None]) -> int:
    copied = 0
    # Without the file, or if it is damaged, make compiles the other objects.
    with (
        suppress(OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error),
        zipfile.ZipFile(file) as archive,
    ):
        stored = safe_json.loads(archive.read(_DIGESTS))
        for name in (name for name in archive.namelist() if name.endswith(".o")):
            text = archive.read(f"{name}.cmd").decode()
            is_equal = all(stored[item] == digest(item) is not None for item in inputs(text))
            if is_equal and not (tree / name).exists():
                content = archive.read(name)
                commands(tree / name).write_text(text, encoding="utf-8")
                (tree / name).write_bytes(content)  # newer than all files of the tree
                copied += 1
    return copied


def _objects(tree: Path) -> Iterator[str]:
    """Yield the objects that the compiler has made for the kernel; those of the top are linked."""
    for path in sorted(tree.glob("*/**/*.o")):
        name = path.relative_to(tree)
        if name.parts[0] not in _HOST_FOLDERS and commands(path).is_file():
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


def _digests(tree: Path) -> Callable[[str], str | None]:
    """Return the function that gives the digest of a file, or the value of an option.

    It is None for a file that does not exist yet: it is made during the build.
    """
    options = kconfig.parse_config((tree / ".config").read_text(encoding="utf-8"))

    @cache
    def digest(item: str) -> str | None:
        if item.startswith(_OPTION):
            return options.get(f"CONFIG_{item.removeprefix(_OPTION)}", "n")
        try:
            return hashlib.sha256((tree / item).read_bytes()).hexdigest()
        except OSError:
            return None

    return digest
