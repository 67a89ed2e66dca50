# SPDX-License-Identifier: Apache-2.0
"""Files in the folder of a run that are specific to Mahimahi."""

from __future__ import annotations

__all__ = [
    "ANSWERS_TRACE",
    "GATES",
    "LINK_LOG",
    "LINK_TRACE",
    "LOGS",
    "SHELLS",
    "STATUS",
    "WAY_BACK_LOG",
]

LINK_TRACE = "link.trace"
ANSWERS_TRACE = "answers.trace"
GATES = "gates"
LOGS = "logs"
LINK_LOG = f"{LOGS}/link"
WAY_BACK_LOG = f"{LOGS}/way-back"
#: Command lines of a command's shells as JSON, and the command's exit status.
SHELLS = "shells.json"
STATUS = f"{LOGS}/status"
