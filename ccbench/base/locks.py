# SPDX-License-Identifier: Apache-2.0
"""Locks on files and folders, which their owners lose when they end, however they do."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["locked"]


def locked(path: Path, operation: int) -> int:
    """Lock a file or a folder; return the descriptor that has the lock until it is closed.

    Parameters
    ----------
    path : Path
        What is there already.
    operation : int
        As ``fcntl.flock`` takes it.

    Raises
    ------
    BlockingIOError
        If others have it and the operation does not wait.
    OSError
        If it is not there, or its file system has no locks.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, operation)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
