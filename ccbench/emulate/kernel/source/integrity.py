# SPDX-License-Identifier: Apache-2.0
"""Digests of the files of a kernel in the cache, to detect damage."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import safe_json
from ccbench.base.sealed import file_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FILE", "damage", "seal", "stored"]

#: The file in the folder of a kernel with the digests of all others.
FILE = "digests.json"


def seal(folder: Path) -> None:
    """Write the digests of the files in a folder to its file :data:`FILE`."""
    found = {
        name: file_digest((folder / name).read_bytes()) for name in _files(folder) if name != FILE
    }
    (folder / FILE).write_text(json.dumps(found), encoding="utf-8")


def stored(folder: Path) -> Mapping[str, str]:
    """Return the digests of the files in a folder; none if an earlier ccbench wrote it.

    Raises
    ------
    ValueError, TypeError
        If they cannot be read.
    """
    try:
        found = safe_json.loads((folder / FILE).read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ValueError(error.strerror) from error
    return dict(found)


def damage(folder: Path, names: Sequence[str] = ()) -> str:
    """Return how the files in a folder differ from their digests; empty if they do not.

    Parameters
    ----------
    folder : Path
        A folder with digests (:func:`seal`).
    names : sequence of str, optional
        The files to check; by default all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     (file := Path(name, "linux")).write_text("kernel") and seal(file.parent)
    ...     intact, _ = damage(file.parent), file.write_text("ker")
    ...     intact, damage(file.parent)
    ('', 'linux was changed')
    """
    try:
        digests = stored(folder)
    except (ValueError, TypeError) as error:
        return f"{FILE} cannot be read: {error}"
    for name in names or digests:
        if name not in digests:
            continue
        try:
            if file_digest((folder / name).read_bytes()) != digests[name]:
                return f"{name} was changed"
        except OSError as error:
            return f"{name} cannot be read: {(error.strerror or str(error)).lower()}"
    return ""


def _files(folder: Path) -> Iterator[str]:
    """Yield the files in a folder and its subfolders in a fixed order; links are none."""
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(place, name)
            if not path.is_symlink():
                yield str(path.relative_to(folder))
