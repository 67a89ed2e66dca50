# SPDX-License-Identifier: Apache-2.0
"""Exit statuses of ccbench."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitStatus"]


class ExitStatus(IntEnum):
    """Exit statuses; each has one meaning."""

    OK = 0
    #: A run failed, or something that it needs is missing.
    FAILED = 1
    #: The command line or a file that it names is not acceptable.
    BAD_INPUT = 2
    #: Stopped by Ctrl-C (128 + SIGINT, as shells have it).
    INTERRUPTED = 130
    #: Stopped by ``kill`` (128 + SIGTERM).
    TERMINATED = 143
