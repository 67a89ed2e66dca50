# SPDX-License-Identifier: Apache-2.0
"""Folders of kernels in the cache."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from ccbench.base.cache import cache_dir
from ccbench.base.errors import InputError

__all__ = [
    "kernels_dir",
    "log_path",
]

#: Folder for kernels that cannot be built in the cache folder; unlike /tmp, it is persistent.
_SPARE = Path("/var/tmp")  # noqa: S108 - the folder in it is checked for its owner


def kernels_dir() -> Path:
    """Return the folder of kernels, their sources and logs; it may not exist yet."""
    cache = cache_dir() / "kernel"
    return _elsewhere(cache) if re.search(r"[\s:]", str(cache)) else cache


def _elsewhere(cache: Path) -> Path:
    """Return a substitute for a folder whose path contains spaces or colons, unsupported by make.

    Raises
    ------
    InputError
        If another user owns it.
    """
    parent = _SPARE / f"ccbench-{os.getuid()}"
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        is_own = not parent.is_symlink() and parent.stat().st_uid == os.getuid()
    except OSError:
        is_own = False
    if not is_own:
        raise InputError(
            f"no kernel can be built in {cache}, as make does not support spaces and colons, nor "
            f"in {parent}, which is not yours: choose another folder, for example: "
            "export CCBENCH_CACHE=/srv/ccbench"
        )
    return parent / hashlib.sha256(str(cache).encode()).hexdigest()[:16]


def log_path(cache: Path, name: str) -> Path:
    """Return the file with the output of compilers; it may not exist."""
    return cache / "logs" / f"{name}.log"
