# SPDX-License-Identifier: Apache-2.0
"""Clock of a scenario."""

from __future__ import annotations

import time

__all__ = ["Clock"]


class Clock:
    """Time since the start of a scenario.

    Parameters
    ----------
    zero_epoch_ns : int
        The start in nanoseconds since 1970.
    """

    def __init__(self, zero_epoch_ns: int) -> None:
        self._zero_ns = time.monotonic_ns() + zero_epoch_ns - time.time_ns()

    def now_ns(self) -> int:
        """Return the time in nanoseconds; negative before the start."""
        return time.monotonic_ns() - self._zero_ns

    def now_s(self) -> float:
        """Return the time in seconds."""
        return self.now_ns() / 1e9
