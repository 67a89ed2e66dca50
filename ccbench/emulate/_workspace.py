# SPDX-License-Identifier: Apache-2.0
"""Temporary folders of runs, removed even if their process was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.errors import CcbenchError
from ccbench.base.locks import locked

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["hold", "workspace"]


@contextmanager
def workspace() -> Iterator[Path]:
    """Yield a new folder for one run and remove it at the end.

    This process, and others through :func:`hold`, lock the folder. Folders of killed processes are
    not locked, and are removed by the next run.

    Raises
    ------
    CcbenchError
        If another user owns the parent folder.
    """
    parent = Path(tempfile.gettempdir()) / f"ccbench-{os.getuid()}"
    parent.mkdir(mode=0o700, exist_ok=True)
    if parent.is_symlink() or parent.stat().st_uid != os.getuid():
        message = f"{parent} belongs to another user: set TMPDIR to a folder of your own"
        raise CcbenchError(message)
    parent_lock = locked(parent)  # prevents removal of a folder that is not locked yet
    try:
        _remove_unlocked(parent)
        folder = Path(tempfile.mkdtemp(dir=parent))
        lock = hold(folder)
    finally:
        os.close(parent_lock)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(lock)


def hold(folder: Path) -> int:
    """Lock a run's folder against removal until the returned descriptor is closed."""
    return locked(folder, shared=True)


def _remove_unlocked(parent: Path) -> None:
    """Remove the folders that no process has locked."""
    for folder in parent.iterdir():
        # A folder may be in use, or removed by its owner. ccbench creates no files here.
        with suppress(BlockingIOError, FileNotFoundError, NotADirectoryError):
            lock = locked(folder, wait=False)
            try:
                shutil.rmtree(folder)
            finally:
                os.close(lock)
