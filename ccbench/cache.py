# SPDX-License-Identifier: Apache-2.0
"""Where ccbench keeps what it can make again: runs, kernels."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ccbench import _validate

__all__ = ["cache_dir"]


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
