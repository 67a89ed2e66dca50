# SPDX-License-Identifier: Apache-2.0
"""The cache folder, for files that can be made again: runs, kernels."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ccbench.base import os_errors, validation
from ccbench.base.errors import CcbenchError

__all__ = ["ELSEWHERE", "cache_dir", "unwritable"]

#: How to have another cache folder.
ELSEWHERE = "set CCBENCH_CACHE to a folder that you may write to"


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
        return validation.user_path("CCBENCH_CACHE", override).absolute()
    return Path(platformdirs.user_cache_dir("ccbench", appauthor=False))


def unwritable(folder: Path, error: Exception) -> CcbenchError:
    """Return the error to raise when a store in the cache cannot be written."""
    if isinstance(error, OSError):
        reason = os_errors.explain(error, folder, elsewhere=ELSEWHERE)
    else:
        reason = f"{folder}: {error}: {ELSEWHERE}"
    return CcbenchError(f"cannot write to the store {reason}")
