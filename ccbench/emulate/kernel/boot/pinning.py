# SPDX-License-Identifier: Apache-2.0
"""Assignment of cores to guests: one core each, as long as there are enough.

The guest's kernel and its programs are processes of the host that take turns. On one core, a turn
passes in microseconds; the host's scheduler would spread them over the cores, where each turn wakes
up another core.

A core is claimed by a lock on its folder in sysfs. All processes of the machine use the same locks,
whatever their user, and a claim ends with the process that holds it. Containers with a sysfs of
their own do not see each other's claims; cores are therefore tried in random order.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

from ccbench.base.locks import locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["core_wait_s", "pinned"]

#: Folder with a folder for each core.
CORES = Path("/sys/devices/system/cpu")


@contextmanager
def pinned(pid: int, *, takes_turns: bool = False) -> Iterator[None]:
    """Keep a guest on a core of its own during the block.

    The core is one of those available to this process. If all are claimed, or cannot be, a guest
    whose processes take turns shares one of them; another guest is not pinned, as the host's
    scheduler finds it the least busy core.

    Parameters
    ----------
    pid : int
        The process of the guest's kernel. The processes that it starts later are pinned as well.
    takes_turns : bool, optional
        Whether the guest has programs.
    """
    cores = _by_preference(os.sched_getaffinity(0))
    claim = _claim(cores)
    if claim is None:
        if takes_turns:
            _pin(pid, SystemRandom().choice(cores))
        yield
        return
    core, lock = claim
    try:
        _pin(pid, core)
        yield
    finally:
        # Not by closing alone: a process forked meanwhile has the descriptor too.
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)


def core_wait_s(pid: int) -> float:
    """Return the time in seconds for which a guest's processes have waited for a core so far.

    It is 0 where the host does not record it. Processes that have ended do not count.

    Parameters
    ----------
    pid : int
        The process of the guest's kernel, which is the parent of the others.
    """
    waited_ns = 0
    with suppress(OSError, ValueError, IndexError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for each in (pid, *children):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                waited_ns += int(Path(f"/proc/{each}/schedstat").read_text("ascii").split()[1])
    return waited_ns / 1e9


def _pin(pid: int, core: int) -> None:
    with suppress(OSError):  # the guest has ended, or the core is no longer available
        os.sched_setaffinity(pid, {core})


def _claim(cores: Iterable[int]) -> tuple[int, int] | None:
    """Claim the first free core; return it and the descriptor of its lock, None if none is free."""
    for core in cores:
        with suppress(OSError):  # claimed, or without a folder
            return core, locked(CORES / f"cpu{core}", wait=False)
    return None


def _by_preference(cores: set[int]) -> list[int]:
    """Return the cores in random order, each second thread of a physical core after all first."""
    shuffled = SystemRandom().sample(sorted(cores), len(cores))
    return sorted(shuffled, key=lambda core: len([i for i in _siblings(core) & cores if i < core]))


def _siblings(core: int) -> set[int]:
    """Return the cores that are threads of the same physical core; empty if unknown."""
    try:
        text = (CORES / f"cpu{core}/topology/thread_siblings_list").read_text(encoding="ascii")
        ends = [part.partition("-") for part in text.strip().split(",")]
        return {i for first, _, last in ends for i in range(int(first), int(last or first) + 1)}
    except (OSError, ValueError):
        return set()
