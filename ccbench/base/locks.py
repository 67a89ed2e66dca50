# SPDX-License-Identifier: Apache-2.0
"""Interprocess locks, released when the process that holds them ends for any reason.

All use ``flock``. :func:`locked` locks a data file or folder itself; :func:`lock_file` and
:func:`exclusive` lock a dedicated file. A lock is an open descriptor: closing it releases the lock.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["exclusive", "lock_file", "locked"]


def locked(path: Path, *, shared: bool = False, wait: bool = True) -> int:
    """Lock an existing file or folder and return the descriptor that holds the lock.

    Parameters
    ----------
    path : Path
        The file or folder.
    shared : bool
        Whether other processes may hold shared locks at the same time.
    wait : bool
        Whether to wait for other processes to release their locks.

    Raises
    ------
    BlockingIOError
        If another process holds a lock and `wait` is false.
    OSError
        If `path` does not exist, or its file system does not support locks.
    """
    return _lock(os.open(path, os.O_RDONLY), shared=shared, wait=wait)


def lock_file(path: Path, *, wait: bool = True) -> int:
    """Lock a file, creating it if missing, and return the descriptor that holds the lock.

    Only the holder may remove the file, and only before releasing the lock.

    Parameters
    ----------
    path : Path
        The lock file; its folder must exist.
    wait : bool
        Whether to wait for another process to release the lock.

    Raises
    ------
    BlockingIOError
        If another process holds the lock and `wait` is false.
    OSError
        If the file cannot be created, or its file system does not support locks.
    """
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        descriptor = _lock(file, shared=False, wait=wait)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # the previous holder removed the file


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a lock file during the block, waiting for other processes to release it."""
    descriptor = lock_file(path)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, shared: bool, wait: bool) -> int:
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, operation if wait else operation | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
