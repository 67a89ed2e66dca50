# SPDX-License-Identifier: Apache-2.0
"""Atomic creation of files and folders: they appear complete or not at all."""

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

#: Pattern of the temporary names of folders that are being written or removed.
LEFTOVER = ".*.tmp"

_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST)


@contextmanager
def new_folder(path: Path, *, replace: bool) -> Iterator[Path]:
    """Yield an empty folder that becomes `path` when the block ends without an exception.

    Any number of processes may create the same path at once. An existing `path` is replaced if
    `replace` is true; otherwise the new folder is discarded.
    """
    path = _behind_links(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    lock = _begin(path, temporary, temporary.mkdir)
    try:
        with _named(path, temporary):
            yield temporary
        while True:  # until no other process recreates the path between removal and renaming
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
    """Yield a path for writing that becomes `path` when the block ends without an exception.

    It replaces an existing file, following symbolic links. Devices and pipes, such as
    ``/dev/stdout`` or ``/dev/null``, are written to.
    """
    if _is_device(path):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / path.name
            with _named(copy, copy):  # if a disk is full, it is that of the copy
                yield copy
            with _named(path, copy), copy.open("rb") as source, path.open("wb") as target:
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
    """Return whether a file or folder can be created at `path`, for checks before long work."""
    if _is_device(path):
        return os.access(path, os.W_OK)
    folder = existing(_behind_links(path).absolute().parent)
    try:  # a file without a name: permissions alone allow root everything, also in /proc
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return error.errno in NO_ROOM
    return True


def existing(folder: Path) -> Path:
    """Return a folder, or its nearest existing parent."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def write_text(path: Path, text: str) -> None:
    """Write `text` to a file in UTF-8, replacing an existing file."""
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def remove(path: Path) -> None:
    """Remove a folder atomically; other processes may remove it at the same time."""
    aside = _beside(path)
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    shutil.rmtree(aside, ignore_errors=True)


def _begin(path: Path, temporary: Path, make: Callable[[], None]) -> int | None:
    """Create and lock the temporary of `path`, and remove those left behind by killed processes.

    Returns the lock's descriptor; None on file systems without locks, such as some network drives.
    """
    for leftover in path.parent.glob(f".*.{'?' * 32}.tmp"):
        _remove_if_left(leftover)
    while True:
        with _named(path, temporary):
            make()
        try:
            lock = locked(temporary, shared=True)
        except FileNotFoundError:
            continue  # another process removed it as a leftover
        except OSError:
            return None
        if temporary.exists():
            return lock
        os.close(lock)  # removed after the lock was opened


@contextmanager
def _named(path: Path, temporary: Path) -> Iterator[None]:
    """Make errors about the temporary name the user's path instead.

    C libraries do not name the file when a disk is full.
    """
    try:
        yield
    except OSError as error:
        name = error.filename
        is_inside = isinstance(name, str | os.PathLike) and Path(name).is_relative_to(temporary)
        if is_inside or (name is None and error.errno in NO_ROOM):
            error.filename = str(path)
        raise


def _remove_if_left(leftover: Path) -> None:
    """Remove a temporary that no process is writing."""
    with suppress(OSError):  # in use, or just completed
        lock = locked(leftover, wait=False)
        try:
            # Another process may have removed the locked file, and its owner created a new one.
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


def _is_device(path: Path) -> bool:
    """Return whether the path exists and is neither a file nor a folder: a device or a pipe."""
    try:
        mode = path.stat().st_mode  # a single call: other processes may be replacing it
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _behind_links(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path  # also of circular links


def _beside(path: Path) -> Path:
    path = path.absolute()  # pandas and Arrow interpret a relative `~x` as a home folder
    return path.parent / f".{path.name}.{uuid.uuid4().hex}.tmp"
