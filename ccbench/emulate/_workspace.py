# SPDX-License-Identifier: Apache-2.0
"""Temporary folders of runs, removed at the end even of killed processes."""

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
    """Make a folder for one run and remove it at the end.

    Its owner holds a lock on it, and so may other processes (:func:`hold`). Folders of killed
    processes have no lock, and are removed by the next run.

    Raises
    ------
    CcbenchError
        If another user owns the folder above it.
    """
    parent = Path(tempfile.gettempdir()) / f"ccbench-{os.getuid()}"
    parent.mkdir(mode=0o700, exist_ok=True)
    if parent.is_symlink() or parent.stat().st_uid != os.getuid():
        message = f"{parent} belongs to another user: set TMPDIR to a folder of your own"
        raise CcbenchError(message)
    parent_lock = locked(parent)  # so that no other process removes a folder that has no lock yet
    try:
        _sweep(parent)
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
    """Keep a run's folder, even if its owner is killed, until the descriptor is closed."""
    return locked(folder, shared=True)


def _sweep(parent: Path) -> None:
    """Remove the folders that no process holds."""
    for folder in parent.iterdir():
        # A folder's owner may be using or removing it. Files are not of ours.
        with suppress(BlockingIOError, FileNotFoundError, NotADirectoryError):
            lock = locked(folder, wait=False)
            try:
                shutil.rmtree(folder)
            finally:
                os.close(lock)
