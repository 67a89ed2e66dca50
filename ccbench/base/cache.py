# SPDX-License-Identifier: Apache-2.0
"""The cache folder, for files that can be reproduced: runs, kernels."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ccbench.base import durable, os_errors, validation
from ccbench.base.errors import CcbenchError

__all__ = ["ELSEWHERE", "cache_dir", "unwritable"]

#: The step that selects another cache folder.
ELSEWHERE = "set CCBENCH_CACHE to a folder that you may write to"


def cache_dir() -> Path:
    """Return the cache folder: ``$CCBENCH_CACHE`` if set, else a folder in the user's cache.

    The folder may not exist yet.

    Raises
    ------
    InputError
        If ``$CCBENCH_CACHE`` is in the home folder of an unknown user, or a file is in the way.
    """
    override = os.environ.get("CCBENCH_CACHE")
    if override:
        folder = validation.user_path("CCBENCH_CACHE", override).absolute()
    else:
        folder = Path(platformdirs.user_cache_dir("ccbench", appauthor=False))
    present = durable.existing(folder)
    if not present.is_dir():
        name = "CCBENCH_CACHE" if override else "the cache folder"
        allowed = f"a folder, and {present} is a file"
        raise validation.bad(name, str(folder), allowed, ELSEWHERE)
    return folder


def unwritable(folder: Path, error: Exception) -> CcbenchError:
    """Return the error for a store in the cache that cannot be written."""
    if isinstance(error, OSError):
        reason = os_errors.explain(error, folder, elsewhere=ELSEWHERE)
    else:
        reason = f"{folder}: {error}: {ELSEWHERE}"
    return CcbenchError(f"cannot write to the store {reason}")
