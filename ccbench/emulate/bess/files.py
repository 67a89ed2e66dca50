# SPDX-License-Identifier: Apache-2.0
"""The files in the folder of a run that only BESS has."""

from __future__ import annotations

__all__ = ["BESSD_OUTPUT", "DESCRIPTORS", "PID", "SOCKET"]

#: What bessd says besides its log.
BESSD_OUTPUT = "bessd"
#: Its process, and where it listens.
PID = "bessd.pid"
SOCKET = "bessd.socket"
#: Its protocol, compiled.
DESCRIPTORS = "protocol"
