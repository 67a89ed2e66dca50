# SPDX-License-Identifier: Apache-2.0
"""Memory and scratch space that this machine can give to runs."""

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

#: Where programs put what has to be in memory, as a folder.
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - nothing is made here


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What runs may take of a machine.

    Parameters
    ----------
    memory_bytes : float
        Memory.
    shared_bytes : float
        Room in ``/dev/shm``, which is memory too.
    scratch_bytes : float
        Room in the folder for temporary files.
    scratch_in_memory : bool
        Whether that folder's files are in memory, as on a tmpfs.
    scratch : Path
        The folder; the one that ``TMPDIR`` names.

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
        """Return what is free here now, without swapping and within the limits of cgroups."""
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
    """Return how much memory the limits of this process's cgroups leave; infinite without any.

    Parameters
    ----------
    groups : Path
        The file that names the process's groups.
    root : Path
        Where cgroups are mounted: version 2, or each controller of version 1 in a folder.
    """
    return min((group.room_bytes() for group in _limited(groups, root)), default=math.inf)


@dataclass(frozen=True)
class _CgroupVersion:
    """Files of a group, and the fields of its statistics that count pages of files.

    The kernel gives such pages up when memory is short.
    """

    limit: str
    use: str
    of_files: tuple[str, ...]


_VERSION_1 = _CgroupVersion(
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
)
_VERSION_2 = _CgroupVersion("memory.max", "memory.current", ("inactive_file", "active_file"))

#: Version 1 writes "no limit" as a number above this.
_UNLIMITED_BYTES = 2**60


@dataclass(frozen=True)
class _Cgroup:
    """A group of processes."""

    folder: Path
    version: _CgroupVersion

    def limit_bytes(self) -> float:
        """Return how much memory the group may take together."""
        with suppress(OSError, ValueError):  # the root of version 2 has none; or it is "max"
            limit_bytes = int((self.folder / self.version.limit).read_text(encoding="utf-8"))
            return limit_bytes if limit_bytes < _UNLIMITED_BYTES else math.inf
        return math.inf

    def room_bytes(self) -> float:
        """Return what the limit leaves."""
        with suppress(OSError, ValueError):
            used_bytes = int((self.folder / self.version.use).read_text(encoding="utf-8"))
            text = (self.folder / "memory.stat").read_text(encoding="utf-8")
            statistics = _fields(text)
            used_bytes -= sum(statistics.get(name, 0) for name in self.version.of_files)
            return max(0.0, self.limit_bytes() - used_bytes)
        return self.limit_bytes()


@cache
def _limited(groups: Path, root: Path) -> tuple[_Cgroup, ...]:
    """Return the groups that have a limit and that this process's memory counts in.

    In a container a group may have a name that is not visible; the mounted root then is the
    container's own group.
    """
    found = []
    lines: list[str] = []
    with suppress(OSError):  # not Linux
        lines = groups.read_text(encoding="utf-8").splitlines()
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers in {"", "memory"}:
            version = _VERSION_1 if controllers else _VERSION_2
            path = Path(name.lstrip("/"))
            folders = (root / controllers / group for group in (path, *path.parents))
            found += [_Cgroup(folder, version) for folder in folders]
    return tuple(group for group in found if group.limit_bytes() < math.inf)


def _memory_bytes() -> float:
    with suppress(OSError, KeyError):  # not Linux
        text = Path("/proc/meminfo").read_text(encoding="utf-8")
        return _fields(text)["MemAvailable:"] * 1024
    return math.inf


def _fields(text: str) -> dict[str, int]:
    """Return the first word of each line with the number that follows."""
    lines = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in lines}


def _free_bytes(folder: Path) -> float:
    try:
        return shutil.disk_usage(folder).free
    except OSError:  # whoever uses it says so
        return math.inf


@cache
def _file_system(folder: Path) -> str:
    """Return the type of the file system that a folder is on; empty where nobody knows."""
    with suppress(OSError):
        device = folder.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
            mount, _, rest = line.partition(" - ")
            if mount.split()[2] == number:
                return rest.split()[0]
    return ""
