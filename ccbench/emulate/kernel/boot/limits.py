# SPDX-License-Identifier: Apache-2.0
"""Limits of the host that a guest would exceed, found before it starts."""

from __future__ import annotations

import mmap
import os
import tempfile

from ccbench.base import limits
from ccbench.base.errors import MissingRequirement

__all__ = ["FOLDER_STEP", "MEMORY_FOLDER", "check_folder", "check_limits"]

#: Folder of the unlinked file that is the guest's memory; its file system must be in memory.
MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - UML creates the file with an unpredictable name

#: Address space of the kernel as a program beyond the guest's memory, in MB.
_PROGRAM_MB = 16

#: Files that a guest opens on the host at the same time, at most.
_FILES = 64

#: The step that makes the folder usable.
FOLDER_STEP = f"mount -o remount,exec,size=50% {MEMORY_FOLDER} (in a container: --shm-size=1g)"


def check_limits(memory_mb: int) -> None:
    """Check that the limits of this process allow a guest.

    Parameters
    ----------
    memory_mb : int
        Memory of the guest in MB.

    Raises
    ------
    MissingRequirement
        If a limit is too low.
    """
    user = "this virtual kernel"
    limits.ADDRESS_SPACE.check(memory_mb + _PROGRAM_MB, user)
    limits.FILE_SIZE.check(memory_mb, user)
    limits.OPEN_FILES.check(_FILES, user)


def check_folder() -> None:
    """Check that the folder of the guest's memory exists, and is writable and executable.

    Raises
    ------
    MissingRequirement
        If it cannot be used.
    """
    try:
        is_refused = bool(os.statvfs(MEMORY_FOLDER).f_flag & os.ST_NOEXEC)
        with tempfile.TemporaryFile(dir=MEMORY_FOLDER) as file:
            file.truncate(mmap.PAGESIZE)
            mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
        reason = "it is mounted with noexec" if is_refused else ""
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
    if reason:
        raise MissingRequirement(
            f"{MEMORY_FOLDER}, which holds the memory of virtual kernels, cannot be used "
            f"({reason}): {FOLDER_STEP}"
        )
