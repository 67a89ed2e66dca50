# SPDX-License-Identifier: Apache-2.0
"""Assignment of cores: a bessd keeps one busy, which the hosts of runs must not use.

On every machine, the upper half of the cores is for bessds, one at a time each, whoever's run it
is; the other half is for the hosts of all runs.
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
    """Return the cores that hosts may use, of those that this process may."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[: (len(cores) + 1) // 2]


@contextmanager
def own_core(waiting: Callable[[], None] = lambda: None) -> Iterator[int]:
    """Wait for a core that no other run's bessd has, and have it.

    Parameters
    ----------
    waiting : callable
        Is called several times a second meanwhile. An exception that it raises ends the waiting.
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
    """Lock the first free core; return the lock's descriptor, None if no core is free, and it."""
    for core in cores:
        with suppress(BlockingIOError):
            return lock_file(Path(_LOCK.format(core=core)), wait=False), core
    return None, -1
