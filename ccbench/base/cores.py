# SPDX-License-Identifier: Apache-2.0
"""Number of processor cores."""

from __future__ import annotations

import os

__all__ = ["cores"]


def cores() -> int:
    """Return the number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # not Linux
