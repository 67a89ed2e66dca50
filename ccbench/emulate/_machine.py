# SPDX-License-Identifier: Apache-2.0
"""Memory and scratch space of this machine that are available to runs."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

__all__ = ["SHARED_MEMORY", "Machine", "cgroup_room_bytes"]

#: Folder of the file system for shared memory.
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - nothing is created here


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Resources of a machine that are available to runs.

    Parameters
    ----------
    memory_bytes : float
        Free memory.
    shared_bytes : float
        Free space in ``/dev/shm``, which also counts as memory.
    scratch_bytes : float
        Free space in the folder for temporary files.
    scratch_in_memory : bool
        Whether that folder is in memory, as on a tmpfs.
    scratch : Path
        The folder for temporary files, set by ``TMPDIR``.

    Examples
    --------
    >>> Machine.here().memory_bytes > 0
    True
    """

    memory_bytes: float = math.inf
    shared_bytes: float = math.inf
    scratch_bytes: float = math.inf
    scratch_in_memory: bool = False
    scratch: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))

    @classmethod
    def here(cls) -> Machine:
        """Return the free resources of this machine, without swap and within cgroup limits."""
        scratch = Path(tempfile.gettempdir())
        return cls(
            memory_bytes=min(_memory_bytes(), cgroup_room_bytes()),
            shared_bytes=_free_bytes(SHARED_MEMORY),
            scratch_bytes=_free_bytes(scratch),
            scratch_in_memory=_file_system(scratch) == "tmpfs",
            scratch=scratch,
        )


def cgroup_room_bytes(
    groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> float:
    """Return the memory left by the limits of this process's cgroups; infinite without limits.

    Parameters
    ----------
    groups : Path
        The file that lists the process's cgroups.
    root : Path
        Mount point of cgroups: of version 2, or with a folder per controller of version 1.
    """
    return min((group.room_bytes() for group in _limited(groups, root)), default=math.inf)


@dataclass(frozen=True)
class _CgroupVersion:
    """Files of a cgroup, and the fields of its statistics that count the page cache.

    The kernel reclaims the page cache when memory is short.
    """

    limit: str
    usage: str
    page_cache: tuple[str, ...]


_VERSION_1 = _CgroupVersion(
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
)
_VERSION_2 = _CgroupVersion("memory.max", "memory.current", ("inactive_file", "active_file"))

#: Version 1 represents "no limit" by a number above this.
_UNLIMITED_BYTES = 2**60


@dataclass(frozen=True)
class _Cgroup:
    """A cgroup."""

    folder: Path
    version: _CgroupVersion

    def limit_bytes(self) -> float:
        """Return the memory limit of the group; infinite without a limit."""
        with suppress(OSError, ValueError):  # no file in the root of version 2, or "max"
            limit_bytes = int((self.folder / self.version.limit).read_text(encoding="utf-8"))
            return limit_bytes if limit_bytes < _UNLIMITED_BYTES else math.inf
        return math.inf

    def room_bytes(self) -> float:
        """Return the memory left by the limit."""
        with suppress(OSError, ValueError):
            used_bytes = int((self.folder / self.version.usage).read_text(encoding="utf-8"))
            text = (self.folder / "memory.stat").read_text(encoding="utf-8")
            statistics = _fields(text)
            used_bytes -= sum(statistics.get(name, 0) for name in self.version.page_cache)
            return max(0.0, self.limit_bytes() - used_bytes)
        return self.limit_bytes()


@cache
def _limited(groups: Path, root: Path) -> tuple[_Cgroup, ...]:
    """Return the cgroups with a limit that applies to this process.

    In a container, the name of a group may not be visible; the mounted root is then the container's
    own group.
    """
    cgroups = []
    lines: list[str] = []
    with suppress(OSError):  # not Linux
        lines = groups.read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers in {"", "memory"}:
            version = _VERSION_1 if controllers else _VERSION_2
            path = Path(name.lstrip("/"))
            folders = (root / controllers / group for group in (path, *path.parents))
            cgroups += [_Cgroup(folder, version) for folder in folders]
    return tuple(cgroup for cgroup in cgroups if cgroup.limit_bytes() < math.inf)


def _memory_bytes() -> float:
    with suppress(OSError, KeyError):  # not Linux
        text = Path("/proc/meminfo").read_text(encoding="utf-8")
        return _fields(text)["MemAvailable:"] * 1024
    return math.inf


def _fields(text: str) -> dict[str, int]:
    """Return the number in each line by the word before it."""
    lines = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in lines}


def _free_bytes(folder: Path) -> float:
    try:
        return shutil.disk_usage(folder).free
    except OSError:  # reported when the folder is used
        return math.inf


@cache
def _file_system(folder: Path) -> str:
    """Return the type of a folder's file system; empty if unknown."""
    with suppress(OSError):
        device = folder.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            mount, _, rest = line.partition(" - ")
            if mount.split()[2] == number:
                return rest.split()[0]
    return ""
