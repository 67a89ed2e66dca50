# SPDX-License-Identifier: Apache-2.0
"""Tests in real time that a busy machine has disturbed are skipped, and not repeated.

There are two signs: ccbench reports that a link was late, which load causes, and a program that
only sleeps was woken late, because the whole machine stalled.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench import Run

__all__ = ["WATCH", "in_time", "is_busy", "skip_if_busy", "stalled_phase"]

#: Prints when it was woken too late, and by how much, in seconds.
WATCH = """
import time
while True:
    due = time.time() + 0.002
    time.sleep(0.002)
    now = time.time()
    if now - due > 0.01:
        print(now, now - due, flush=True)
"""
#: A phase of a test is not valid if the machine stalls for more than this share of it.
_MOST_STALLED = 0.01
#: Shorter phases do not depend on real time.
_LEAST_S = 0.1

_BUSY = re.compile(r"machine is too busy|leave core \d+ of this machine")


def is_busy(message: str) -> bool:
    """Return whether an error of ccbench says that this machine was too busy."""
    return _BUSY.search(message) is not None


def skip_if_busy(errors: str) -> None:
    """Skip the test if the output of ccbench says that this machine was too busy."""
    if is_busy(errors):
        pytest.skip(f"this machine was too busy: {errors.strip().splitlines()[-1]}")


def in_time(run: Run) -> Run:
    """Return a run; skip the test if its link was late."""
    if run.is_late:
        pytest.skip("this machine was too busy: the link was late")
    return run


def stalled_phase(
    watched: str, phases: Iterable[tuple[float, float]]
) -> tuple[float, float] | None:
    """Return stalled and total seconds of the first phase with too many stalls, if any.

    Parameters
    ----------
    watched : str
        The output of :data:`WATCH`.
    phases : iterable of tuple of float
        Start and end of each phase, in seconds since the epoch.
    """
    stalls = [tuple(map(float, line.split())) for line in watched.splitlines()]
    for start_s, stop_s in phases:
        stalled_s = sum(late_s for when_s, late_s in stalls if start_s <= when_s <= stop_s)
        if stop_s - start_s > _LEAST_S and stalled_s > _MOST_STALLED * (stop_s - start_s):
            return stalled_s, stop_s - start_s
    return None
