# SPDX-License-Identifier: Apache-2.0
"""The files in the folder of a run that only Mahimahi has: what its shells read and write."""

from __future__ import annotations

__all__ = ["ANSWERS_TRACE", "GATES", "LINK_LOG", "LINK_TRACE", "LOGS", "SHELLS", "STATUS"]

LINK_TRACE = "link.trace"
ANSWERS_TRACE = "answers.trace"
GATES = "gates"
LOGS = "logs"
LINK_LOG = f"{LOGS}/link"
#: What the shells of a command are, as JSON, and its exit status.
SHELLS = "shells.json"
STATUS = f"{LOGS}/status"
