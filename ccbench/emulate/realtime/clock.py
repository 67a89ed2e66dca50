# SPDX-License-Identifier: Apache-2.0
"""The time of a scenario."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """Time since the scenario began.

    Parameters
    ----------
    zero_epoch_ns : int
        When it begins, in nanoseconds since 1970.
    """

    def __init__(self, zero_epoch_ns: int) -> None:
        self._zero_ns = time.monotonic_ns() + zero_epoch_ns - time.time_ns()

    def now_ns(self) -> int:
        """Return the time in nanoseconds; below 0 before the beginning."""
        return time.monotonic_ns() - self._zero_ns

    def now_s(self) -> float:
        """Return the time in seconds."""
        return self.now_ns() / 1e9
