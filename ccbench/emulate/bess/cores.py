# SPDX-License-Identifier: Apache-2.0
"""Assignment of cores: each bessd keeps one busy, which the hosts of runs must not use.

The upper half of a machine's cores is reserved for bessds, one per core for all users; the lower
half is for the hosts of all runs.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.locks import lock_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["host_cores", "own_core"]

_LOCK = "/run/ccbench-bess-core-{core}.lock"
_POLL_S = 0.2


def host_cores() -> list[int]:
    """Return the cores for hosts among those available to this process."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[: (len(cores) + 1) // 2]


@contextmanager
def own_core(waiting: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Reserve a core for a bessd during the block, waiting for a free one.

    Parameters
    ----------
    waiting : callable
        Called several times a second while waiting. An exception that it raises ends the wait.
    """
    cores = sorted(os.sched_getaffinity(0) - set(host_cores()))
    lock, core = _first_free(cores)
    while lock is None:
        waiting()
        time.sleep(_POLL_S)
        lock, core = _first_free(cores)
    try:
        yield core
    finally:
        os.close(lock)


def _first_free(cores: list[int]) -> tuple[int | None, int]:
    """Lock the first free core; return the lock's descriptor (None if no core is free) and core."""
    for core in cores:
        with suppress(BlockingIOError):
            return lock_file(Path(_LOCK.format(core=core)), wait=False), core
    return None, -1
