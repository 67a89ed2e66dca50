# SPDX-License-Identifier: Apache-2.0
"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.locks import locked
from ccbench.base.os_errors import NO_ROOM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LEFTOVER", "existing", "is_possible", "new_file", "new_folder", "remove", "write_text"]

#: Matches the names that folders have while they are written or removed.
LEFTOVER = ".*.tmp"

_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST)


@contextmanager
def new_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Give an empty folder that becomes `path` when the block ends without an exception.

    Any number of processes may do this for the same path at once. If `path` is there already, it is
    replaced, or, if not `replace`, kept: then the new folder is thrown away.
    """
    path = _behind_links(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    lock = _begin(path, temporary, temporary.mkdir)
    try:
        with _named(path, temporary):
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
        _close(lock)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a path to write to that becomes `path` when the block ends without an exception.

    It takes the place of a file that is there, also where `path` is a link to that. What is no
    file, such as ``/dev/stdout`` or ``/dev/null``, stays where it is and is written to.
    """
    if _takes_bytes(path):
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder) / path.name
            with _named(whole, whole):  # if there is no room, then where it is written first
                yield whole
            with _named(path, whole), whole.open("rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
        return
    path = _behind_links(path)
    temporary = _beside(path)
    lock = _begin(path, temporary, temporary.touch)
    try:
        with _named(path, temporary):
            yield temporary
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
        _close(lock)


def is_possible(path: Path) -> bool:
    """Whether a file or a folder may be put there: to be asked before what takes long."""
    if _takes_bytes(path):
        return os.access(path, os.W_OK)
    return os.access(existing(_behind_links(path).absolute().parent), os.W_OK | os.X_OK)


def existing(folder: Path) -> Path:
    """Return a folder, or the nearest above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())


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


def _begin(path: Path, temporary: Path, make: Callable[[], None]) -> int | None:
    """Make what is to become `path`, locked, and remove what killed processes have left beside it.

    Returns the lock's descriptor; None where there are no such locks, as on some network drives.
    """
    for leftover in path.parent.glob(f".*.{'?' * 32}.tmp"):
        _remove_if_left(leftover)
    while True:
        with _named(path, temporary):
            make()
        try:
            lock = locked(temporary, shared=True)
        except FileNotFoundError:
            continue  # somebody has taken it for a leftover
        except OSError:
            return None
        if temporary.exists():
            return lock
        os.close(lock)  # the same, a moment later


@contextmanager
def _named(path: Path, temporary: Path) -> Iterator[None]:
    """Let errors of the temporary name the path, which people know.

    Libraries in C do not name the file for which there is no room.
    """
    try:
        yield
    except OSError as error:
        place = error.filename
        is_ours = isinstance(place, str | os.PathLike) and Path(place).is_relative_to(temporary)
        if is_ours or (place is None and error.errno in NO_ROOM):
            error.filename = str(path)
        raise


def _remove_if_left(leftover: Path) -> None:
    """Remove what nobody writes to any more."""
    with suppress(OSError):  # somebody does, or has just finished
        lock = locked(leftover, wait=False)
        try:
            # Others may have removed what we locked, and its owner made another of that name.
            if not os.path.samestat(os.fstat(lock), leftover.stat()):
                return
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)
        finally:
            os.close(lock)


def _close(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _takes_bytes(path: Path) -> bool:
    """Whether it is there, and neither a file nor a folder: a device, a pipe."""
    try:
        mode = path.stat().st_mode  # once: others may be replacing it
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _behind_links(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path  # also in a circle


def _beside(path: Path) -> Path:
    path = path.absolute()  # pandas and Arrow take a folder `~x` for somebody's home
    return path.parent / f".{path.name}.{uuid.uuid4().hex}.tmp"
