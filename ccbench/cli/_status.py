# SPDX-License-Identifier: Apache-2.0
"""Exit statuses of ccbench."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitStatus"]


class ExitStatus(IntEnum):
    """Exit statuses of every command."""

    OK = 0
    #: A run failed, a requirement is missing, or compared runs differ.
    FAILED = 1
    #: The command line, or a file named there, is invalid.
    BAD_INPUT = 2
    #: Interrupted by Ctrl-C (128 + SIGINT, the convention of shells).
    INTERRUPTED = 130
    #: Terminated by ``kill`` (128 + SIGTERM).
    TERMINATED = 143
