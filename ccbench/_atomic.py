# SPDX-License-Identifier: Apache-2.0
"""Files and folders that are there completely or not at all."""

from __future__ import annotations

import errno
import shutil
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LEFTOVER", "new_file", "new_folder", "remove", "write_text"]

#: Matches the names that folders have while they are written or removed.
LEFTOVER = ".*.tmp"

_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST)


@contextmanager
def new_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Give an empty folder that becomes `path` when the block ends without an exception.

    Any number of processes may do this for the same path at once. If `path` is there already, it is
    replaced, or, if not `replace`, kept: then the new folder is thrown away.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    temporary.mkdir()
    try:
        yield temporary
        while True:  # until no other process has put its own there since we looked
            try:
                temporary.rename(path)
                break
            except OSError as error:
                if error.errno not in _IN_THE_WAY:
                    raise
                if not replace:
                    break
                remove(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a path to write to that becomes `path` when the block ends without an exception.

    It takes the place of a file that is there.
    """
    temporary = _beside(path)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to a file, in UTF-8, in place of what is there."""
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove(path: Path) -> None:
    """Remove a folder such that nobody sees half of it; somebody else may be doing the same."""
    aside = _beside(path)
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    shutil.rmtree(aside, ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.parent / f".{path.name}.{uuid.uuid4().hex}.tmp"
