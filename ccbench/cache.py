# SPDX-License-Identifier: Apache-2.0
"""Where ccbench keeps what it can make again: runs, kernels."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ccbench import _validate
from ccbench.errors import CcbenchError

__all__ = ["cache_dir", "unwritable"]


def cache_dir() -> Path:
    """Return the folder: ``$CCBENCH_CACHE`` if that is set, else the user's cache folder.

    It need not exist yet.

    Raises
    ------
    InputError
        If ``$CCBENCH_CACHE`` is below the home of a user who is not there.
    """
    override = os.environ.get("CCBENCH_CACHE")
    if override:
        return _validate.user_path("CCBENCH_CACHE", override).absolute()
    return Path(platformdirs.user_cache_dir("ccbench", appauthor=False))


def unwritable(folder: Path, error: Exception) -> CcbenchError:
    """Return the error to raise when a store in the cache cannot be written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    message = f"cannot write to the store {folder} ({reason}): make room, or set"
    return CcbenchError(f"{message} CCBENCH_CACHE to another folder")
