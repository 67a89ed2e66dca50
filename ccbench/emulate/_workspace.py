# SPDX-License-Identifier: Apache-2.0
"""Folders that a run works in, which are gone afterwards, whatever happens."""

from __future__ import annotations

import fcntl
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

    Its owner holds a lock on it, and so may others (:func:`hold`). Those of processes that were
    killed have none, and are removed by the next run.

    Raises
    ------
    CcbenchError
        If somebody else has made the folder that they lie in.
    """
    parent = Path(tempfile.gettempdir()) / f"ccbench-{os.getuid()}"
    parent.mkdir(mode=0o700, exist_ok=True)
    if parent.is_symlink() or parent.stat().st_uid != os.getuid():
        message = f"{parent} belongs to somebody else: set TMPDIR to a folder of your own"
        raise CcbenchError(message)
    # One at a time, so that nobody sweeps away a folder that is not locked yet.
    with _alone(parent, wait=True):
        _sweep(parent)
        folder = Path(tempfile.mkdtemp(dir=parent))
        lock = hold(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(lock)


def hold(folder: Path) -> int:
    """Keep a run's folder, even if its owner is killed, until the descriptor is closed."""
    return locked(folder, fcntl.LOCK_SH)


@contextmanager
def _alone(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Have a folder that nobody else holds.

    Raises
    ------
    BlockingIOError
        If somebody does and we do not wait.
    """
    descriptor = locked(folder, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    try:
        yield
    finally:
        os.close(descriptor)


def _sweep(parent: Path) -> None:
    """Remove the folders that nobody holds."""
    for folder in parent.iterdir():
        # The owner of a folder may just be using or removing it. What is no folder is not ours.
        with suppress(BlockingIOError, FileNotFoundError, NotADirectoryError), _alone(folder):
            shutil.rmtree(folder)
