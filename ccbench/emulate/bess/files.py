# SPDX-License-Identifier: Apache-2.0
"""Files in BESS's folder, and files in the folder of a run that are specific to BESS."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ACCOUNT",
    "BESSD_OUTPUT",
    "DESCRIPTORS",
    "PID",
    "PROBE",
    "SESSION",
    "SOCKET",
    "STATUS",
    "program",
    "protocol",
]

#: bessd's standard error.
BESSD_OUTPUT = "bessd"
#: bessd's process identifier and socket.
PID = "bessd.pid"
SOCKET = "bessd.socket"
#: bessd's compiled protocol.
DESCRIPTORS = "protocol"
#: Captures of the probe before and after the queue.
PROBE = ("probe-arrivals", "probe-departures")
#: Packet counters as JSON.
ACCOUNT = "account.json"
#: Settings of a command's session as JSON, and the command's exit status.
SESSION = "session.json"
STATUS = "status"


def program(directory: Path) -> Path:
    """Return the path of bessd in BESS's folder."""
    return directory / "core" / "bessd"


def protocol(directory: Path) -> Path:
    """Return the folder of the protocol in BESS's folder."""
    return directory / "protobuf"
